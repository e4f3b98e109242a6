// Which descriptors query() turns down, that it says why, and which versions of params it takes.
#include <cstring>
#include <limits>

#include "harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

const Real real{ATTN_F32};

Tensor zeros(Sizes sizes) {
  return filled(ATTN_F32, std::move(sizes), 0);
}
Tensor integers(Sizes sizes) {
  return filled(ATTN_I32, std::move(sizes), 0);
}

Operation matmul(Tensor a, Tensor b, Tensor y) {
  return Operation(ATTN_OP_MATMUL)
      .params(attn_matmul_params{0, 0, 0, 0, 1, 0})
      .input(std::move(a))
      .input(std::move(b))
      .output(std::move(y));
}

Operation binary(int32_t function, Tensor a, Tensor b, Tensor y) {
  return Operation(ATTN_OP_BINARY)
      .params(attn_binary_params{0, function})
      .input(std::move(a))
      .input(std::move(b))
      .output(std::move(y));
}

Operation reduce(int32_t function, uint32_t axes, int32_t accumulate, Tensor y) {
  return Operation(ATTN_OP_REDUCE)
      .params(attn_reduce_params{0, function, axes, accumulate})
      .input(zeros({2, 3}))
      .output(std::move(y));
}

Operation softmax(attn_masked_softmax_params params, Tensor lengths) {
  return Operation(ATTN_OP_MASKED_SOFTMAX)
      .params(params)
      .input(zeros({4, 3, 5}))
      .input(std::move(lengths))
      .output(real.output({4, 3, 5}));
}

Operation top_k(int64_t k) {
  return Operation(ATTN_OP_TOP_K).input(zeros({2, 3})).output(real.output({2, k})).output(i32_output({2, k}));
}

Operation permute(attn_permute_params params, Sizes y) {
  return Operation(ATTN_OP_PERMUTE).params(params).input(zeros({2, 3})).output(real.output(std::move(y)));
}

Operation slice(attn_slice_params params, Sizes y) {
  return Operation(ATTN_OP_SLICE).params(params).input(zeros({2, 3})).output(real.output(std::move(y)));
}

Operation unfold(attn_window_params params, Sizes y) {
  return Operation(ATTN_OP_UNFOLD_1D)
      .params(params)
      .input(zeros({1, 4, 2}))
      .output(real.output(std::move(y)));
}

Operation dropout(double rate, Tensor random) {
  return Operation(ATTN_OP_DROPOUT)
      .params(attn_dropout_params{0, 0, rate})
      .input(zeros({3}))
      .input(std::move(random))
      .output(real.output({3}));
}

Operation unary(int32_t function, Tensor x, Tensor y) {
  return Operation(ATTN_OP_UNARY)
      .params(attn_unary_params{0, function})
      .input(std::move(x))
      .output(std::move(y));
}

struct Case {
  const char* what;
  Operation operation;
};

void check_refused(const std::vector<Case>& cases) {
  for_each_backend([&](const Backend& backend) {
    for (const Case& c : cases) {
      CAPTURE(c.what);
      const attn_support support = backend.query(c.operation);
      CHECK(support.supported == 0);
      CHECK(std::strlen(support.why_not) > 0);
      CHECK(std::strlen(support.why_not) < sizeof support.why_not);
    }
  });
}

}  // namespace

TEST_CASE("query refuses a wrong type and says why") {
  const double nothing = 0;
  check_refused({
      {"unary of i32", unary(ATTN_UNARY_EXP, integers({2}), i32_output({2}))},
      {"unary from f32 to f64", unary(ATTN_UNARY_EXP, zeros({2}), filled(ATTN_F64, {2}, nothing))},
      {"unary of an unknown type", unary(ATTN_UNARY_EXP, filled(99, {2}, nothing), filled(99, {2}, nothing))},
      {"matmul of f32 and f64",
       matmul(zeros({2, 2}), filled(ATTN_F64, {2, 2}, nothing), real.output({2, 2}))},
      {"matmul of i32", matmul(integers({2, 2}), integers({2, 2}), i32_output({2, 2}))},
      {"f32 ids",
       Operation(ATTN_OP_GATHER_ROWS).input(zeros({3, 2})).input(zeros({1})).output(real.output({1, 2}))},
      {"argmax into f32", Operation(ATTN_OP_ARGMAX).input(zeros({2, 3})).output(real.output({2}))},
      {"copy from f32 to i32", Operation(ATTN_OP_COPY).input(zeros({2})).output(i32_output({2}))},
      {"f32 lengths", softmax({0, 0, ATTN_MASK_EXACT, 0, 0}, zeros({4}))},
      {"f32 random", dropout(0.5, zeros({4}))},
  });
}

TEST_CASE("query refuses a wrong rank or shape and says why") {
  check_refused({
      {"matmul of a vector", matmul(zeros({2}), zeros({2, 2}), real.output({2, 2}))},
      {"inner sizes differ", matmul(zeros({2, 3}), zeros({2, 2}), real.output({2, 2}))},
      {"batches differ", matmul(zeros({2, 2, 2}), zeros({3, 2, 2}), real.output({2, 2, 2}))},
      {"wrong output of matmul", matmul(zeros({2, 3}), zeros({3, 4}), real.output({4, 2}))},
      {"shapes that do not broadcast", binary(ATTN_BINARY_ADD, zeros({2}), zeros({3}), real.output({3}))},
      {"output smaller than the operands", binary(ATTN_BINARY_ADD, zeros({3}), zeros({3}), real.output({1}))},
      {"0 and 3 do not broadcast", binary(ATTN_BINARY_ADD, zeros({0}), zeros({3}), real.output({0}))},
      {"unary into another shape", unary(ATTN_UNARY_EXP, zeros({2, 3}), real.output({3, 2}))},
      {"copy of fewer elements", Operation(ATTN_OP_COPY).input(zeros({2, 3})).output(real.output({5}))},
      {"reduce into a wrong shape", reduce(ATTN_REDUCE_SUM, 0b10, 0, real.output({3}))},
      {"argmax of empty rows", Operation(ATTN_OP_ARGMAX).input(zeros({2, 0})).output(i32_output({2}))},
      {"top 4 of 3", top_k(4)},
      {"top 0", top_k(0)},
      {"lengths of a batch that does not divide", softmax({0, 0, ATTN_MASK_EXACT, 0, 0}, integers({3}))},
      {"lengths of other queries", softmax({0, 0, ATTN_MASK_EXACT, 0, 0}, integers({4, 5}))},
      {"lengths of rank 3", softmax({0, 0, ATTN_MASK_EXACT, 0, 0}, integers({4, 3, 5}))},
      {"permuted shape", permute({0, {1, 0}}, {2, 3})},
      {"slice beyond the end", slice({0, 0, {1, 0}}, {2, 3})},
      {"slice of another rank", slice({0, 0, {0, 0}}, {2})},
      {"windows of another width", unfold({0, 0, 3, 1, 1, 0}, {1, 2, 5})},
      {"windows of another batch", unfold({0, 0, 3, 1, 1, 0}, {2, 2, 6})},
      {"random of 3 words", dropout(0.5, integers({3}))},
      {"gathered rows of another width",
       Operation(ATTN_OP_GATHER_ROWS).input(zeros({3, 2})).input(integers({1})).output(real.output({1, 3}))},
      {"a rank above the limit",
       unary(ATTN_UNARY_EXP, zeros({1, 1, 1, 1, 1, 1, 1}), real.output({1, 1, 1, 1, 1, 1, 1}))},
      {"norm into a vector", Operation(ATTN_OP_SQUARED_NORM).input(zeros({2})).output(real.output({1}))},
  });
}

TEST_CASE("query refuses sizes that no tensor can have") {
  Tensor negative = zeros({}), huge = zeros({});
  negative.sizes = {2, -1};
  huge.sizes = {int64_t{1} << 40, int64_t{1} << 40};
  check_refused({{"a negative size", unary(ATTN_UNARY_EXP, negative, negative)},
                 {"a product that overflows", unary(ATTN_UNARY_EXP, huge, huge)}});
}

TEST_CASE("query refuses missing tensors, surplus tensors and missing parameters") {
  check_refused({
      {"an absent input", unary(ATTN_UNARY_EXP, absent(), real.output({2}))},
      {"an absent output", unary(ATTN_UNARY_EXP, zeros({2}), absent())},
      {"an input too many", unary(ATTN_UNARY_EXP, zeros({2}), real.output({2})).input(zeros({2}))},
      {"no tensor", Operation(ATTN_OP_COPY)},
      {"no random", dropout(0.5, absent())},
      {"no parameters of matmul",
       Operation(ATTN_OP_MATMUL).input(zeros({1, 1})).input(zeros({1, 1})).output(real.output({1, 1}))},
      {"no parameters of unary", Operation(ATTN_OP_UNARY).input(zeros({1})).output(real.output({1}))},
      {"nothing to concatenate",
       Operation(ATTN_OP_CONCATENATE).params(attn_concatenate_params{0, 0}).output(real.output({1}))},
  });
}

TEST_CASE("query refuses parameters out of range") {
  const double nan_value = std::numeric_limits<double>::quiet_NaN();
  check_refused({
      {"unary function 99", unary(99, zeros({2}), real.output({2}))},
      {"binary function -1", binary(-1, zeros({2}), zeros({2}), real.output({2}))},
      {"reduce function 3", reduce(3, 0b01, 0, real.output({3}))},
      {"an axis that x does not have", reduce(ATTN_REDUCE_SUM, 0b100, 0, real.output({2, 3}))},
      {"an accumulated mean", reduce(ATTN_REDUCE_MEAN, 0b01, 1, zeros({3}))},
      {"masking 2", softmax({0, 0, 2, 0, 0}, absent())},
      {"an axis twice", permute({0, {0, 0}}, {2, 2})},
      {"a negative axis", permute({0, {-1, 0}}, {3, 2})},
      {"a negative start", slice({0, 0, {-1, 0}}, {2, 3})},
      {"kernel 0", unfold({0, 0, 0, 1, 1, 0}, {1, 2, 0})},
      {"stride 0", unfold({0, 0, 1, 0, 1, 0}, {1, 2, 2})},
      {"negative padding", unfold({0, 0, 1, 1, 1, -1}, {1, 2, 2})},
      {"rate 1", dropout(1, integers({4}))},
      {"rate below 0", dropout(-0.1, integers({4}))},
      {"rate NaN", dropout(nan_value, integers({4}))},
      {"axis 1 of a vector", Operation(ATTN_OP_CONCATENATE)
                                 .params(attn_concatenate_params{0, 1})
                                 .input(zeros({2}))
                                 .output(real.output({2}))},
  });
}

TEST_CASE("query refuses an operation kind that it does not know") {
  check_refused(
      {{"kind 0", Operation(0)}, {"kind 9999", Operation(9999).input(zeros({1})).output(zeros({1}))}});
}

TEST_CASE("the reference backend leaves fused operations to their decomposition") {
  const Operation linear = Operation(ATTN_OP_LINEAR)
                               .params(attn_linear_params{0, 0, ATTN_ACTIVATION_NONE, 0})
                               .input(zeros({2, 3}))
                               .input(zeros({4, 3}))
                               .input(absent())
                               .output(real.output({2, 4}));
  for_each_backend([&](const Backend& backend) {
    if (std::strcmp(backend.table().name, "reference") != 0) return;
    const attn_support support = backend.query(linear);
    CHECK(support.supported == 0);
    CHECK(std::string(support.why_not) == "reference runs primitives only");
  });
}

TEST_CASE("a malformed fused operation is refused for what is wrong with it") {
  check_refused({{"weight of other columns", Operation(ATTN_OP_LINEAR)
                                                 .params(attn_linear_params{0, 0, ATTN_ACTIVATION_NONE, 0})
                                                 .input(zeros({2, 3}))
                                                 .input(zeros({4, 5}))
                                                 .input(absent())
                                                 .output(real.output({2, 4}))}});
}

TEST_CASE("run names the operation of the batch that it cannot run") {
  for_each_backend([](const Backend& backend) {
    const attn_error error =
        backend.try_run({unary(ATTN_UNARY_NEGATE, real({1}, {4}), real.output({1})), Operation(9999)});
    CHECK((error.status == ATTN_INVALID || error.status == ATTN_UNSUPPORTED));
    CHECK(error.op_index == 1);
    CHECK(std::strlen(error.message) > 0);
  });
}

TEST_CASE("parameters of a newer program are read as far as they are known") {
  for_each_backend([](const Backend& backend) {
    const Operation product = matmul(real({1, 2}, {1, 2}), real({2, 1}, {3, 4}), real.output({1, 1}))
                                  .resize_params(sizeof(attn_matmul_params) + 24);
    check_equal(backend.run(product)[0], real({1, 1}, {11}));
  });
}

TEST_CASE("fields that an older program does not send have their defaults") {
  for_each_backend([](const Backend& backend) {
    // a causal mask without causal_offset: 0
    const Operation causal = Operation(ATTN_OP_MASKED_SOFTMAX)
                                 .params(attn_masked_softmax_params{0, 0, ATTN_MASK_EXACT, 1, 1000})
                                 .resize_params(offsetof(attn_masked_softmax_params, causal_offset))
                                 .input(real({2, 2}, {5, 5, 5, 5}))
                                 .input(absent())
                                 .output(real.output({2, 2}));
    check_equal(backend.run(causal)[0], real({2, 2}, {1, 0, 0.5, 0.5}));
    // a product without alpha and beta: 1 and 0
    const Operation product = matmul(real({1, 2}, {1, 2}), real({2, 1}, {3, 4}), real.output({1, 1}))
                                  .resize_params(offsetof(attn_matmul_params, alpha));
    check_equal(backend.run(product)[0], real({1, 1}, {11}));
  });
}

TEST_CASE("query fills in no more than an older program's struct") {
  for_each_backend([](const Backend& backend) {
    const attn_op op{9999, 0, 0, nullptr, nullptr};
    attn_support support;
    std::memset(&support, 0x5A, sizeof support);
    support.struct_size = offsetof(attn_support, why_not);
    REQUIRE(backend.table().query(backend.context(), &op, &support, nullptr) == ATTN_OK);
    CHECK(support.supported == 0);
    CHECK(support.struct_size == offsetof(attn_support, why_not));
    CHECK(support.why_not[0] == 0x5A);
  });
}
