// A yes of query() is a promise, for every primitive, both types, and sizes from empty to odd.
#include <cmath>

#include "harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

/// A tensor of a few different numbers, none of them special.
Tensor numbers(const Real& real, const Sizes& sizes) {
  Tensor tensor = filled(real.dtype, sizes, 0);
  for (std::size_t i = 0; i < tensor.values.size(); ++i)
    tensor.values[i] = 0.25 + static_cast<double>(i * 7 % 11) / 8;
  return tensor;
}

Tensor integers(const Sizes& sizes, double value) {
  return filled(ATTN_I32, sizes, value);
}

void add_elementwise(std::vector<Operation>& all, const Real& real, const Sizes& sizes) {
  const Tensor x = numbers(real, sizes);
  all.push_back(Operation(ATTN_OP_FILL).params(attn_fill_params{0, 0, 1}).output(real.output(sizes)));
  all.push_back(Operation(ATTN_OP_COPY).input(x).output(real.output(sizes)));
  all.push_back(Operation(ATTN_OP_CAST).input(integers(sizes, 3)).output(real.output(sizes)));
  all.push_back(
      Operation(ATTN_OP_AFFINE).params(attn_affine_params{0, 0, 2, 1}).input(x).output(real.output(sizes)));
  for (int32_t function = 0; function <= ATTN_UNARY_ABS; ++function) {
    all.push_back(
        Operation(ATTN_OP_UNARY).params(attn_unary_params{0, function}).input(x).output(real.output(sizes)));
  }
  for (int32_t function = 0; function <= ATTN_BINARY_EQUAL; ++function) {
    all.push_back(Operation(ATTN_OP_BINARY)
                      .params(attn_binary_params{0, function})
                      .input(x)
                      .input(x)
                      .output(real.output(sizes)));
  }
  all.push_back(Operation(ATTN_OP_SELECT).input(x).input(x).input(x).output(real.output(sizes)));
  all.push_back(Operation(ATTN_OP_DROPOUT)
                    .params(attn_dropout_params{0, 1, 0.5})
                    .input(x)
                    .input(integers({4}, 9))
                    .output(real.output(sizes)));
  all.push_back(Operation(ATTN_OP_SQUARED_NORM).input(x).input(x).output(real.output({})));
}

void add_rows(std::vector<Operation>& all, const Real& real, int64_t n, int64_t m) {
  const Tensor x = numbers(real, {n, m});
  all.push_back(Operation(ATTN_OP_MATMUL)
                    .params(attn_matmul_params{0, 0, 1, 0, 1, 0})
                    .input(x)
                    .input(x)
                    .output(real.output({n, n})));
  for (int32_t function = 0; function <= ATTN_REDUCE_MAX; ++function) {
    for (uint32_t axes = 0; axes < 4; ++axes) {
      const Sizes kept = {(axes & 1u) != 0 ? 1 : n, (axes & 2u) != 0 ? 1 : m};
      all.push_back(Operation(ATTN_OP_REDUCE)
                        .params(attn_reduce_params{0, function, axes, 0})
                        .input(x)
                        .output(real.output(kept)));
    }
  }
  if (m > 0) {
    all.push_back(Operation(ATTN_OP_ARGMAX).input(x).output(i32_output({n})));
    all.push_back(Operation(ATTN_OP_TOP_K).input(x).output(real.output({n, 1})).output(i32_output({n, 1})));
  }
  for (const int32_t masking : {ATTN_MASK_EXACT, ATTN_MASK_BOOK}) {
    const attn_masked_softmax_params params{0, 0, masking, 1, 0};
    const Tensor lengths = integers({1, n}, 1);
    all.push_back(
        Operation(ATTN_OP_MASKED_SOFTMAX).params(params).input(x).input(lengths).output(real.output({n, m})));
    all.push_back(Operation(ATTN_OP_MASKED_SOFTMAX_GRADIENT)
                      .params(params)
                      .input(x)
                      .input(x)
                      .input(lengths)
                      .output(real.output({n, m})));
  }
  all.push_back(Operation(ATTN_OP_LOG_SUM_EXP).input(x).output(real.output({n})));
}

void add_movement(std::vector<Operation>& all, const Real& real, int64_t n, int64_t m) {
  const Tensor x = numbers(real, {n, m});
  all.push_back(
      Operation(ATTN_OP_PERMUTE).params(attn_permute_params{0, {1, 0}}).input(x).output(real.output({m, n})));
  all.push_back(Operation(ATTN_OP_SLICE).params(attn_slice_params{}).input(x).output(real.output({n, m})));
  all.push_back(Operation(ATTN_OP_SLICE_ADD)
                    .params(attn_slice_params{})
                    .input(x)
                    .output(numbers(real, {n + 1, m + 1})));
  all.push_back(Operation(ATTN_OP_CONCATENATE)
                    .params(attn_concatenate_params{0, 1})
                    .input(x)
                    .input(x)
                    .output(real.output({n, 2 * m})));
  all.push_back(Operation(ATTN_OP_GATHER_ROWS)
                    .input(numbers(real, {2, m}))
                    .input(integers({n}, 1))
                    .output(real.output({n, m})));
  all.push_back(Operation(ATTN_OP_SCATTER_ADD_ROWS)
                    .params(attn_scatter_params{0, -1})
                    .input(x)
                    .input(integers({n}, 1))
                    .output(numbers(real, {2, m})));
  const attn_window_params window{0, 0, 3, 1, 1, 1};
  all.push_back(Operation(ATTN_OP_UNFOLD_1D)
                    .params(window)
                    .input(numbers(real, {2, n, m}))
                    .output(real.output({2, n, 3 * m})));
  all.push_back(Operation(ATTN_OP_FOLD_1D)
                    .params(window)
                    .input(numbers(real, {2, n, 3 * m}))
                    .output(real.output({2, n, m})));
}

}  // namespace

TEST_CASE("every primitive runs at every size and overwrites its outputs completely") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    for (const int64_t n : {0, 1, 3}) {
      for (const int64_t m : {0, 1, 17}) {
        std::vector<Operation> all;
        add_elementwise(all, real, {n, m});
        add_rows(all, real, n, m);
        add_movement(all, real, n, m);
        for (const Operation& operation : all) {
          CAPTURE(operation.kind(), n, m);
          for (const Tensor& output : backend.run(operation)) {
            for (const double value : output.values) {
              CHECK(!std::isnan(value));
              CHECK(value != -77);
            }
          }
        }
      }
    }
  });
}

TEST_CASE("the operations of a batch run as if in order") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    std::vector<Operation> batch;
    for (int i = 0; i < 50; ++i) {
      batch.push_back(Operation(ATTN_OP_AFFINE)
                          .params(attn_affine_params{0, 0, 2, static_cast<double>(i)})
                          .input(real({2}, {1, -1}))
                          .output(real.output({2})));
    }
    std::vector<Tensor> outputs;
    REQUIRE(backend.try_run(batch, &outputs).status == ATTN_OK);
    for (int i = 0; i < 50; ++i) check_equal(outputs[i], real({2}, {2.0 + i, -2.0 + i}));
  });
}

TEST_CASE("an operation sees what an earlier one of its batch wrote") {
  for_each_backend([](const Backend& backend) {
    constexpr std::size_t bytes = 3 * sizeof(double);
    void* memory = nullptr;
    REQUIRE(backend.table().allocate(backend.context(), bytes, &memory, nullptr) == ATTN_OK);
    const attn_tensor x{memory, ATTN_F64, 1, {3}};
    const attn_tensor in_place[] = {x, x};
    const attn_fill_params fill{sizeof fill, 0, 1.5};
    const attn_unary_params square{sizeof square, ATTN_UNARY_SQUARE};
    const attn_op ops[] = {{ATTN_OP_FILL, 0, 1, &x, &fill},
                           {ATTN_OP_UNARY, 1, 1, in_place, &square},
                           {ATTN_OP_UNARY, 1, 1, in_place, &square}};
    // run again with a key that allows a replay: the result must not depend on it
    const attn_batch batch{sizeof batch, 3, ops, 7, nullptr, 0};
    for (int repetition = 0; repetition < 2; ++repetition) {
      REQUIRE(backend.table().run(backend.context(), &batch, nullptr) == ATTN_OK);
      double values[3];
      REQUIRE(backend.table().download(backend.context(), values, memory, bytes, nullptr) == ATTN_OK);
      for (const double value : values) CHECK(value == 5.0625);
    }
    backend.table().release(backend.context(), memory);
  });
}
