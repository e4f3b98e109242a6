#include "internal.h"

namespace attn::ops {

// The sum of the squares of all elements of all inputs.
const Operation squared_norm_operation{
    .kind = ATTN_OP_SQUARED_NORM,
    .name = "squared_norm",
    .shapes =
        [](const Call& call) {
          return TensorSpecs{{Shape{}, call.input(0).dtype()}};
        },
    .flops =
        [](const Call& call, const TensorSpecs&) {
          double elements = 0;
          for (const Tensor& x : call.inputs) elements += as_double(x.elements());
          return 2 * elements;
        },
};

Tensor squared_norm(std::span<const Tensor> tensors) {
  require(!tensors.empty() && tensors.size() < ATTN_MAX_TENSORS, "squared_norm: {} tensors, expected 1 to {}",
          tensors.size(), ATTN_MAX_TENSORS - 1);
  Tensors inputs;
  for (const Tensor& tensor : tensors) inputs.push_back(tensor.detached());
  return apply_one(squared_norm_operation, std::move(inputs));
}

}  // namespace attn::ops
