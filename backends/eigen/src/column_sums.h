#pragma once
// Sums over the rows of a matrix, as gradients of biases need them.
#include <cstdint>

#include "parallel.h"
#include "vector_loops.h"

namespace attn::eigen {

/// totals[j] = the sum over rows i of read(i, j). One multiply-add for a product of `read` in all instances,
/// as nothing stands between the product and the sum.
template<class T, int Vectors, class Read>
void sum_vectors(std::int64_t row_count, Read read, Vec<T> (&totals)[Vectors]) {
  constexpr std::int64_t block = 128;  // rows that are added up before their sum is added to the others
  for (std::int64_t start = 0; start < row_count; start += block) {
    Vec<T> sums[Vectors] = {};
    const std::int64_t end = std::min(row_count, start + block);
    for (std::int64_t row = start; row < end; ++row) {
      for (int j = 0; j < Vectors; ++j) sums[j] += read(row, j);
    }
    for (int j = 0; j < Vectors; ++j) totals[j] += sums[j];
  }
}

/// y[j] (+)= the sum over rows i of whole(i, j), the vector of row i from column j on; part(i, j, n) is an
/// incomplete one of n elements. The order of the sum depends on the number of rows alone.
template<class T, class Whole, class Part>
void sum_rows(KernelContext& context, std::int64_t row_count, std::int64_t width, Whole whole, Part part,
              T* y, bool accumulate) {
  constexpr int together = 4;
  const std::int64_t vectors = (width + kWidth<T> - 1) / kWidth<T>;
  const auto sum_whole = [=](std::int64_t column, auto& totals) {
    sum_vectors<T>(
        row_count, [=](std::int64_t row, int j) { return whole(row, column + j * kWidth<T>); }, totals);
    for (const Vec<T>& total : totals) {
      T* to = y + column + (&total - totals) * kWidth<T>;
      store<T>(to, accumulate ? load<T>(to) + total : total);
    }
  };
  for_rows(context.threads, vectors, row_count * kWidth<T>, 1, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t vector = first; vector < first + count;) {
      const std::int64_t column = vector * kWidth<T>, left = width - column;
      if (left >= together * kWidth<T> && vector + together <= first + count) {
        Vec<T> totals[together] = {};
        sum_whole(column, totals);
        vector += together;
        continue;
      }
      Vec<T> total[1] = {};
      if (left >= kWidth<T>) {
        sum_whole(column, total);
      } else {
        sum_vectors<T>(
            row_count, [=](std::int64_t row, int /*j*/) { return part(row, column, left); }, total);
        T* to = y + column;
        store_partial(to, left, accumulate ? load_partial(to, left) + total[0] : total[0]);
      }
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
