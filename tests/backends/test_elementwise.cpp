#include <cmath>
#include <limits>

#include "harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

Operation unary(int32_t function) {
  return Operation(ATTN_OP_UNARY).params(attn_unary_params{0, function});
}
Operation binary(int32_t function) {
  return Operation(ATTN_OP_BINARY).params(attn_binary_params{0, function});
}

}  // namespace

TEST_CASE("fill writes its value to every element") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation fill =
        Operation(ATTN_OP_FILL).params(attn_fill_params{0, 0, -1.5}).output(real.output({2, 3}));
    check_equal(backend.run(fill)[0], real({2, 3}, Values(6, -1.5)));
    const Operation scalar =
        Operation(ATTN_OP_FILL).params(attn_fill_params{0, 0, 7}).output(real.output({}));
    check_equal(backend.run(scalar)[0], real({}, {7}));
  });
  for_each_backend([](const Backend& backend) {
    const Operation fill = Operation(ATTN_OP_FILL).params(attn_fill_params{0, 0, -3}).output(i32_output({3}));
    check_equal(backend.run(fill)[0], i32({3}, {-3, -3, -3}));
  });
}

TEST_CASE("cast goes towards zero into i32 and keeps integers") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation down =
        Operation(ATTN_OP_CAST).input(real({5}, {1.9, -1.9, 0.5, -0.5, 1000000})).output(i32_output({5}));
    check_equal(backend.run(down)[0], i32({5}, {1, -1, 0, 0, 1000000}));
    const Operation up = Operation(ATTN_OP_CAST).input(i32({2}, {-5, 16777216})).output(real.output({2}));
    check_equal(backend.run(up)[0], real({2}, {-5, 16777216}));
    for (const int32_t other : {ATTN_F32, ATTN_F64}) {
      const Operation between =
          Operation(ATTN_OP_CAST).input(real({1, 2}, {0.5, -infinity})).output(Real{other}.output({1, 2}));
      check_equal(backend.run(between)[0], Real{other}({1, 2}, {0.5, -infinity}));
    }
  });
}

TEST_CASE("affine scales and shifts, also in place") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    Operation affine =
        Operation(ATTN_OP_AFFINE).params(attn_affine_params{0, 0, -2, 0.5}).input(real({3}, {0, 1, -2}));
    const Tensor expected = real({3}, {0.5, -1.5, 4.5});
    check_equal(backend.run(Operation(affine).output(real.output({3})))[0], expected);
    check_equal(backend.run(Operation(affine).aliased_output(0))[0], expected);
  });
  for_each_backend([](const Backend& backend) {
    const Operation affine = Operation(ATTN_OP_AFFINE)
                                 .params(attn_affine_params{0, 0, 3, -1})
                                 .input(i32({2}, {4, -4}))
                                 .output(i32_output({2}));
    check_equal(backend.run(affine)[0], i32({2}, {11, -13}));
  });
}

TEST_CASE("unary functions have the values of their definitions") {
  struct Case {
    int32_t function;
    Values x, y;
  };
  const std::vector<Case> cases = {
      {ATTN_UNARY_NEGATE, {1.5, -2, 0}, {-1.5, 2, 0}},
      {ATTN_UNARY_EXP, {0, 1, -infinity}, {1, 2.718281828459045, 0}},
      {ATTN_UNARY_LOG, {1, 10, 0}, {0, 2.302585092994046, -infinity}},
      {ATTN_UNARY_SQRT, {0, 2, 9}, {0, 1.4142135623730951, 3}},
      {ATTN_UNARY_RSQRT, {4, 2, 0.25}, {0.5, 0.7071067811865475, 2}},
      {ATTN_UNARY_SQUARE, {-3, 0, 1.5}, {9, 0, 2.25}},
      {ATTN_UNARY_RECIPROCAL, {4, -0.5, 1}, {0.25, -2, 1}},
      {ATTN_UNARY_TANH, {0, 0.5, -100}, {0, 0.46211715726000975, -1}},
      {ATTN_UNARY_SIGMOID, {0, 2, -2}, {0.5, 0.8807970779778823, 0.11920292202211755}},
      {ATTN_UNARY_SIGMOID, {-1000, 1000, -1}, {0, 1, 0.2689414213699951}},
      {ATTN_UNARY_RELU, {-1, 0, 2.5}, {0, 0, 2.5}},
      {ATTN_UNARY_RELU, {nan_value, -infinity, infinity}, {nan_value, 0, infinity}},
      {ATTN_UNARY_GELU, {0, 1, -1}, {0, 0.8413447460685429, -0.15865525393145707}},
      {ATTN_UNARY_SIN, {0, 1, -0.5}, {0, 0.8414709848078965, -0.479425538604203}},
      {ATTN_UNARY_COS, {0, 1, -0.5}, {1, 0.5403023058681398, 0.8775825618903728}},
      {ATTN_UNARY_ERF, {0, 0.5, -2}, {0, 0.5204998778130465, -0.9953222650189527}},
      {ATTN_UNARY_ABS, {-1.5, 0, 3}, {1.5, 0, 3}},
  };
  for_each_backend_and_type([&](const Backend& backend, const Real& real) {
    for (const Case& c : cases) {
      CAPTURE(c.function);
      Operation operation = unary(c.function).input(real({3, 1}, c.x));
      check_equal(backend.run(Operation(operation).output(real.output({3, 1})))[0], real({3, 1}, c.y));
      check_equal(backend.run(Operation(operation).aliased_output(0))[0], real({3, 1}, c.y));
    }
  });
}

TEST_CASE("a unary function reaches every element of a long tensor") {
  // longer than any vector register, and of no round length
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    Values x(1037), y(1037);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<double>(i) / 256 - 2;
      y[i] = std::tanh(x[i]);
    }
    const Operation operation = unary(ATTN_UNARY_TANH).input(real({1037}, x)).output(real.output({1037}));
    check_equal(backend.run(operation)[0], real({1037}, y));
  });
}

TEST_CASE("binary functions have the values of their definitions") {
  struct Case {
    int32_t function;
    Values expected;
  };
  const std::vector<Case> cases = {
      {ATTN_BINARY_ADD, {8, -1, 6}},       {ATTN_BINARY_SUBTRACT, {4, -5, 0}},
      {ATTN_BINARY_MULTIPLY, {12, -6, 9}}, {ATTN_BINARY_DIVIDE, {3, -1.5, 1}},
      {ATTN_BINARY_MAXIMUM, {6, 2, 3}},    {ATTN_BINARY_MINIMUM, {2, -3, 3}},
      {ATTN_BINARY_GREATER, {1, 0, 0}},    {ATTN_BINARY_EQUAL, {0, 0, 1}},
  };
  const Values a = {6, -3, 3}, b = {2, 2, 3};
  for_each_backend_and_type([&](const Backend& backend, const Real& real) {
    for (const Case& c : cases) {
      CAPTURE(c.function);
      Operation operation = binary(c.function).input(real({3}, a)).input(real({3}, b));
      const Tensor expected = real({3}, c.expected);
      check_equal(backend.run(Operation(operation).output(real.output({3})))[0], expected);
      check_equal(backend.run(Operation(operation).aliased_output(0))[0], expected);
      check_equal(backend.run(Operation(operation).aliased_output(1))[0], expected);
    }
  });
  for_each_backend([&](const Backend& backend) {
    for (const Case& c : cases) {
      CAPTURE(c.function);
      Values expected = c.expected;
      for (double& value : expected) value = std::trunc(value);
      const Operation operation =
          binary(c.function).input(i32({3}, a)).input(i32({3}, b)).output(i32_output({3}));
      check_equal(backend.run(operation)[0], i32({3}, expected));
    }
  });
}

TEST_CASE("binary operands are broadcast from the right") {
  struct Case {
    Sizes a, b, y;
    Values expected;
  };
  // a counts 0, 1, 2, ... and b counts 10, 20, 30, ...
  const std::vector<Case> cases = {
      {{2, 3}, {3}, {2, 3}, {10, 21, 32, 13, 24, 35}},
      {{2, 3}, {2, 1}, {2, 3}, {10, 11, 12, 23, 24, 25}},
      {{2, 1}, {1, 3}, {2, 3}, {10, 20, 30, 11, 21, 31}},
      {{3}, {2, 1}, {2, 3}, {10, 11, 12, 20, 21, 22}},
      {{}, {2, 2}, {2, 2}, {10, 20, 30, 40}},
      {{2, 2}, {}, {2, 2}, {10, 11, 12, 13}},
      {{1}, {1, 1, 1}, {1, 1, 1}, {10}},
      {{2, 1, 2}, {2, 1}, {2, 2, 2}, {10, 11, 20, 21, 12, 13, 22, 23}},
      {{2, 1, 1, 2}, {2, 1, 1}, {2, 2, 1, 2}, {10, 11, 20, 21, 12, 13, 22, 23}},
      {{0, 3}, {3}, {0, 3}, {}},
      {{2, 1}, {2, 0}, {2, 0}, {}},
  };
  const auto counted = [](const Sizes& sizes, double first, double step) {
    Tensor tensor = filled(ATTN_I32, sizes, 0);
    for (std::size_t i = 0; i < tensor.values.size(); ++i)
      tensor.values[i] = first + step * static_cast<double>(i);
    return tensor.values;
  };
  for_each_backend_and_type([&](const Backend& backend, const Real& real) {
    for (const Case& c : cases) {
      CAPTURE(c.a, c.b);
      const Operation operation = binary(ATTN_BINARY_ADD)
                                      .input(real(c.a, counted(c.a, 0, 1)))
                                      .input(real(c.b, counted(c.b, 10, 10)))
                                      .output(real.output(c.y));
      check_equal(backend.run(operation)[0], real(c.y, c.expected));
    }
    const Operation in_place = binary(ATTN_BINARY_SUBTRACT)
                                   .input(real({2}, {1, 2}))
                                   .input(real({2, 2}, {9, 8, 7, 6}))
                                   .aliased_output(1);
    check_equal(backend.run(in_place)[0], real({2, 2}, {-8, -6, -6, -4}));
  });
}

TEST_CASE("select takes a where the condition is not 0, broadcasting all three") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation operation = Operation(ATTN_OP_SELECT)
                                    .input(real({2, 1}, {0, -0.5}))
                                    .input(real({3}, {1, 2, 3}))
                                    .input(real({}, {nan_value}))
                                    .output(real.output({2, 3}));
    check_equal(backend.run(operation)[0], real({2, 3}, {nan_value, nan_value, nan_value, 1, 2, 3}));
  });
}
