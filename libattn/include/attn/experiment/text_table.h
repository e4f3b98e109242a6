#pragma once
#include <string>
#include <vector>

namespace attn {

/// A table of texts. Rows have as many cells as the header.
struct TextTable {
  std::vector<std::string> header;
  std::vector<bool> numeric;  ///< which columns are aligned at the right; empty: none
  std::vector<std::vector<std::string>> rows;
};

/// Columns aligned with spaces; an empty cell is a "-". Control characters become "?".
std::string to_aligned(const TextTable& table);
/// A table of GitHub's Markdown; "|" and line breaks in cells are escaped.
std::string to_markdown(const TextTable& table);
/// Comma-separated values (RFC 4180), with line breaks of one "\n".
std::string to_csv(const TextTable& table);

}  // namespace attn
