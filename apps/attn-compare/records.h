#pragma once
#include <string>

#include "attn/inspection/complexity.h"

/// A report for programs.
namespace attn::compare {

/// One object with devices, cells, fits and crossovers.
std::string as_json(const ComplexityReport& report);
/// A header and one line a combination; absent values are empty.
std::string as_csv(const ComplexityReport& report);

}  // namespace attn::compare
