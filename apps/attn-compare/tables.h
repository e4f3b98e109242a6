#pragma once
#include <string>
#include <vector>

#include "attn/inspection/complexity.h"

namespace attn::compare {

struct Table {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::size_t left_columns = 1;  ///< aligned to the left, the others to the right
  std::vector<std::string> notes = {};
};

/// What a report says, as tables: the combinations in groups, exponents, crossovers, flops by operation.
std::vector<Table> tables_of(const ComplexityReport& report);

/// For a terminal.
std::string as_text(const std::vector<Table>& tables);
std::string as_markdown(const std::vector<Table>& tables);

/// "1.50 G", "320"; with three digits.
std::string with_prefix(double value);

}  // namespace attn::compare
