#include <cmath>

#include "case.h"

namespace attn::conformance {
namespace {

void add(Recipes& recipes, const Shape& x, std::int64_t outputs) {
  const char* names[] = {"none", "relu", "tanh", "sigmoid"};
  const std::int64_t inputs = x.back();
  const Shape weight{outputs, inputs}, y = x.without_last().appended(outputs);
  const double size =
      std::sqrt(static_cast<double>(std::max<std::int64_t>(1, std::max(inputs, x.leading()))));
  for (std::int32_t activation = 0; activation <= ATTN_ACTIVATION_SIGMOID; ++activation) {
    const attn_linear_params params{0, 0, activation, 0};
    for (const bool bias : {true, false}) {
      const auto forward = [=](Builder& b) {
        b.params(params).in(x).in(weight);
        if (bias)
          b.in({outputs});
        else
          b.absent();
        b.out(y);
      };
      const std::string name =
          fmt::format("{} to {} {}{}", x, outputs, names[activation], bias ? "" : ", no bias");
      recipes.add(ATTN_OP_LINEAR, name, [=](Builder& b) {
        forward(b);
        b.magnitude(size);
      });
      for (const auto& [wanted, accumulate] : {std::pair{7u, 0u}, {7u, 7u}, {1u, 1u}, {2u, 0u}, {6u, 4u}}) {
        if (!bias && wanted != 7u) continue;
        recipes.add(
            ATTN_OP_LINEAR_GRADIENT, fmt::format("{}, wanted {:#b}, added {:#b}", name, wanted, accumulate),
            [=, w = wanted, a = accumulate](Builder& b) {
              Builder before = b.forward(ATTN_OP_LINEAR);
              forward(before);
              b.params(params).given(before.inputs()[0]).given(before.inputs()[1]);
              if (activation != ATTN_ACTIVATION_NONE)
                b.given(before.outputs()[0]);
              else
                b.absent();
              b.in(y).gradient(x, w, a).gradient(weight, w, a).gradient({outputs}, w, a).magnitude(size);
            });
      }
    }
  }
}

}  // namespace

void add_linear_recipes(Recipes& recipes) {
  add(recipes, {3, 5}, 4);
  add(recipes, {5}, 1);
  add(recipes, {1, 1}, 1);
  add(recipes, {0, 5}, 4);
  add(recipes, {3, 0}, 4);
  add(recipes, {2, 3, 17}, 33);
  if (!recipes.quick()) {
    add(recipes, {2, 65, 129}, 67);
    add(recipes, {1, 1000}, 7);
    add(recipes, {700, 3}, 9);
  }
  for (int i = 0; i < recipes.random_count() / 2; ++i) add(recipes, recipes.shape(2, 1500), recipes.size(65));
}

}  // namespace attn::conformance
