#pragma once
// Products of row-major matrices by cuBLAS, which counts in columns.
#include <cstdint>

#include "call.h"

namespace attn::cuda {

/// A matrix that is stored transposed or not, and the step in elements to that of the next batch entry.
template<typename T>
struct Factor {
  const T* data;
  bool transposed = false;
  int64_t stride = 0;
};

/// y[M,N] = alpha a[M,K] b[K,N] + beta y for each entry of the batch. With beta 0 the old y is not read.
template<typename T>
struct Product {
  int64_t m, n, k;
  Factor<T> a, b;
  T* y;
  double alpha = 1, beta = 0;
  int64_t batch = 1, y_stride = 0;
};

template<typename T>
void multiply(const Call& call, const Product<T>& product);

/// cuBLAS counts rows and columns in 32 bits.
constexpr int64_t most_matrix_rows = INT32_MAX;

}  // namespace attn::cuda
