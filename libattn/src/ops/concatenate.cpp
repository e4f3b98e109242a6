#include <algorithm>
#include <vector>

#include "internal.h"

namespace attn::ops {

// The inputs one after another along an axis; each gets its part of the gradient.
const Operation concatenate_operation{
    .kind = ATTN_OP_CONCATENATE,
    .name = "concatenate",
    .shapes =
        [](const Call& call) {
          const int axis = call.params.as<attn_concatenate_params>().axis;
          const Tensor& first = call.input(0);
          std::int64_t size = 0;
          for (const Tensor& part : call.inputs) {
            require(part.rank() == first.rank() &&
                        part.shape().with(axis, 0) == first.shape().with(axis, 0) &&
                        part.dtype() == first.dtype(),
                    "concatenate: a part is {} {}, expected {} {} but for axis {}", name_of(part.dtype()),
                    part.shape(), name_of(first.dtype()), first.shape(), axis);
            size += part.size(axis);
          }
          return TensorSpecs{{first.shape().with(axis, size), first.dtype()}};
        },
    .gradient =
        [](Gradient& g) {
          const int axis = g.params<attn_concatenate_params>().axis;
          const Tensor dy = g.of(0);
          std::int64_t start = 0, total = dy.size(axis);
          for (std::size_t i = 0; start < total; ++i) {
            const Tensor part = g.input(i);
            if (g.needs(i)) g.add(i, slice_axis(dy, axis, start, part.size(axis)));
            start += part.size(axis);
          }
        },
};

Tensor concatenate(std::span<const Tensor> tensors, int axis) {
  require(!tensors.empty() && tensors.size() < ATTN_MAX_TENSORS, "concatenate: {} tensors, expected 1 to {}",
          tensors.size(), ATTN_MAX_TENSORS - 1);
  Tensors inputs;
  for (const Tensor& tensor : tensors) inputs.push_back(tensor);
  return apply_one(concatenate_operation, std::move(inputs),
                   attn_concatenate_params{0, tensors[0].shape().checked_axis(axis)});
}

Tensor concatenate_all(std::span<const Tensor> tensors, int axis) {
  constexpr std::size_t most = ATTN_MAX_TENSORS - 1;
  if (tensors.size() <= most) return concatenate(tensors, axis);
  std::vector<Tensor> groups;
  for (std::size_t start = 0; start < tensors.size(); start += most) {
    groups.push_back(concatenate(tensors.subspan(start, std::min(most, tensors.size() - start)), axis));
  }
  return concatenate_all(groups, axis);
}

}  // namespace attn::ops
