#include "internal.h"

namespace attn::ops {
namespace {

// scale = min(1, max_norm / (norm + epsilon))
Tensors clip_decomposed(const Call& call, std::span<const Into> into) {
  const auto& params = call.params.as<attn_clip_params>();
  const Tensor norm = affine(sqrt(call.input(0)), 1.0, params.epsilon);
  const Tensor scale = minimum(affine(reciprocal(norm), params.max_norm, 0.0), full(norm, {}, 1.0));
  Tensors results;
  for (const Into& target : into) results.push_back(multiply(target.target.detached(), scale));
  return results;
}

}  // namespace

const Operation clip_by_norm_operation{
    .kind = ATTN_OP_CLIP_BY_NORM,
    .name = "clip_by_norm",
    .flops =
        [](const Call&, const TensorSpecs& out) {
          double elements = 0;
          for (std::size_t i = 0; i < out.size(); ++i) elements += elements_of(out, i);
          return elements;
        },
    .decomposition = clip_decomposed,
    .in_out = 0x7FFFu,
};

void clip_by_norm(std::span<const Tensor> tensors, const Tensor& squared_norm, double max_norm,
                  double epsilon) {
  require(!tensors.empty() && tensors.size() < ATTN_MAX_TENSORS, "clip_by_norm: {} tensors, expected 1 to {}",
          tensors.size(), ATTN_MAX_TENSORS - 1);
  StaticVector<Into, ATTN_MAX_TENSORS> targets;
  for (const Tensor& tensor : tensors) targets.push_back({tensor});
  apply_operation(
      Call{
          &clip_by_norm_operation, {squared_norm.detached()}, attn_clip_params{0, 0, max_norm, epsilon}, ~0u},
      {targets.data(), targets.size()});
}

}  // namespace attn::ops
