#pragma once
#include <vector>

#include "attn/inspection/complexity.h"

namespace attn::inspection {

/// Exponents in n of every series of cells, and in d where there are several widths (at the longest length).
std::vector<ComplexityFit> fit_all(const std::vector<ComplexityCell>& cells, std::size_t points);

/// Self-attention (plain and multi-head) against every convolution and recurrence of the same sizes.
std::vector<ComplexityCrossover> find_crossovers(const std::vector<ComplexityCell>& cells);

}  // namespace attn::inspection
