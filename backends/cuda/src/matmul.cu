#include <type_traits>

#include "elementwise.cuh"
#include "kernels.h"
#include "product.h"

namespace attn::cuda {

namespace {

/// y = beta y, what is left of a product over nothing.
template<typename T>
void scale(const Call& call, T* y, int64_t count, double beta) {
  if (beta == 0) {
    check(cudaMemsetAsync(y, 0, static_cast<std::size_t>(count) * sizeof(T), call.stream),
          "clearing a tensor");
  } else if (beta != 1) {
    launch(call.stream, element_blocks(count), element_threads, affine_kernel<T, T>, y, y, count,
           static_cast<T>(beta), T{0});
  }
}

}  // namespace

template<typename T>
void multiply(const Call& call, const Product<T>& product) {
  const int64_t m = product.m, n = product.n, k = product.k;
  if (m == 0 || n == 0 || product.batch == 0) return;
  if (k == 0) {
    for (int64_t entry = 0; entry < product.batch; ++entry) {
      scale(call, product.y + entry * product.y_stride, m * n, product.beta);
    }
    return;
  }
  constexpr bool is_double = std::is_same_v<T, double>;
  constexpr cudaDataType type = is_double ? CUDA_R_64F : CUDA_R_32F;
  const T alpha = static_cast<T>(product.alpha), beta = static_cast<T>(product.beta);
  // A row-major matrix is the transpose of the column-major one in the same memory: y^T = b^T a^T.
  check(cublasGemmStridedBatchedEx(call.cublas, product.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                                   product.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, static_cast<int>(n),
                                   static_cast<int>(m), static_cast<int>(k), &alpha, product.b.data, type,
                                   static_cast<int>(product.b.transposed ? k : n), product.b.stride,
                                   product.a.data, type, static_cast<int>(product.a.transposed ? m : k),
                                   product.a.stride, &beta, product.y, type, static_cast<int>(n),
                                   product.y_stride, static_cast<int>(product.batch),
                                   is_double ? CUBLAS_COMPUTE_64F : call.f32_products, CUBLAS_GEMM_DEFAULT),
        "multiplying matrices");
}

template void multiply<float>(const Call&, const Product<float>&);
template void multiply<double>(const Call&, const Product<double>&);

template<typename T>
void run_matmul(const OpView& op, Call& call) {
  const attn_tensor &a = op.input(0), &b = op.input(1), &y = op.output(0);
  const auto params = op.params<attn_matmul_params>();
  Product<T> product{};
  product.m = dims(y).last(1);
  product.n = dims(y).last(0);
  product.k = dims(a).last(params.transpose_a != 0 ? 1 : 0);
  product.a = {data<const T>(a), params.transpose_a != 0, a.rank > 2 ? product.m * product.k : 0};
  product.b = {data<const T>(b), params.transpose_b != 0, b.rank > 2 ? product.k * product.n : 0};
  product.y = data<T>(y);
  product.alpha = params.alpha;
  product.beta = params.beta;
  product.batch = leading(y, 2);
  product.y_stride = product.m * product.n;
  const bool one_product =
      a.rank > 2 && b.rank == 2 && params.transpose_a == 0 && product.batch * product.m <= most_matrix_rows;
  if (one_product) {  // the rows of all entries lie one after another
    product.m *= product.batch;
    product.batch = 1;
  }
  multiply(call, product);
}

ATTN_FOR_BOTH_TYPES(run_matmul)

}  // namespace attn::cuda
