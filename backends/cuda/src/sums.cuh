#pragma once
// Sums over the rows of a matrix, in two steps where there are many rows: parts first, then their sum.
#include "device.cuh"

namespace attn::cuda {

constexpr int column_lanes = 32, column_parts = 8;

/// The rows that block row `blockIdx.y` sums up, for kernels of column_lanes x column_parts threads.
struct RowRange {
  int64_t first, end;
};
__device__ inline RowRange rows_of_block(int64_t rows, int64_t rows_per_block) {
  const int64_t first = blockIdx.y * rows_per_block;
  return {first, first + rows_per_block < rows ? first + rows_per_block : rows};
}

/// The sum over threadIdx.y, valid where that is 0. All threads of the block must call it.
template<typename T>
__device__ T sum_of_parts(T value) {
  ATTN_SHARED(T, parts, column_lanes * column_parts);
  parts[threadIdx.y * column_lanes + threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.y == 0) {
    for (int part = 1; part < column_parts; ++part) value += parts[part * column_lanes + threadIdx.x];
  }
  __syncthreads();  // before the next call writes again
  return value;
}

/// y [row blocks, columns] from x [rows, columns].
template<typename T>
__global__ void column_sums_kernel(T* y, const T* x, int64_t rows, int64_t columns, int64_t rows_per_block,
                                   bool accumulate) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * column_lanes + threadIdx.x;
  const RowRange range = rows_of_block(rows, rows_per_block);
  T sum{0};
  if (column < columns) {
    for (int64_t row = range.first + threadIdx.y; row < range.end; row += column_parts) {
      sum += x[row * columns + column];
    }
  }
  sum = sum_of_parts(sum);
  if (threadIdx.y == 0 && column < columns) put(y + blockIdx.y * columns + column, sum, accumulate);
}

}  // namespace attn::cuda
