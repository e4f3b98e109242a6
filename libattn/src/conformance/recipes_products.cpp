// Matrix products and reductions.
#include <cmath>
#include <limits>

#include "case.h"

namespace attn::conformance {
namespace {

struct Product {
  Shape batch_a, batch_b, batch;
  std::int64_t m, n, k;
};

void add_matmul(Recipes& recipes, const Product& p, double alpha, double beta) {
  for (const std::int32_t ta : {0, 1}) {
    for (const std::int32_t tb : {0, 1}) {
      const Shape a = ta != 0 ? p.batch_a.appended(p.k).appended(p.m) : p.batch_a.appended(p.m).appended(p.k);
      const Shape b = tb != 0 ? p.batch_b.appended(p.n).appended(p.k) : p.batch_b.appended(p.k).appended(p.n);
      const Shape y = p.batch.appended(p.m).appended(p.n);
      const double size = std::sqrt(static_cast<double>(p.k));
      recipes.add(ATTN_OP_MATMUL,
                  fmt::format("{}{} {}{} alpha {} beta {}", a, ta != 0 ? "^T" : "", b, tb != 0 ? "^T" : "",
                              alpha, beta),
                  [=](Builder& builder) {
                    builder.params(attn_matmul_params{0, ta, tb, 0, alpha, beta}).in(a).in(b);
                    if (beta != 0)
                      builder.in_out(y);
                    else
                      builder.out(y);
                    builder.magnitude(size);
                  });
    }
  }
}

void add_products(Recipes& recipes) {
  add_matmul(recipes, {{}, {}, {}, 3, 4, 5}, 1, 0);
  add_matmul(recipes, {{}, {}, {}, 1, 1, 1}, -0.5, 0);
  add_matmul(recipes, {{}, {}, {}, 3, 4, 0}, 1, 0);  // a sum of nothing
  add_matmul(recipes, {{}, {}, {}, 3, 4, 0}, 1, 0.5);
  add_matmul(recipes, {{}, {}, {}, 0, 4, 3}, 1, 0);
  add_matmul(recipes, {{}, {}, {}, 3, 0, 4}, 1, 1);
  add_matmul(recipes, {{0}, {0}, {0}, 3, 2, 4}, 1, 0);
  add_matmul(recipes, {{3}, {3}, {3}, 5, 7, 9}, 0.25, 1);
  add_matmul(recipes, {{2, 3}, {2, 3}, {2, 3}, 4, 17, 1}, 1, -2);
  add_matmul(recipes, {{}, {3}, {3}, 5, 2, 4}, 2, 0);
  add_matmul(recipes, {{2, 2}, {}, {2, 2}, 3, 33, 5}, 0.5, 0);
  add_matmul(recipes, {{}, {}, {}, 1, 65, 300}, 1, 0);
  if (!recipes.quick()) {
    add_matmul(recipes, {{}, {}, {}, 7, 13, 5000}, 1, 1);
    add_matmul(recipes, {{}, {}, {}, 129, 65, 67}, 1, 0);
    add_matmul(recipes, {{8}, {8}, {8}, 33, 33, 65}, 0.125, 0);
  }
  for (int i = 0; i < recipes.random_count(); ++i) {
    const Shape batch = recipes.below(2) == 0 ? Shape{} : Shape{recipes.size(5)};
    const std::int64_t most = recipes.quick() ? 33 : 129;
    add_matmul(recipes, {batch, batch, batch, recipes.size(most), recipes.size(most), recipes.size(most)}, 1,
               static_cast<double>(recipes.below(2)));
  }
  recipes.add(ATTN_OP_MATMUL, "extreme values", [](Builder& b) {
    b.params(attn_matmul_params{0, 0, 0, 0, 1, 0})
        .in({5, 9}, -1e4, 1e4)
        .in({9, 7}, -1e4, 1e4)
        .out({5, 7})
        .magnitude(3e8);
  });
  recipes.add(ATTN_OP_MATMUL, "beta 0 does not read what is there", [](Builder& b) {
    b.params(attn_matmul_params{0, 0, 1, 0, 1, 0}).in({9, 9}).in({9, 9}).out({9, 9});
  });
}

Shape without(const Shape& shape, std::uint32_t axes, bool keep) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool reduced = ((axes >> static_cast<unsigned>(axis)) & 1u) != 0;
    if (!reduced || keep) result = result.appended(reduced ? 1 : shape[axis]);
  }
  return result;
}

void add_reduce(Recipes& recipes, const Shape& shape, std::uint32_t axes, bool keep) {
  const char* names[] = {"sum", "mean", "max"};
  const Shape y = without(shape, axes, keep);
  const double size = std::sqrt(static_cast<double>(shape.elements()) /
                                static_cast<double>(std::max<std::int64_t>(1, y.elements())));
  for (std::int32_t function = 0; function <= ATTN_REDUCE_MAX; ++function) {
    for (const std::int32_t accumulate : {0, 1}) {
      if (accumulate != 0 && function != ATTN_REDUCE_SUM) continue;
      recipes.add(ATTN_OP_REDUCE,
                  fmt::format("{} of {} over axes {:#b}{}{}", names[function], shape, axes,
                              keep ? ", kept" : "", accumulate != 0 ? ", added" : ""),
                  [=](Builder& b) {
                    b.params(attn_reduce_params{0, function, axes, accumulate}).in(shape);
                    if (accumulate != 0)
                      b.in_out(y);
                    else
                      b.out(y);
                    if (function == ATTN_REDUCE_SUM) b.magnitude(size);
                    if (function == ATTN_REDUCE_MAX) b.exact();
                  });
    }
  }
}

void add_reductions(Recipes& recipes) {
  for (const bool keep : {false, true}) {
    add_reduce(recipes, {3, 5}, 0b10, keep);
    add_reduce(recipes, {3, 5}, 0b01, keep);
    add_reduce(recipes, {2, 3, 4}, 0b101, keep);
    add_reduce(recipes, {2, 3, 1, 2, 2, 3}, 0b101010, keep);
    add_reduce(recipes, {2, 3}, 0b11, keep);
    add_reduce(recipes, {2, 3}, 0, keep);
    add_reduce(recipes, {3, 0}, 0b10, keep);
    add_reduce(recipes, {0, 3}, 0b10, keep);
  }
  add_reduce(recipes, {}, 0, false);
  add_reduce(recipes, {257}, 1, false);
  if (!recipes.quick()) {
    add_reduce(recipes, {50001}, 1, false);
    add_reduce(recipes, {3001, 7}, 1, false);
    add_reduce(recipes, {5, 3001}, 2, false);
  }
  for (int i = 0; i < recipes.random_count(); ++i) {
    add_reduce(recipes, recipes.shape(3, 4000), static_cast<std::uint32_t>(recipes.below(8)),
               recipes.below(2) != 0);
  }
}

void add_log_sum_exp(Recipes& recipes) {
  for (const Shape& shape :
       {Shape{7}, Shape{3, 1}, Shape{0, 5}, Shape{3, 0}, Shape{2, 3, 65}, Shape{4, 1001}}) {
    recipes.add(ATTN_OP_LOG_SUM_EXP, fmt::format("{}", shape),
                [=](Builder& b) { b.in(shape, -4, 4).out(shape.without_last()); });
    recipes.add(ATTN_OP_LOG_SUM_EXP, fmt::format("extreme values {}", shape),
                [=](Builder& b) { b.in(shape, -1e4, 1e4).out(shape.without_last()); });
  }
}

void add_norm(Recipes& recipes) {
  for (const int count : {1, 2, 15}) {
    recipes.add(ATTN_OP_SQUARED_NORM, fmt::format("of {} tensors", count), [=](Builder& b) {
      for (int i = 0; i < count; ++i) b.in({i % 4, 3 + i});
      b.out(Shape{});
    });
  }
  recipes.add(ATTN_OP_SQUARED_NORM, "of a scalar", [](Builder& b) { b.in(Shape{}).out(Shape{}); });
  recipes.add(ATTN_OP_SQUARED_NORM, "long", [](Builder& b) { b.in({20011}).in({3}).out(Shape{}); });
}

void add_order(Recipes& recipes, const Shape& shape, std::int64_t k, double levels) {
  // few different values, so that there are ties
  const auto fill = [=](Builder& b) {
    std::vector<double> values(static_cast<std::size_t>(shape.elements()));
    for (double& value : values) value = std::floor(levels * b.random_numbers().uniform()) - 2;
    b.in(shape, values);
  };
  recipes.add(ATTN_OP_ARGMAX, fmt::format("{}, {} values", shape, levels), [=](Builder& b) {
    fill(b);
    b.out(DType::i32, shape.without_last()).exact();
  });
  const Shape y = shape.without_last().appended(k);
  recipes.add(ATTN_OP_TOP_K, fmt::format("{} of {}, {} values", k, shape, levels), [=](Builder& b) {
    fill(b);
    b.out(y).out(DType::i32, y).exact();
  });
}

void add_orders(Recipes& recipes) {
  add_order(recipes, {7}, 3, 1000);
  add_order(recipes, {3, 5}, 5, 2);
  add_order(recipes, {4, 1}, 1, 2);
  add_order(recipes, {0, 3}, 2, 2);
  add_order(recipes, {2, 3, 33}, 4, 5);
  add_order(recipes, {5, 1003}, 7, 50);
  add_order(recipes, {2, 517}, 300, 1e6);
  for (int i = 0; i < recipes.random_count(); ++i) {
    const Shape shape = recipes.shape(2, 3000);
    add_order(recipes, shape, 1 + recipes.below(shape.back()), 20);
  }
  recipes.add(ATTN_OP_ARGMAX, "with infinities", [](Builder& b) {
    const double infinity = std::numeric_limits<double>::infinity();
    b.in({2, 3}, {-infinity, -infinity, -infinity, 1, infinity, 2}).out(DType::i32, {2}).exact();
  });
}

}  // namespace

void add_product_recipes(Recipes& recipes) {
  add_products(recipes);
  add_reductions(recipes);
  add_log_sum_exp(recipes);
  add_norm(recipes);
  add_orders(recipes);
}

}  // namespace attn::conformance
