#pragma once
#include <string>
#include <vector>

namespace attn::bench {

/// Columns of text, as wide as their longest entry; columns of numbers are aligned on the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// The header, a rule and the rows, one line each.
  std::string to_string() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace attn::bench
