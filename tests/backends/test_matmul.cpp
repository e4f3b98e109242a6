#include <cmath>

#include "harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

Operation matmul(int32_t transpose_a, int32_t transpose_b, double alpha = 1, double beta = 0) {
  return Operation(ATTN_OP_MATMUL).params(attn_matmul_params{0, transpose_a, transpose_b, 0, alpha, beta});
}

}  // namespace

TEST_CASE("matmul multiplies matrices however they are stored") {
  // [1 2 3; 4 5 6] [1 0; 2 -1; 0 3] = [5 7; 14 13]
  const Values a = {1, 2, 3, 4, 5, 6}, a_transposed = {1, 4, 2, 5, 3, 6};
  const Values b = {1, 0, 2, -1, 0, 3}, b_transposed = {1, 2, 0, 0, -1, 3};
  for_each_backend_and_type([&](const Backend& backend, const Real& real) {
    const Tensor as[] = {real({2, 3}, a), real({3, 2}, a_transposed)};
    const Tensor bs[] = {real({3, 2}, b), real({2, 3}, b_transposed)};
    for (const int transpose_a : {0, 1}) {
      for (const int transpose_b : {0, 1}) {
        CAPTURE(transpose_a, transpose_b);
        const Operation product = matmul(transpose_a, transpose_b)
                                      .input(as[transpose_a])
                                      .input(bs[transpose_b])
                                      .output(real.output({2, 2}));
        check_equal(backend.run(product)[0], real({2, 2}, {5, 7, 14, 13}));
      }
    }
  });
}

TEST_CASE("matmul scales the product by alpha and the old value by beta") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation product =
        matmul(0, 0, 2, -1).input(real({1, 2}, {1, 2})).input(real({2, 1}, {3, 4})).output(real({1, 1}, {5}));
    check_equal(backend.run(product)[0], real({1, 1}, {17}));
  });
}

TEST_CASE("a matrix of rank 2 serves the whole batch of matmul") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Tensor batch_a = real({3, 1, 2}, {1, 2, 3, 4, 5, 6});
    const Tensor matrix_b = real({2, 2}, {1, 0, 0, 10});
    const Operation right = matmul(0, 0).input(batch_a).input(matrix_b).output(real.output({3, 1, 2}));
    check_equal(backend.run(right)[0], real({3, 1, 2}, {1, 20, 3, 40, 5, 60}));

    const Operation left = matmul(0, 1).input(matrix_b).input(batch_a).output(real.output({3, 2, 1}));
    check_equal(backend.run(left)[0], real({3, 2, 1}, {1, 20, 3, 40, 5, 60}));

    const Operation both = matmul(0, 0).input(matrix_b).input(matrix_b).output(real.output({2, 2, 2}));
    check_equal(backend.run(both)[0], real({2, 2, 2}, {1, 0, 0, 100, 1, 0, 0, 100}));
  });
}

TEST_CASE("matmul pairs the matrices of two batches") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation product = matmul(1, 0)
                                  .input(real({1, 2, 2, 1}, {1, 2, 3, 4}))
                                  .input(real({1, 2, 2, 1}, {5, 6, 7, 8}))
                                  .output(real.output({1, 2, 1, 1}));
    check_equal(backend.run(product)[0], real({1, 2, 1, 1}, {17, 53}));
  });
}

TEST_CASE("matmul of large matrices agrees with its definition") {
  // sizes at which a fast backend uses its blocked kernels, none a multiple of a block
  constexpr int64_t m = 67, k = 131, n = 45;
  Values a(m * k), b(k * n), y(m * n, 0.0);
  for (int64_t i = 0; i < m * k; ++i) a[i] = static_cast<double>(i * 7 % 23 - 11) / 8;
  for (int64_t i = 0; i < k * n; ++i) b[i] = static_cast<double>(i * 5 % 19 - 9) / 4;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) y[i * n + j] += a[i * k + l] * b[l * n + j];
    }
  }
  for_each_backend_and_type([&](const Backend& backend, const Real& real) {
    const Operation product =
        matmul(0, 0).input(real({m, k}, a)).input(real({k, n}, b)).output(real.output({m, n}));
    check_equal(backend.run(product)[0], real({m, n}, y));
  });
}

TEST_CASE("a product over no inner element is 0 or the scaled old value") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Tensor a = real({2, 0}, {}), b = real({0, 2}, {});
    check_equal(backend.run(matmul(0, 0).input(a).input(b).output(real.output({2, 2})))[0],
                real({2, 2}, {0, 0, 0, 0}));
    check_equal(backend.run(matmul(0, 0, 1, 2).input(a).input(b).output(real({2, 2}, {1, 2, 3, 4})))[0],
                real({2, 2}, {2, 4, 6, 8}));
    check_equal(backend.run(matmul(0, 0)
                                .input(real({0, 3}, {}))
                                .input(real({3, 2}, Values(6, 1)))
                                .output(real.output({0, 2})))[0],
                real({0, 2}, {}));
    check_equal(backend.run(matmul(0, 0)
                                .input(real({0, 2, 3}, {}))
                                .input(real({3, 2}, Values(6, 1)))
                                .output(real.output({0, 2, 2})))[0],
                real({0, 2, 2}, {}));
  });
}

// Attention multiplies weights, which are 0 for keys of padding, by values.
TEST_CASE("zeros after the last inner index of a batch's matrices do not change a bit") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    constexpr int64_t rows = 2, columns = 3, count = 100, padded = 300;
    Values weights, values, padded_weights, padded_values;
    for (int64_t i = 0; i < rows * padded; ++i) {
      const double weight = std::sin(static_cast<double>(i));
      if (i % padded < count) weights.push_back(weight);
      padded_weights.push_back(i % padded < count ? weight : 0);
    }
    for (int64_t i = 0; i < padded * columns; ++i) {
      padded_values.push_back(std::cos(static_cast<double>(i)));
      if (i < count * columns) values.push_back(padded_values.back());
    }
    const auto product = [&](int64_t depth, const Values& left, const Values& right) {
      return backend.run(matmul(0, 0)
                             .input(real({1, rows, depth}, left))
                             .input(real({1, depth, columns}, right))
                             .output(real.output({1, rows, columns})))[0];
    };
    CHECK(product(count, weights, values).values == product(padded, padded_weights, padded_values).values);
  });
}
