#pragma once
// Sums, means and maxima over any axes. The order of every sum is fixed by the shapes alone.
#include "sums.cuh"

namespace attn::cuda {

struct Reduction {
  Walk<1> kept, reduced;  // where in x the first summand of an output lies, and the others from there
  int function;
  bool accumulate;
};

template<typename T>
__device__ T combine_by(int function, T a, T b) {
  return function == ATTN_REDUCE_MAX ? Maximum{}(a, b) : a + b;
}

template<typename T>
__device__ T neutral_of(int function) {
  return function == ATTN_REDUCE_MAX ? minus_infinity<T>() : T{0};
}

template<typename T>
__device__ void finish_reduction(T* y, T value, const Reduction& reduction) {
  if (reduction.function == ATTN_REDUCE_MEAN && reduction.reduced.count > 0) {
    value /= static_cast<T>(reduction.reduced.count);
  }
  put(y, value, reduction.accumulate);
}

/// A block for each output: for sums along the memory.
template<typename T>
__global__ void reduce_rows_kernel(T* y, const T* x, Reduction reduction) {
  const int function = reduction.function;
  for (int64_t output = blockIdx.x; output < reduction.kept.count; output += gridDim.x) {
    int64_t start[1], step[1];
    reduction.kept.offsets(output, start);
    T value = neutral_of<T>(function);
    for (int64_t i = threadIdx.x; i < reduction.reduced.count; i += blockDim.x) {
      reduction.reduced.offsets(i, step);
      value = combine_by(function, value, x[start[0] + step[0]]);
    }
    value = function == ATTN_REDUCE_MAX ? block_maximum(value) : block_sum(value);
    if (threadIdx.x == 0) finish_reduction(y + output, value, reduction);
  }
}

/// A thread for each output and part of the sum: neighbouring threads read neighbouring columns.
template<typename T>
__global__ void reduce_columns_kernel(T* y, const T* x, Reduction reduction) {
  ATTN_SHARED(T, parts, column_lanes * column_parts);
  const int function = reduction.function;
  const int64_t output = static_cast<int64_t>(blockIdx.x) * column_lanes + threadIdx.x;
  T value = neutral_of<T>(function);
  if (output < reduction.kept.count) {
    int64_t start[1], step[1];
    reduction.kept.offsets(output, start);
    for (int64_t i = threadIdx.y; i < reduction.reduced.count; i += column_parts) {
      reduction.reduced.offsets(i, step);
      value = combine_by(function, value, x[start[0] + step[0]]);
    }
  }
  parts[threadIdx.y * column_lanes + threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.y != 0 || output >= reduction.kept.count) return;
  for (int part = 1; part < column_parts; ++part) {
    value = combine_by(function, value, parts[part * column_lanes + threadIdx.x]);
  }
  finish_reduction(y + output, value, reduction);
}

constexpr int most_norm_tensors = ATTN_MAX_TENSORS - 1;

struct TensorList {
  int count;
  const void* data[most_norm_tensors];
  int64_t sizes[most_norm_tensors];
};

/// Each block's part of the sum of all squares, in f64: the sum of millions of f32 is otherwise not exact
/// enough to say whether a gradient is to be clipped.
template<typename T>
__global__ void squared_norm_kernel(double* partial, TensorList list) {
  double sum = 0;
  for (int tensor = 0; tensor < list.count; ++tensor) {
    const T* x = static_cast<const T*>(list.data[tensor]);
    for (int64_t i = first_element(); i < list.sizes[tensor]; i += element_step()) {
      const double value = x[i];
      sum += value * value;
    }
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

template<typename T>
__global__ void squared_norm_total_kernel(T* y, const double* partial, int count) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *y = static_cast<T>(sum);
}

}  // namespace attn::cuda
