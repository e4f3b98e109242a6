// Matrix products of the emulation: the definition in plain loops, with the checks of the arguments that
// cuBLAS makes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "cublas_v2.h"

struct attn_emulated_cublas {
  cudaStream_t stream = nullptr;
};

namespace {

struct Product {
  cublasOperation_t transpose_a, transpose_b;
  int m, n, k;
  int lda, ldb, ldc;
  long long stride_a, stride_b, stride_c;
  int batch_count;
  cublasComputeType_t compute_type;
};

/// Keeps the bits of the mantissa that a tensor core would, rounded to the nearest.
float rounded(float value, int dropped_bits) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;  // infinite or NaN
  bits += 1u << (dropped_bits - 1);
  bits &= ~((1u << dropped_bits) - 1u);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float prepared(float value, cublasComputeType_t compute_type) {
  if (compute_type == CUBLAS_COMPUTE_32F_FAST_TF32) return rounded(value, 13);
  if (compute_type == CUBLAS_COMPUTE_32F_FAST_16BF) return rounded(value, 16);
  return value;
}
double prepared(double value, cublasComputeType_t) {
  return value;
}

template<typename T>
void multiply(const Product& product, T alpha, const T* a, const T* b, T beta, T* c) {
  // steps from one row and from one column of op(A) and of op(B) to the next
  const long long a_row = product.transpose_a == CUBLAS_OP_N ? 1 : product.lda;
  const long long a_column = product.transpose_a == CUBLAS_OP_N ? product.lda : 1;
  const long long b_row = product.transpose_b == CUBLAS_OP_N ? 1 : product.ldb;
  const long long b_column = product.transpose_b == CUBLAS_OP_N ? product.ldb : 1;
  std::vector<T> sums(static_cast<std::size_t>(product.m));
  for (int column = 0; column < product.n; ++column) {
    std::fill(sums.begin(), sums.end(), T{0});
    for (int inner = 0; inner < product.k; ++inner) {
      const T factor = prepared(b[inner * b_row + column * b_column], product.compute_type);
      for (int row = 0; row < product.m; ++row) {
        sums[row] += prepared(a[row * a_row + inner * a_column], product.compute_type) * factor;
      }
    }
    T* to = c + static_cast<long long>(column) * product.ldc;
    for (int row = 0; row < product.m; ++row) {
      // with beta 0 the old value is not read: it may be NaN
      to[row] = beta == T{0} ? alpha * sums[row] : alpha * sums[row] + beta * to[row];
    }
  }
}

template<typename T>
cublasStatus_t enqueue(cudaStream_t stream, const Product& product, const void* alpha, const void* a,
                       const void* b, const void* beta, void* c) {
  const T scale = *static_cast<const T*>(alpha), keep = *static_cast<const T*>(beta);
  const auto status = attn::emulation::enqueue(stream, [=] {
    for (int entry = 0; entry < product.batch_count; ++entry) {
      multiply(product, scale, static_cast<const T*>(a) + entry * product.stride_a,
               static_cast<const T*>(b) + entry * product.stride_b, keep,
               static_cast<T*>(c) + entry * product.stride_c);
    }
  });
  return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new attn_emulated_cublas;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void* workspace, size_t bytes) {
  const bool aligned = reinterpret_cast<uintptr_t>(workspace) % 256 == 0;
  return aligned || bytes == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
  }
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                                          cublasOperation_t transpose_b, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType a_type, int lda,
                                          long long stride_a, const void* b, cudaDataType b_type, int ldb,
                                          long long stride_b, const void* beta, void* c, cudaDataType c_type,
                                          int ldc, long long stride_c, int batch_count,
                                          cublasComputeType_t compute_type, cublasGemmAlgo_t) {
  const int a_rows = transpose_a == CUBLAS_OP_N ? m : k, b_rows = transpose_b == CUBLAS_OP_N ? k : n;
  if (m < 0 || n < 0 || k < 0 || batch_count < 0 || lda < std::max(1, a_rows) || ldb < std::max(1, b_rows) ||
      ldc < std::max(1, m) || a_type != b_type || b_type != c_type) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Product product = {transpose_a, transpose_b, m,        n,        k,           lda,         ldb,
                           ldc,         stride_a,    stride_b, stride_c, batch_count, compute_type};
  if ((a_type == CUDA_R_64F) != (compute_type == CUBLAS_COMPUTE_64F)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return a_type == CUDA_R_64F ? enqueue<double>(handle->stream, product, alpha, a, b, beta, c)
                              : enqueue<float>(handle->stream, product, alpha, a, b, beta, c);
}
