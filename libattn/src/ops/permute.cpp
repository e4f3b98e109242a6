#include "internal.h"

namespace attn::ops {

// Axis i of y is axis axes[i] of x;  dx is dy with the inverse permutation.
const Operation permute_operation{
    .kind = ATTN_OP_PERMUTE,
    .name = "permute",
    .shapes =
        [](const Call& call) {
          const Tensor& x = call.input(0);
          const auto& axes = call.params.as<attn_permute_params>().axes;
          Shape shape = x.shape();
          for (int i = 0; i < x.rank(); ++i) shape = shape.with(i, x.size(axes[i]));
          return TensorSpecs{{shape, x.dtype()}};
        },
    .gradient =
        [](Gradient& g) {
          const auto& axes = g.params<attn_permute_params>().axes;
          std::array<int, ATTN_MAX_RANK> inverse{};
          const int rank = g.input(0).rank();
          for (int i = 0; i < rank; ++i) inverse[static_cast<std::size_t>(axes[i])] = i;
          g.add(0, permute(g.of(0), std::span(inverse).first(static_cast<std::size_t>(rank))));
        },
};

Tensor permute(const Tensor& x, std::span<const int> axes) {
  require(static_cast<int>(axes.size()) == x.rank(), "permute: {} axes for x {}", axes.size(), x.shape());
  attn_permute_params params{};
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    params.axes[i] = x.shape().checked_axis(axes[i]);
    seen |= 1u << static_cast<unsigned>(params.axes[i]);
  }
  require(seen == (1u << axes.size()) - 1u, "permute: an axis of x {} is named twice", x.shape());
  return apply_one(permute_operation, {x}, params);
}

Tensor swap_axes(const Tensor& x, int a, int b) {
  std::array<int, ATTN_MAX_RANK> axes{};
  for (int i = 0; i < x.rank(); ++i) axes[static_cast<std::size_t>(i)] = i;
  std::swap(axes[static_cast<std::size_t>(x.shape().checked_axis(a))],
            axes[static_cast<std::size_t>(x.shape().checked_axis(b))]);
  return permute(x, std::span(axes).first(static_cast<std::size_t>(x.rank())));
}

}  // namespace attn::ops
