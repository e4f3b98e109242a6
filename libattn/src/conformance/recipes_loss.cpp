#include "case.h"

namespace attn::conformance {
namespace {

struct Loss {
  std::int64_t tokens, classes;
  attn_cross_entropy_params params;
  double range = 2;
  bool padding = true;  // a third of the labels are below 0
};

void add(Recipes& recipes, const Loss& loss) {
  const Shape logits{loss.tokens, loss.classes}, n{loss.tokens};
  const std::string name = fmt::format(
      "{} smoothing {} of kind {}, excluded {}, range {}{}", logits, loss.params.smoothing,
      loss.params.smoothing_kind, loss.params.excluded_class, loss.range, loss.padding ? "" : ", no padding");
  const auto forward = [=](Builder& b) {
    std::vector<double> labels(static_cast<std::size_t>(loss.tokens));
    for (double& label : labels) {
      label = static_cast<double>(b.random_numbers().below(static_cast<std::uint64_t>(loss.classes)));
      // the excluded class is the padding, which is no token's label
      if (static_cast<std::int32_t>(label) == loss.params.excluded_class) label = label > 0 ? 0 : 1;
      if (loss.padding && b.random_numbers().below(3) == 0)
        label = b.random_numbers().below(2) == 0 ? -1 : -100;
    }
    b.params(loss.params).in(logits, -loss.range, loss.range).integers(n, labels).out(n).out(n);
  };
  recipes.add(ATTN_OP_CROSS_ENTROPY, name, [=](Builder& b) {
    forward(b);
    b.magnitude(loss.range + 4);
  });
  if (loss.range > 100) return;
  for (const std::uint32_t accumulate : {0u, 1u}) {
    recipes.add(
        ATTN_OP_CROSS_ENTROPY_GRADIENT, fmt::format("{}, added {}", name, accumulate), [=](Builder& b) {
          Builder before = b.forward(ATTN_OP_CROSS_ENTROPY);
          forward(before);
          const auto saved = before.outputs();
          b.params(loss.params).given(before.inputs()[0]).given(before.inputs()[1]).given(saved[1]).in(n);
          b.gradient(logits, 1u, accumulate);
        });
  }
}

}  // namespace

void add_loss_recipes(Recipes& recipes) {
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes{{5, 7}, {1, 2}, {0, 4}, {4, 65}};
  if (!recipes.quick()) sizes.insert(sizes.end(), {{3, 5003}, {300, 33}});
  for (int i = 0; i < recipes.random_count() / 2; ++i)
    sizes.emplace_back(recipes.size(65), 2 + recipes.size(129));
  for (const auto& [tokens, classes] : sizes) {
    for (const attn_cross_entropy_params& params :
         {attn_cross_entropy_params{0, 0, ATTN_SMOOTH_UNIFORM, -1, 0.0},
          attn_cross_entropy_params{0, 0, ATTN_SMOOTH_UNIFORM, -1, 0.1},
          attn_cross_entropy_params{0, 0, ATTN_SMOOTH_OTHERS, 0, 0.1},
          attn_cross_entropy_params{0, 0, ATTN_SMOOTH_OTHERS, -1, 0.2},
          attn_cross_entropy_params{0, 0, ATTN_SMOOTH_OTHERS, 0, 0.0}}) {
      if (params.smoothing_kind == ATTN_SMOOTH_OTHERS && classes <= 2) continue;
      for (const bool padding : {true, false}) add(recipes, {tokens, classes, params, 2, padding});
      add(recipes, {tokens, classes, params, 1000, true});
    }
  }
}

}  // namespace attn::conformance
