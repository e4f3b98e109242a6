#include "case.h"

namespace attn::conformance {
namespace {

void add_adam(Recipes& recipes, const Shape& shape, double decay, bool decoupled) {
  recipes.add(ATTN_OP_ADAM, fmt::format("{} decay {}{}", shape, decay, decoupled ? ", decoupled" : ""),
              [=](Builder& b) {
                b.params(attn_adam_params{0, decoupled ? 1 : 0, 0.9, 0.999, 1e-8, decay}).in(shape);
                b.in({4}, {0.01, 0.19, 0.002, 0.5}).in_out(shape).in_out(shape).in_out(shape, 0, 1);
              });
}

void add_sgd(Recipes& recipes, const Shape& shape, double momentum, double decay) {
  recipes.add(ATTN_OP_SGD, fmt::format("{} momentum {} decay {}", shape, momentum, decay), [=](Builder& b) {
    b.params(attn_sgd_params{0, 0, momentum, decay}).in(shape).in({4}, {0.1, 1, 1, 0.5}).in_out(shape);
    if (momentum > 0)
      b.in_out(shape);
    else
      b.no_output();
  });
}

void add_clip(Recipes& recipes, int count, double squared, double max_norm, double epsilon) {
  recipes.add(
      ATTN_OP_CLIP_BY_NORM,
      fmt::format("{} tensors, squared norm {}, at most {}, epsilon {}", count, squared, max_norm, epsilon),
      [=](Builder& b) {
        b.params(attn_clip_params{0, 0, max_norm, epsilon}).in(Shape{}, std::vector<double>{squared});
        for (int i = 0; i < count; ++i) b.in_out({3 + i, i % 4 + 1});
      });
}

}  // namespace

void add_optimizer_recipes(Recipes& recipes) {
  for (const Shape& shape : {Shape{1}, Shape{0}, Shape{7}, Shape{1027}}) {
    for (const double decay : {0.0, 0.1}) {
      for (const bool decoupled : {false, true}) add_adam(recipes, shape, decay, decoupled);
      for (const double momentum : {0.0, 0.9}) add_sgd(recipes, shape, momentum, decay);
    }
  }
  for (const int count : {1, 2, 15}) {
    for (const double squared : {0.0, 2.25, 9.0, 1e4}) {
      for (const double epsilon : {0.0, 1e-6}) add_clip(recipes, count, squared, 2.0, epsilon);
    }
  }
}

}  // namespace attn::conformance
