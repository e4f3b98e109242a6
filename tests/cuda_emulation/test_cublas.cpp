// The stand-in for cuBLAS against products that are written out, so that plugin and stand-in do not share a
// mistake about columns and rows.
#include <limits>
#include <vector>

#include "cublas_v2.h"
#include "support/catch.h"

namespace {

struct Call {
  cublasOperation_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  int m, n, k;
  std::vector<double> a, b, c;
  int lda, ldb, ldc;
  double alpha = 1, beta = 0;
  int batch = 1;
  long long stride_a = 0, stride_b = 0, stride_c = 0;
};

template<typename T>
std::vector<double> product(const Call& call, cublasComputeType_t compute_type,
                            cublasStatus_t expected = CUBLAS_STATUS_SUCCESS) {
  cudaStream_t stream = nullptr;
  cublasHandle_t handle = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
  const std::vector<T> a(call.a.begin(), call.a.end()), b(call.b.begin(), call.b.end());
  std::vector<T> c(call.c.begin(), call.c.end());
  const T alpha = static_cast<T>(call.alpha), beta = static_cast<T>(call.beta);
  constexpr cudaDataType type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
  CHECK(cublasGemmStridedBatchedEx(handle, call.transpose_a, call.transpose_b, call.m, call.n, call.k, &alpha,
                                   a.data(), type, call.lda, call.stride_a, b.data(), type, call.ldb,
                                   call.stride_b, &beta, c.data(), type, call.ldc, call.stride_c, call.batch,
                                   compute_type, CUBLAS_GEMM_DEFAULT) == expected);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  REQUIRE(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  return {c.begin(), c.end()};
}

std::vector<double> product(const Call& call) {
  const std::vector<double> result = product<double>(call, CUBLAS_COMPUTE_64F);
  CHECK(product<float>(call, CUBLAS_COMPUTE_32F) == result);
  return result;
}

using Values = std::vector<double>;

// [1 2 3; 4 5 6] and [7 10; 8 11; 9 12], whose product is [50 68; 122 167]; column after column.
const Values a = {1, 4, 2, 5, 3, 6}, a_transposed = {1, 2, 3, 4, 5, 6};
const Values b = {7, 8, 9, 10, 11, 12}, b_transposed = {7, 10, 8, 11, 9, 12};
const Values ab = {50, 122, 68, 167};

}  // namespace

TEST_CASE("matrices are stored column after column") {
  CHECK(product({CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, a, b, Values(4), 2, 3, 2}) == ab);
}

TEST_CASE("transposed factors have their own leading dimension") {
  CHECK(product({CUBLAS_OP_T, CUBLAS_OP_N, 2, 2, 3, a_transposed, b, Values(4), 3, 3, 2}) == ab);
  CHECK(product({CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 3, a, b_transposed, Values(4), 2, 2, 2}) == ab);
  CHECK(product({CUBLAS_OP_T, CUBLAS_OP_T, 2, 2, 3, a_transposed, b_transposed, Values(4), 3, 2, 2}) == ab);
}

TEST_CASE("row-major matrices multiply with the factors exchanged") {
  // y^T = b^T a^T, where the row-major a is the column-major a^T: what the plugin relies on
  const Values rows_of_a = {1, 2, 3, 4, 5, 6}, rows_of_b = {7, 10, 8, 11, 9, 12};
  CHECK(product({CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, rows_of_b, rows_of_a, Values(4), 2, 3, 2}) ==
        Values{50, 68, 122, 167});
}

TEST_CASE("a leading dimension larger than the matrix leaves what lies between alone") {
  const Values wide_a = {1, 4, 99, 2, 5, 99, 3, 6, 99};
  CHECK(product({CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, wide_a, b, Values(6, -1), 3, 3, 3}) ==
        Values{50, 122, -1, 68, 167, -1});
}

TEST_CASE("alpha scales the product and beta what was there") {
  CHECK(product({CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, a, b, {1, 2, 3, 4}, 2, 3, 2, 2, 10}) ==
        Values{110, 264, 166, 374});
}

TEST_CASE("with beta 0 what was there is not read") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(product({CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, a, b, Values(4, nan), 2, 3, 2}) == ab);
}

TEST_CASE("the entries of a batch are a stride apart, and a stride of 0 uses one for all") {
  Call call = {CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 2, {1, 2, 3, 4}, {10, 100}, Values(2), 1, 2, 1};
  call.batch = 2;
  call.stride_a = 2;
  call.stride_c = 1;
  CHECK(product(call) == Values{210, 430});
}

TEST_CASE("too small a leading dimension is refused") {
  const Call call = {CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, a, b, Values(4), 1, 3, 2};
  product<float>(call, CUBLAS_COMPUTE_32F, CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE("tf32 and bf16 round the factors and not the sum") {
  const double fine = 1 + 1.0 / (1 << 12);  // a bit that neither has
  const Call call = {CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, {fine}, {fine}, Values(1), 1, 1, 1};
  CHECK(product<float>(call, CUBLAS_COMPUTE_32F)[0] > 1);
  CHECK(product<float>(call, CUBLAS_COMPUTE_32F_FAST_TF32)[0] == 1);
  CHECK(product<float>(call, CUBLAS_COMPUTE_32F_FAST_16BF)[0] == 1);
  const double coarse = 1 + 1.0 / (1 << 9);  // one that tf32 alone has
  const Call other = {CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, {coarse}, {1}, Values(1), 1, 1, 1};
  CHECK(product<float>(other, CUBLAS_COMPUTE_32F_FAST_TF32)[0] == coarse);
  CHECK(product<float>(other, CUBLAS_COMPUTE_32F_FAST_16BF)[0] == 1);
}
