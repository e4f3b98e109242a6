#include <cmath>

#include "case.h"

namespace attn::conformance {
namespace {

struct Layer {
  Shape x, gain;
  bool residual = false;
  double rate = 0;
  double shift = 0;  // all elements around this value

  Shape entries() const { return x.without_last(gain.rank()); }
  attn_layer_norm_params params() const { return {0, 0, 4, 0, 1e-5, rate}; }
  bool has_sum() const { return residual || rate > 0; }
  void inputs(Builder& b) const {
    b.params(params()).in(x, shift - 1, shift + 1).in(gain, 0.5, 1.5).in(gain);
    if (residual)
      b.in(x);
    else
      b.absent();
    b.random(rate);
  }
};

void add_layer(Recipes& recipes, const Layer& layer) {
  const std::string name =
      fmt::format("{} gain {}{}, dropout {}{}", layer.x, layer.gain, layer.residual ? ", residual" : "",
                  layer.rate, layer.shift != 0 ? ", around " + fmt::format("{}", layer.shift) : "");
  const auto forward = [=](Builder& b, bool sum) {
    layer.inputs(b);
    b.out(layer.x).out(layer.entries()).out(layer.entries());
    if (sum && layer.has_sum())
      b.out(layer.x);
    else
      b.no_output();
  };
  recipes.add(ATTN_OP_LAYER_NORM, name, [=](Builder& b) {
    forward(b, true);
    // a mean that is far from 0 leaves less of the precision to what is around it
    b.magnitude(1 + 3 * std::abs(layer.shift));
  });
  if (layer.shift != 0) return;
  if (layer.has_sum())
    recipes.add(ATTN_OP_LAYER_NORM, name + ", sum not wanted", [=](Builder& b) { forward(b, false); });
  for (const bool d_sum : {false, true}) {
    for (const auto& [wanted, accumulate] : {std::pair{15u, 0u}, {15u, 15u}, {1u, 0u}, {6u, 2u}}) {
      if (d_sum && wanted != 15u) continue;
      const std::uint32_t w = layer.residual ? wanted : wanted & 7u;
      recipes.add(
          ATTN_OP_LAYER_NORM_GRADIENT,
          fmt::format("{}{}, wanted {:#b}, added {:#b}", name, d_sum ? ", sum used" : "", w, accumulate),
          [=, a = accumulate](Builder& b) {
            Builder before = b.forward(ATTN_OP_LAYER_NORM);
            forward(before, true);
            const auto saved = before.outputs();
            b.params(layer.params());
            b.given(layer.has_sum() ? saved[3] : before.inputs()[0]).given(before.inputs()[1]);
            b.given(saved[1]).given(saved[2]).in(layer.x);
            if (d_sum)
              b.in(layer.x);
            else
              b.absent();
            b.given(before.inputs()[4]);
            b.gradient(layer.x, w, a).gradient(layer.gain, w, a).gradient(layer.gain, w, a);
            b.gradient(layer.x, w, a).magnitude(5);
          });
    }
  }
}

void add_batch(Recipes& recipes, std::int64_t rows, std::int64_t channels) {
  const Shape x{rows, channels}, c{channels};
  const attn_batch_norm_params params{0, 0, 1e-3};
  const auto forward = [=](Builder& b) {
    b.params(params).in(x, -2, 2).in(c, 0.5, 1.5).in(c).out(x).out(c).out(c);
  };
  const std::string name = fmt::format("{}", x);
  recipes.add(ATTN_OP_BATCH_NORM, name, forward);
  for (const auto& [wanted, accumulate] : {std::pair{7u, 0u}, {7u, 7u}, {1u, 0u}, {6u, 2u}}) {
    recipes.add(ATTN_OP_BATCH_NORM_GRADIENT,
                fmt::format("{}, wanted {:#b}, added {:#b}", name, wanted, accumulate),
                [=, w = wanted, a = accumulate](Builder& b) {
                  Builder before = b.forward(ATTN_OP_BATCH_NORM);
                  forward(before);
                  const auto saved = before.outputs();
                  b.params(params).given(before.inputs()[0]).given(before.inputs()[1]);
                  b.given(saved[1]).given(saved[2]).in(x);
                  b.gradient(x, w, a).gradient(c, w, a).gradient(c, w, a).magnitude(10);
                });
  }
}

}  // namespace

void add_norm_recipes(Recipes& recipes) {
  std::vector<std::pair<Shape, Shape>> shapes{{{2, 3, 6}, {6}}, {{2, 3, 5}, {3, 5}}, {{7}, {7}},
                                              {{0, 5}, {5}},    {{3, 4}, {4}},       {{2, 5, 65}, {65}}};
  if (!recipes.quick()) shapes.push_back({{3, 1027}, {1027}});
  for (int i = 0; i < recipes.random_count() / 2; ++i) {
    const Shape x = recipes.shape(2, 600).appended(3 + recipes.size(65));
    shapes.push_back({x, {x.back()}});
  }
  for (const auto& [x, gain] : shapes) {
    for (const bool residual : {false, true}) {
      for (const double rate : {0.0, 0.3}) add_layer(recipes, {x, gain, residual, rate, 0});
    }
  }
  add_layer(recipes, {{3, 64}, {64}, false, 0, 100});
  add_batch(recipes, 6, 4);
  add_batch(recipes, 2, 1);
  add_batch(recipes, 5, 0);
  add_batch(recipes, 33, 17);
  if (!recipes.quick()) add_batch(recipes, 1003, 5);
  for (int i = 0; i < recipes.random_count() / 2; ++i)
    add_batch(recipes, 1 + recipes.size(65), recipes.size(33));
}

}  // namespace attn::conformance
