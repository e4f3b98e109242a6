#pragma once
// Sums over the rows of a matrix, as gradients of biases need them.
#include <cstdint>

#include "parallel.h"
#include "vector_loops.h"

namespace attn::eigen {

/// y[j] (+)= the sum over rows i of whole(i, j), the vector of row i from column j on; part(i, j, n) is an
/// incomplete one of n elements. The order of the sum depends on the number of rows alone.
template<class T, class Whole, class Part>
void sum_rows(KernelContext& context, std::int64_t row_count, std::int64_t width, Whole whole, Part part,
              T* y, bool accumulate) {
  constexpr std::int64_t block = 128;  // rows that are added up before their sum is added to the others
  const std::int64_t vectors = (width + kWidth<T> - 1) / kWidth<T>;
  for_rows(context.threads, vectors, row_count * kWidth<T>, 1, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t vector = first; vector < first + count;) {
      const std::int64_t column = vector * kWidth<T>;
      const std::int64_t left = width - column;
      constexpr int together = 4;
      if (left >= together * kWidth<T> && vector + together <= first + count) {
        Vec<T> totals[together] = {};
        for (std::int64_t start = 0; start < row_count; start += block) {
          Vec<T> sums[together] = {};
          const std::int64_t end = std::min(row_count, start + block);
          for (std::int64_t row = start; row < end; ++row) {
            for (int j = 0; j < together; ++j) sums[j] += whole(row, column + j * kWidth<T>);
          }
          for (int j = 0; j < together; ++j) totals[j] += sums[j];
        }
        for (int j = 0; j < together; ++j) {
          T* to = y + column + j * kWidth<T>;
          store<T>(to, accumulate ? load<T>(to) + totals[j] : totals[j]);
        }
        vector += together;
        continue;
      }
      const std::int64_t present = std::min(left, kWidth<T>);
      Vec<T> total = {};
      for (std::int64_t start = 0; start < row_count; start += block) {
        Vec<T> sum = {};
        const std::int64_t end = std::min(row_count, start + block);
        for (std::int64_t row = start; row < end; ++row) {
          sum += present == kWidth<T> ? whole(row, column) : part(row, column, present);
        }
        total += sum;
      }
      T* to = y + column;
      store_partial(to, present, accumulate ? load_partial(to, present) + total : total);
      ++vector;
    }
  });
}

/// y[j] (+)= sum over i of x[i * step + j].
template<class T>
void sum_rows_of(KernelContext& context, std::int64_t row_count, std::int64_t width, const T* x,
                 std::int64_t step, T* y, bool accumulate) {
  sum_rows<T>(
      context, row_count, width, [=](std::int64_t i, std::int64_t j) { return load<T>(x + i * step + j); },
      [=](std::int64_t i, std::int64_t j, std::int64_t n) { return load_partial(x + i * step + j, n); }, y,
      accumulate);
}

}  // namespace attn::eigen
