#pragma once
/*
 * Matrix products of small, packed tiles with something done to each result while it is in a register.
 *
 * Attention and recurrent networks multiply the same packed operands many times and go on with the result at
 * once (exponential, mask, accumulation); a general matrix product would pack the operands again and write
 * the result to memory first. Every element is one chain of products in the order of `depth`, so its bits do
 * not depend on how rows and columns are cut.
 */
#include <algorithm>
#include <cstdint>

#include "vector_math.h"

namespace attn::eigen {
#if defined(__AVX512F__)
inline namespace avx512 {
#elif defined(__AVX2__)
inline namespace avx2 {
#else
inline namespace sse {
#endif

/// How the left operand lies in memory: element (row, k) at row * stride + k, or at row + k * stride.
enum class LeftOrder { kRows, kTransposed };

#if defined(__AVX512F__)
inline constexpr int kTileRows = 12;  // with two vectors a row, 24 of 32 registers add up
#else
inline constexpr int kTileRows = 6;  // 12 of 16 registers
#endif

template<class T, int Rows, int Vectors, LeftOrder Order, class Sink>
inline void one_tile(std::int64_t row, std::int64_t column, std::int64_t depth, const T* left,
                     std::int64_t left_stride, const T* right, std::int64_t right_stride, Sink& sink) {
  constexpr std::int64_t kW = kWidth<T>;
  Vec<T> sum[Rows][Vectors] = {};
  const T* a = Order == LeftOrder::kRows ? left + row * left_stride : left + row;
  const T* b = right + column;
  for (std::int64_t k = 0; k < depth; ++k) {
    Vec<T> r[Vectors];
    ATTN_UNROLL
    for (int j = 0; j < Vectors; ++j) r[j] = load<T>(b + j * kW);
    ATTN_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const Vec<T> l = broadcast(Order == LeftOrder::kRows ? a[i * left_stride] : a[i]);
      ATTN_UNROLL
      for (int j = 0; j < Vectors; ++j) sum[i][j] += l * r[j];
    }
    a += Order == LeftOrder::kRows ? 1 : left_stride;
    b += right_stride;
  }
  ATTN_UNROLL
  for (int i = 0; i < Rows; ++i) {
    ATTN_UNROLL
    for (int j = 0; j < Vectors; ++j) sink(row + i, column + j * kW, sum[i][j]);
  }
}

template<class T, int Vectors, LeftOrder Order, class Sink>
inline void tile_column(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t depth,
                        const T* left, std::int64_t left_stride, const T* right, std::int64_t right_stride,
                        Sink& sink) {
  constexpr int kMost = Vectors == 4 ? kTileRows / 2 : kTileRows;
  const auto tiles = [&]<int Rows>() {
    for (; row + Rows <= rows; row += Rows) {
      one_tile<T, Rows, Vectors, Order>(row, column, depth, left, left_stride, right, right_stride, sink);
    }
  };
  tiles.template operator()<kMost>();
  if constexpr (kMost > 8) tiles.template operator()<8>();
  tiles.template operator()<4>();
  tiles.template operator()<2>();
  tiles.template operator()<1>();
}

/*
 * left [rows, depth] right [depth, columns], where `columns` is a multiple of the vector width and row k of
 * the right operand begins at right + k * right_stride. Calls sink(row, column, vector) once for every vector
 * of the result.
 */
template<class T, LeftOrder Order, class Sink>
inline void tile_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, const T* left,
                         std::int64_t left_stride, const T* right, std::int64_t right_stride, Sink sink) {
  constexpr std::int64_t kW = kWidth<T>;
  std::int64_t column = 0;
  if (rows == 1) {  // few chains of additions: take more columns at once
    for (; column + 8 * kW <= columns; column += 8 * kW) {
      one_tile<T, 1, 8, Order>(0, column, depth, left, left_stride, right, right_stride, sink);
    }
  } else if (rows == 2) {
    for (; column + 4 * kW <= columns; column += 4 * kW) {
      one_tile<T, 2, 4, Order>(0, column, depth, left, left_stride, right, right_stride, sink);
    }
  }
  if constexpr (kTileRows > 8) {  // enough registers to read the left operand half as often
    for (; column + 4 * kW <= columns; column += 4 * kW) {
      tile_column<T, 4, Order>(0, rows, column, depth, left, left_stride, right, right_stride, sink);
    }
  }
  for (; column + 2 * kW <= columns; column += 2 * kW) {
    tile_column<T, 2, Order>(0, rows, column, depth, left, left_stride, right, right_stride, sink);
  }
  if (column < columns) {
    tile_column<T, 1, Order>(0, rows, column, depth, left, left_stride, right, right_stride, sink);
  }
}

/// to [rows, padded columns]: factor times the source, with zeros after the last column.
template<class T>
inline void pack_rows(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_stride,
                      T factor, T* to, std::int64_t to_stride) {
  constexpr std::int64_t kW = kWidth<T>;
  for (std::int64_t row = 0; row < rows; ++row, from += from_stride, to += to_stride) {
    std::int64_t column = 0;
    for (; column + kW <= columns; column += kW) {
      store<T>(to + column, load<T>(from + column) * broadcast(factor));
    }
    if (column < columns)
      store<T>(to + column, load_partial(from + column, columns - column) * broadcast(factor));
  }
}

/// to [columns, padded rows] is the transpose of from [rows, columns], with zeros after the last row.
template<class T>
inline void pack_transposed(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_stride,
                            T* to, std::int64_t to_stride) {
  constexpr std::int64_t kW = kWidth<T>;
  std::int64_t row = 0;
  for (; row + kW <= rows; row += kW) {
    std::int64_t column = 0;
    for (; column + kW <= columns; column += kW) {
      Vec<T> square[kW];
      ATTN_UNROLL
      for (std::int64_t i = 0; i < kW; ++i) square[i] = load<T>(from + (row + i) * from_stride + column);
      transpose<T>(square);
      ATTN_UNROLL
      for (std::int64_t i = 0; i < kW; ++i) store<T>(to + (column + i) * to_stride + row, square[i]);
    }
    for (; column < columns; ++column) {
      for (std::int64_t i = 0; i < kW; ++i)
        to[column * to_stride + row + i] = from[(row + i) * from_stride + column];
    }
  }
  const std::int64_t end = padded<T>(rows);
  for (std::int64_t column = 0; column < columns; ++column) {
    T* line = to + column * to_stride;
    for (std::int64_t i = row; i < rows; ++i) line[i] = from[i * from_stride + column];
    for (std::int64_t i = rows; i < end; ++i) line[i] = T(0);
  }
}

}  // inline namespace
}  // namespace attn::eigen
