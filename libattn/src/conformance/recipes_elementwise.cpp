// Operations that treat every element alone.
#include <limits>

#include "case.h"

namespace attn::conformance {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::vector<Shape> shapes(Recipes& recipes) {
  std::vector<Shape> list{{}, {0}, {1}, {7}, {0, 4}, {2, 0, 3}, {3, 5}, {2, 1, 3, 1, 2, 2}};
  if (!recipes.quick()) list.insert(list.end(), {{1023}, {65, 33}, {20001}});
  for (int i = 0; i < recipes.random_count(); ++i) {
    list.push_back(recipes.shape(static_cast<int>(1 + recipes.below(4)), 3000));
  }
  return list;
}

struct Function {
  attn_unary_function function;
  const char* name;
  double low, high;
  std::vector<double> extreme;
};

std::vector<Function> unary_functions() {
  const std::vector<double> all{-1e30, -1e4, -100, -0.0, 0.0, 1e-30, 100, 1e4, 1e30, infinity, -infinity};
  const std::vector<double> positive{0.0, 1e-30, 1e-10, 1, 1e10, 1e30, infinity};
  const std::vector<double> moderate{-100, -1e-20, 0, 1e-20, 100};
  return {{ATTN_UNARY_NEGATE, "negate", -2, 2, all},
          {ATTN_UNARY_EXP, "exp", -5, 5, {-1000, -90, -1e-20, 0, 1e-20, 80, 1000, infinity, -infinity}},
          {ATTN_UNARY_LOG, "log", 0.01, 4, positive},
          {ATTN_UNARY_SQRT, "sqrt", 0, 4, positive},
          {ATTN_UNARY_RSQRT, "rsqrt", 0.01, 4, {1e-30, 1e-10, 1, 1e10, 1e30}},
          {ATTN_UNARY_SQUARE, "square", -3, 3, {-1e15, -1, 0, 1e15, infinity}},
          {ATTN_UNARY_RECIPROCAL, "reciprocal", 0.25, 4, {-1e30, -1e-30, 1e-30, 1e30}},
          {ATTN_UNARY_TANH, "tanh", -4, 4, all},
          {ATTN_UNARY_SIGMOID, "sigmoid", -8, 8, all},
          {ATTN_UNARY_RELU, "relu", -2, 2, {-1e30, -0.0, 0, 1e30, infinity, -infinity, not_a_number}},
          {ATTN_UNARY_GELU, "gelu", -5, 5, {-1e4, -40, -1e-20, 0, 1e-20, 40, 1e4}},
          {ATTN_UNARY_SIN, "sin", -20, 20, moderate},
          {ATTN_UNARY_COS, "cos", -20, 20, moderate},
          {ATTN_UNARY_ERF, "erf", -4, 4, all},
          {ATTN_UNARY_ABS, "abs", -2, 2, all}};
}

void add_unary(Recipes& recipes) {
  for (const Function& f : unary_functions()) {
    const attn_unary_params params{0, f.function};
    for (const Shape& shape : shapes(recipes)) {
      recipes.add(ATTN_OP_UNARY, fmt::format("{} {}", f.name, shape),
                  [=](Builder& b) { b.params(params).in(shape, f.low, f.high).out(shape); });
    }
    recipes.add(ATTN_OP_UNARY, fmt::format("{} in place", f.name), [=](Builder& b) {
      b.params(params).in({5, 13}, f.low, f.high).alias(0);
    });
    recipes.add(ATTN_OP_UNARY, fmt::format("{} of extreme values", f.name), [=](Builder& b) {
      std::vector<double> values;  // at every place of a vector register
      for (int i = 0; i < 3; ++i) values.insert(values.end(), f.extreme.begin(), f.extreme.end());
      const Shape shape{static_cast<std::int64_t>(values.size())};
      b.params(params).in(shape, values).out(shape);
    });
  }
}

struct Pair {
  Shape a, b, y;
};

void add_binary(Recipes& recipes) {
  const std::vector<Pair> pairs{{{}, {}, {}},
                                {{0}, {1}, {0}},
                                {{3, 0}, {1}, {3, 0}},
                                {{3, 5}, {3, 5}, {3, 5}},
                                {{3, 5}, {5}, {3, 5}},
                                {{5}, {2, 3, 5}, {2, 3, 5}},
                                {{3, 1}, {1, 5}, {3, 5}},
                                {{}, {2, 3}, {2, 3}},
                                {{4, 33}, {4, 1}, {4, 33}},
                                {{2, 1, 3, 1, 2, 5}, {4, 1, 3, 1, 1}, {2, 4, 3, 3, 2, 5}},
                                {{257}, {}, {257}}};
  const char* names[] = {"add", "subtract", "multiply", "divide", "maximum", "minimum", "greater", "equal"};
  for (std::int32_t function = 0; function <= ATTN_BINARY_EQUAL; ++function) {
    const attn_binary_params params{0, function};
    const char* name = names[function];
    const double low = function == ATTN_BINARY_DIVIDE ? 0.25 : -2;
    for (const Pair& pair : pairs) {
      recipes.add(ATTN_OP_BINARY, fmt::format("{} {} {}", name, pair.a, pair.b),
                  [=](Builder& b) { b.params(params).in(pair.a, low, 2).in(pair.b, low, 2).out(pair.y); });
    }
    for (int i = 0; i < recipes.random_count(); ++i) {
      const Shape full = recipes.shape(3, 2000);
      const Shape part = full.with(static_cast<int>(recipes.below(3)), 1);
      recipes.add(ATTN_OP_BINARY, fmt::format("{} {} {}", name, full, part),
                  [=](Builder& b) { b.params(params).in(full, low, 2).in(part, low, 2).out(full); });
    }
    recipes.add(ATTN_OP_BINARY, fmt::format("{} into the first operand", name), [=](Builder& b) {
      b.params(params).in({4, 9}, low, 2).in({9}, low, 2).alias(0);
    });
    recipes.add(ATTN_OP_BINARY, fmt::format("{} into the second operand", name), [=](Builder& b) {
      b.params(params).in({4, 1}, low, 2).in({4, 9}, low, 2).alias(1);
    });
    recipes.add(ATTN_OP_BINARY, fmt::format("{} of equal values", name), [=](Builder& b) {
      b.params(params).in({6}, {1, 2, 3, 1, 2, 3}).in({6}, {1, 3, 2, -1, 2, 3}).out({6});
    });
    if (function != ATTN_BINARY_DIVIDE) {
      recipes.add(ATTN_OP_BINARY, fmt::format("{} of i32", name), [=](Builder& b) {
        b.params(params).integers({3, 7}, -9, 9).integers({7}, -9, 9).out(DType::i32, {3, 7}).exact();
      });
    }
  }
}

void add_select(Recipes& recipes) {
  const auto add = [&](const Shape& condition, const Shape& a, const Shape& b, const Shape& y) {
    recipes.add(ATTN_OP_SELECT, fmt::format("{} ? {} : {}", condition, a, b), [=](Builder& builder) {
      std::vector<double> chosen(static_cast<std::size_t>(condition.elements()));
      for (double& value : chosen)
        value = static_cast<double>(builder.random_numbers().below(3)) - 1;  // -1 too
      builder.in(condition, chosen).in(a).in(b).out(y).exact();
    });
  };
  add({}, {}, {}, {});
  add({0}, {0}, {0}, {0});
  add({5, 7}, {5, 7}, {5, 7}, {5, 7});
  add({5, 1}, {5, 7}, {}, {5, 7});
  add({2, 3, 1}, {3, 9}, {2, 1, 9}, {2, 3, 9});
  for (int i = 0; i < recipes.random_count(); ++i) {
    const Shape shape = recipes.shape(3, 2000);
    add(shape, shape.with(0, 1), shape, shape);
  }
}

void add_affine(Recipes& recipes) {
  for (const Shape& shape : shapes(recipes)) {
    recipes.add(ATTN_OP_AFFINE, fmt::format("{}", shape), [=](Builder& b) {
      b.params(attn_affine_params{0, 0, -2.5, 0.75}).in(shape).out(shape);
    });
  }
  recipes.add(ATTN_OP_AFFINE, "in place", [](Builder& b) {
    b.params(attn_affine_params{0, 0, 0.5, -3}).in({3, 11}).alias(0);
  });
  recipes.add(ATTN_OP_AFFINE, "of i32", [](Builder& b) {
    b.params(attn_affine_params{0, 0, 3, -1}).integers({13}, -50, 50).out(DType::i32, {13}).exact();
  });
}

void add_fill_and_cast(Recipes& recipes) {
  for (const Shape& shape : shapes(recipes)) {
    for (const double value : {0.0, -1.5}) {
      recipes.add(ATTN_OP_FILL, fmt::format("{} with {}", shape, value), [=](Builder& b) {
        b.params(attn_fill_params{0, 0, value}).out(shape).exact();
      });
    }
    recipes.add(ATTN_OP_FILL, fmt::format("i32 {}", shape), [=](Builder& b) {
      b.params(attn_fill_params{0, 0, -7}).out(DType::i32, shape).exact();
    });
  }
  for (const DType from : {DType::f32, DType::f64, DType::i32}) {
    for (const DType to : {DType::f32, DType::f64, DType::i32}) {
      for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{21}, Shape{5, 67}}) {
        recipes.add(ATTN_OP_CAST, fmt::format("{} to {} {}", name_of(from), name_of(to), shape),
                    [=](Builder& b) {
                      std::vector<double> values(static_cast<std::size_t>(shape.elements()));
                      for (double& value : values) value = 200 * b.random_numbers().uniform() - 100;
                      b.typed(from, shape, values).out(to, shape).exact();
                    });
      }
    }
  }
}

void add_dropout(Recipes& recipes) {
  for (const Shape& shape : shapes(recipes)) {
    for (const double rate : {0.1, 0.5}) {
      const attn_dropout_params params{0, static_cast<std::uint32_t>(recipes.below(1000)), rate};
      recipes.add(ATTN_OP_DROPOUT, fmt::format("{} rate {}", shape, rate),
                  [=](Builder& b) { b.params(params).in(shape).random(rate).out(shape); });
    }
  }
  recipes.add(ATTN_OP_DROPOUT, "in place", [](Builder& b) {
    b.params(attn_dropout_params{0, 3, 0.3}).in({3, 17}).random(0.3).alias(0);
  });
  recipes.add(ATTN_OP_DROPOUT, "rate 0 without a counter", [](Builder& b) {
    b.params(attn_dropout_params{0, 3, 0.0}).in({3, 17}).absent().out({3, 17}).exact();
  });
}

}  // namespace

void add_elementwise_recipes(Recipes& recipes) {
  add_fill_and_cast(recipes);
  add_affine(recipes);
  add_unary(recipes);
  add_binary(recipes);
  add_select(recipes);
  add_dropout(recipes);
}

}  // namespace attn::conformance
