#include "masks.h"

namespace attn::conformance {
namespace {

struct Sizes {
  std::int64_t batch, heads, queries, keys;  // heads 0: no such axis
};

void add(Recipes& recipes, const Sizes& sizes, const MaskCase& mask, double range, bool in_place) {
  const auto [batch, heads, queries, keys] = sizes;
  const Shape shape = heads > 0 ? Shape{batch, heads, queries, keys} : Shape{batch, queries, keys};
  const attn_masked_softmax_params params{0, 0, mask.masking, mask.causal, mask.causal_offset};
  const std::string name = fmt::format("{} {}{}{}", shape, mask.name, range > 100 ? ", extreme values" : "",
                                       in_place ? ", in place" : "");
  recipes.add(ATTN_OP_MASKED_SOFTMAX, name, [=, b = batch, q = queries, k = keys](Builder& builder) {
    builder.params(params).in(shape, -range, range);
    mask.add_lengths(builder, b, q, k);
    if (in_place)
      builder.alias(0);
    else
      builder.out(shape);
  });
  if (in_place || range > 100) return;
  recipes.add(ATTN_OP_MASKED_SOFTMAX_GRADIENT, name, [=, b = batch, q = queries, k = keys](Builder& builder) {
    Builder forward = builder.forward(ATTN_OP_MASKED_SOFTMAX);
    forward.params(params).in(shape, -range, range);
    mask.add_lengths(forward, b, q, k);
    const auto lengths = forward.inputs().back();
    forward.out(shape);
    builder.params(params).given(forward.outputs()[0]).in(shape).given(lengths).out(shape);
  });
}

}  // namespace

void add_softmax_recipes(Recipes& recipes) {
  for (const MaskCase& mask : mask_cases()) {
    for (const Sizes& sizes : {Sizes{2, 0, 3, 5}, Sizes{2, 4, 3, 7}, Sizes{1, 0, 1, 1}, Sizes{0, 0, 3, 5},
                               Sizes{2, 0, 0, 4}, Sizes{2, 0, 3, 0}, Sizes{3, 2, 5, 33}}) {
      add(recipes, sizes, mask, 3, false);
    }
    add(recipes, {2, 3, 4, 17}, mask, 3, true);
    add(recipes, {2, 3, 4, 17}, mask, 1e4, false);
    if (!recipes.quick()) add(recipes, {2, 0, 3, 2051}, mask, 3, false);
    for (int i = 0; i < recipes.random_count() / 2; ++i) {
      add(recipes, {recipes.size(3), recipes.size(4), recipes.size(17), recipes.size(33)}, mask, 3, false);
    }
  }
}

}  // namespace attn::conformance
