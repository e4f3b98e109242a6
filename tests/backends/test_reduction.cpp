#include <limits>

#include "harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Operation reduce(int32_t function, uint32_t axes, int32_t accumulate = 0) {
  return Operation(ATTN_OP_REDUCE).params(attn_reduce_params{0, function, axes, accumulate});
}

}  // namespace

TEST_CASE("reduce works over any set of axes, kept or dropped") {
  const Values x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};  // [2,3,2]
  struct Case {
    int32_t function;
    uint32_t axes;
    Sizes kept, dropped;
    Values expected;
  };
  const std::vector<Case> cases = {
      {ATTN_REDUCE_SUM, 0b001, {1, 3, 2}, {3, 2}, {8, 10, 12, 14, 16, 18}},
      {ATTN_REDUCE_SUM, 0b010, {2, 1, 2}, {2, 2}, {9, 12, 27, 30}},
      {ATTN_REDUCE_SUM, 0b100, {2, 3, 1}, {2, 3}, {3, 7, 11, 15, 19, 23}},
      {ATTN_REDUCE_SUM, 0b101, {1, 3, 1}, {3}, {18, 26, 34}},
      {ATTN_REDUCE_SUM, 0b110, {2, 1, 1}, {2}, {21, 57}},
      {ATTN_REDUCE_SUM, 0b111, {1, 1, 1}, {}, {78}},
      {ATTN_REDUCE_SUM, 0b000, {2, 3, 2}, {2, 3, 2}, x},
      {ATTN_REDUCE_MEAN, 0b011, {1, 1, 2}, {2}, {6, 7}},
      {ATTN_REDUCE_MEAN, 0b111, {1, 1, 1}, {}, {6.5}},
      {ATTN_REDUCE_MAX, 0b010, {2, 1, 2}, {2, 2}, {5, 6, 11, 12}},
      {ATTN_REDUCE_MAX, 0b101, {1, 3, 1}, {3}, {8, 10, 12}},
  };
  for_each_backend_and_type([&](const Backend& backend, const Real& real) {
    for (const Case& c : cases) {
      CAPTURE(c.function, c.axes);
      for (const Sizes& sizes : {c.kept, c.dropped}) {
        const Operation operation =
            reduce(c.function, c.axes).input(real({2, 3, 2}, x)).output(real.output(sizes));
        check_equal(backend.run(operation)[0], real(sizes, c.expected));
      }
    }
  });
}

TEST_CASE("a sum can be added to what is there") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation operation =
        reduce(ATTN_REDUCE_SUM, 0b01, 1).input(real({2, 2}, {1, 2, 3, 4})).output(real({2}, {10, 20}));
    check_equal(backend.run(operation)[0], real({2}, {14, 26}));
  });
}

TEST_CASE("the sum and mean over nothing are 0, the maximum is minus infinity") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Tensor x = real({2, 0}, {});
    const auto over_columns = [&](int32_t function) {
      return backend.run(reduce(function, 0b10).input(x).output(real.output({2})))[0];
    };
    check_equal(over_columns(ATTN_REDUCE_SUM), real({2}, {0, 0}));
    check_equal(over_columns(ATTN_REDUCE_MEAN), real({2}, {0, 0}));
    check_equal(over_columns(ATTN_REDUCE_MAX), real({2}, {-infinity, -infinity}));
    check_equal(backend.run(reduce(ATTN_REDUCE_SUM, 0b01).input(x).output(real.output({0})))[0],
                real({0}, {}));
  });
}

TEST_CASE("the maximum of negative numbers is negative") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation operation =
        reduce(ATTN_REDUCE_MAX, 0b1).input(real({3}, {-3, -1, -2})).output(real.output({}));
    check_equal(backend.run(operation)[0], real({}, {-1}));
  });
}

TEST_CASE("argmax finds the largest of each row, the first of equals") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation operation =
        Operation(ATTN_OP_ARGMAX)
            .input(real({2, 2, 3}, {1, 3, 3, -1, -2, -3, 0, 0, 0, -infinity, -5, -infinity}))
            .output(i32_output({2, 2}));
    check_equal(backend.run(operation)[0], i32({2, 2}, {1, 0, 0, 1}));
    const Operation vector = Operation(ATTN_OP_ARGMAX).input(real({2}, {1, 2})).output(i32_output({}));
    check_equal(backend.run(vector)[0], i32({}, {1}));
  });
}

TEST_CASE("top_k sorts descending and the lower index wins a tie") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Tensor x = real({2, 4}, {2, 7, 7, 1, 5, 5, 5, 5});
    const auto top = [&](int64_t k) {
      return backend.run(
          Operation(ATTN_OP_TOP_K).input(x).output(real.output({2, k})).output(i32_output({2, k})));
    };
    check_equal(top(3)[0], real({2, 3}, {7, 7, 2, 5, 5, 5}));
    check_equal(top(3)[1], i32({2, 3}, {1, 2, 0, 0, 1, 2}));
    check_equal(top(1)[1], i32({2, 1}, {1, 0}));
    check_equal(top(4)[1], i32({2, 4}, {1, 2, 0, 3, 0, 1, 2, 3}));
  });
}

TEST_CASE("log_sum_exp neither overflows nor underflows") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation operation =
        Operation(ATTN_OP_LOG_SUM_EXP)
            .input(real({4, 2}, {0, 0, 1000, 1000, -1000, -1001, -infinity, -infinity}))
            .output(real.output({4}));
    check_equal(backend.run(operation)[0],
                real({4}, {0.6931471805599453, 1000.6931471805599, -999.6867383124818, -infinity}));
    const Operation empty = Operation(ATTN_OP_LOG_SUM_EXP).input(real({2, 0}, {})).output(real.output({2}));
    check_equal(backend.run(empty)[0], real({2}, {-infinity, -infinity}));
  });
}

TEST_CASE("squared_norm sums over all its tensors") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation operation = Operation(ATTN_OP_SQUARED_NORM)
                                    .input(real({2}, {3, -4}))
                                    .input(real({}, {2}))
                                    .input(real({0, 5}, {}))
                                    .input(real({1, 2}, {0.5, 0.5}))
                                    .output(real.output({}));
    check_equal(backend.run(operation)[0], real({}, {29.5}));
    Operation many(ATTN_OP_SQUARED_NORM);
    for (int i = 1; i <= 15; ++i) many.input(real({1}, {static_cast<double>(i)}));
    check_equal(backend.run(many.output(real.output({})))[0], real({}, {1240}));
  });
}
