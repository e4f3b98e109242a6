#pragma once
#include <algorithm>

#include "call.h"

namespace attn::cuda {

/// Into how many parts a sum over so many rows is cut. It depends on the shape alone, so the bits do too.
struct RowParts {
  int64_t count, rows_per_part;

  explicit RowParts(int64_t rows) {
    constexpr int64_t least_rows = 128, most_parts = 64;
    rows_per_part = std::max(least_rows, divide_up(rows, most_parts));
    count = std::max<int64_t>(divide_up(rows, rows_per_part), 1);
  }
};

/// Elements that column_sums() needs for its parts.
inline int64_t column_sums_elements(int64_t rows, int64_t columns) {
  return RowParts(rows).count * columns;
}

/// y[column] = the sum over the rows of x [rows, columns], or y + that sum.
template<typename T>
void column_sums(const Call& call, T* y, const T* x, int64_t rows, int64_t columns, bool accumulate,
                 T* parts);

}  // namespace attn::cuda
