#include "table.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn::bench {
namespace {

bool is_number(const std::string& text) {
  return text.empty() || text == "-" ||
         (text.find_first_not_of("0123456789.+-e%x,infa") == std::string::npos);
}

}  // namespace

std::string Table::to_string() const {
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> numbers(columns, true);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], rows_[r][c].size());
      if (r > 0 && !is_number(rows_[r][c])) numbers[c] = false;
    }
  }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      if (c > 0) line += "  ";
      line += numbers[c] ? fmt::format("{:>{}}", rows_[r][c], widths[c])
                         : fmt::format("{:<{}}", rows_[r][c], widths[c]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
    if (r == 0) text += std::string(line.size(), '-') + "\n";
  }
  return text;
}

}  // namespace attn::bench
