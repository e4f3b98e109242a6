#pragma once
// Products of tiles of matrices by one block: the inner loops of attention. A block has tile_lanes x
// tile_lanes threads; each holds R x R elements of a square tile, or R x C of a tile of rows with all their
// columns.
#include "device.cuh"

namespace attn::cuda {

constexpr int tile_lanes = 16;
constexpr int tile_chunk = 16;  // how much of a sum is in shared memory at a time
constexpr int tile_threads = tile_lanes * tile_lanes;

template<int R>
constexpr int tile_size = tile_lanes* R;
template<int R>
constexpr int tile_pitch = tile_size<R> + 1;  // no two rows begin in the same bank

// Loops over R and C are unrolled, so that what they index stays in registers.

/// Rows of a matrix in memory, which need not lie one right after another.
template<typename T>
struct Rows {
  const T* data;
  int64_t count, step;
  int columns;

  /// 0 outside.
  __device__ T at(int64_t row, int column) const {
    return row < count && column < columns ? data[row * step + column] : T{0};
  }
};

/// This thread's row or column number `index` of R in a tile.
template<int R>
__device__ int tile_row(int index) {
  return static_cast<int>(threadIdx.y) * R + index;
}
template<int R>
__device__ int tile_column(int index) {
  return static_cast<int>(threadIdx.x) * R + index;
}

/// result[r][c] = the inner product of row r of a's tile and row c of b's. All threads must call it.
template<typename T, int R>
__device__ void inner_products(T (&result)[R][R], const Rows<T>& a, int64_t first_a, const Rows<T>& b,
                               int64_t first_b) {
  ATTN_SHARED(T, a_chunk, tile_chunk * tile_pitch<R>);
  ATTN_SHARED(T, b_chunk, tile_chunk * tile_pitch<R>);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
#pragma unroll
  for (int r = 0; r < R; ++r) {
#pragma unroll
    for (int c = 0; c < R; ++c) result[r][c] = T{0};
  }
  for (int start = 0; start < a.columns; start += tile_chunk) {
#pragma unroll
    for (int part = 0; part < R; ++part) {
      const int row = y + part * tile_lanes;
      a_chunk[x * tile_pitch<R> + row] = a.at(first_a + row, start + x);
      b_chunk[x * tile_pitch<R> + row] = b.at(first_b + row, start + x);
    }
    __syncthreads();
    for (int i = 0; i < tile_chunk; ++i) {
      T left[R], right[R];
#pragma unroll
      for (int r = 0; r < R; ++r) left[r] = a_chunk[i * tile_pitch<R> + tile_row<R>(r)];
#pragma unroll
      for (int c = 0; c < R; ++c) right[c] = b_chunk[i * tile_pitch<R> + tile_column<R>(c)];
#pragma unroll
      for (int r = 0; r < R; ++r) {
#pragma unroll
        for (int c = 0; c < R; ++c) result[r][c] += left[r] * right[c];
      }
    }
    __syncthreads();
  }
}

/// result += weights b, with the tile `weights` [row][pitch] in shared memory and this thread's columns
/// threadIdx.x, threadIdx.x + tile_lanes, ... of b's rows. Waits for the weights to be written before it
/// reads them, and returns when all threads have read them. All threads must call it.
template<typename T, int R, int C>
__device__ void add_weighted_rows(T (&result)[R][C], const T* weights, const Rows<T>& b, int64_t first_b) {
  constexpr int width = tile_lanes * C;
  ATTN_SHARED(T, b_rows, tile_chunk * width);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (int start = 0; start < tile_size<R>; start += tile_chunk) {
#pragma unroll
    for (int c = 0; c < C; ++c) {
      const int column = x + c * tile_lanes;
      b_rows[y * width + column] = b.at(first_b + start + y, column);
    }
    __syncthreads();
    for (int i = 0; i < tile_chunk; ++i) {
      T left[R], right[C];
#pragma unroll
      for (int r = 0; r < R; ++r) left[r] = weights[tile_row<R>(r) * tile_pitch<R> + start + i];
#pragma unroll
      for (int c = 0; c < C; ++c) right[c] = b_rows[i * width + x + c * tile_lanes];
#pragma unroll
      for (int r = 0; r < R; ++r) {
#pragma unroll
        for (int c = 0; c < C; ++c) result[r][c] += left[r] * right[c];
      }
    }
    __syncthreads();
  }
}

/// Over the threads that share this thread's rows of a tile; the same value in each of them.
template<typename T, typename Combine>
__device__ T reduce_tile_row(T value, Combine combine) {
  for (int offset = tile_lanes / 2; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(all_lanes, value, offset));
  }
  return value;
}

/// Stores this thread's part of rows of `columns` elements that are `step` apart.
template<typename T, int R, int C>
__device__ void store_rows(T* to, const T (&values)[R][C], T scale, int64_t first, int64_t count,
                           int64_t step, int columns, bool accumulate) {
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int64_t row = first + tile_row<R>(r);
    if (row >= count) continue;
#pragma unroll
    for (int c = 0; c < C; ++c) {
      const int column = static_cast<int>(threadIdx.x) + c * tile_lanes;
      if (column < columns) put(to + row * step + column, scale * values[r][c], accumulate);
    }
  }
}

}  // namespace attn::cuda
