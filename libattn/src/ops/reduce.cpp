#include "internal.h"

namespace attn::ops {
namespace {

Tensor reduce(const Tensor& x, attn_reduce_function function, std::span<const int> axes, bool keep_axes) {
  require_float("reduce", "x", x);
  std::uint32_t mask = 0;
  for (const int axis : axes) mask |= 1u << static_cast<unsigned>(x.shape().checked_axis(axis));
  std::array<std::int64_t, ATTN_MAX_RANK> dims{};
  std::size_t rank = 0;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool reduced = ((mask >> static_cast<unsigned>(axis)) & 1u) != 0;
    if (!reduced)
      dims[rank++] = x.size(axis);
    else if (keep_axes)
      dims[rank++] = 1;
  }
  const Tensor target(x.shared_device(), Shape(std::span<const std::int64_t>(dims).first(rank)), x.dtype());
  return apply_to(reduce_operation, target, {x}, attn_reduce_params{0, function, mask, 0});
}

Shape with_reduced_axes_kept(const Shape& shape, std::uint32_t axes) {
  Shape result = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (((axes >> static_cast<unsigned>(axis)) & 1u) != 0) result = result.with(axis, 1);
  }
  return result;
}

}  // namespace

// sum: dx = dy;  mean: dx = dy / count, both broadcast back over the reduced axes.
const Operation reduce_operation{
    .kind = ATTN_OP_REDUCE,
    .name = "reduce",
    .gradient =
        [](Gradient& g) {
          const auto& params = g.params<attn_reduce_params>();
          const Tensor x = g.input(0);
          const Tensor dy = g.of(0).reshaped(with_reduced_axes_kept(x.shape(), params.axes));
          const bool is_mean = params.function == ATTN_REDUCE_MEAN;
          const double count = dy.elements() == 0 ? 1.0 : as_double(x.elements()) / as_double(dy.elements());
          g.add(0, add(full(x, x.shape(), 0.0), is_mean ? affine(dy, 1.0 / count, 0.0) : dy));
        },
    .flops = [](const Call& call, const TensorSpecs&) { return as_double(call.input(0).elements()); },
};

Tensor sum(const Tensor& x, std::span<const int> axes, bool keep_axes) {
  return reduce(x, ATTN_REDUCE_SUM, axes, keep_axes);
}
Tensor mean(const Tensor& x, std::span<const int> axes, bool keep_axes) {
  return reduce(x, ATTN_REDUCE_MEAN, axes, keep_axes);
}
Tensor max(const Tensor& x, std::span<const int> axes, bool keep_axes) {
  return reduce(x.detached(), ATTN_REDUCE_MAX, axes, keep_axes);
}

Tensor sum(const Tensor& x) {
  const std::array<int, 1> all{0};
  return sum(x.reshaped({x.elements()}), all);
}

void sum_into(const Into& into, const Tensor& x, std::span<const int> axes) {
  if (!into.wanted) return;
  std::uint32_t mask = 0;
  for (const int axis : axes) mask |= 1u << static_cast<unsigned>(x.shape().checked_axis(axis));
  apply_to(reduce_operation, into.target, {x},
           attn_reduce_params{0, ATTN_REDUCE_SUM, mask, into.accumulate ? 1 : 0});
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  std::array<int, ATTN_MAX_RANK> axes{};
  std::size_t count = 0;
  for (int back = 1; back <= x.rank(); ++back) {
    if (back > shape.rank() || (shape[-back] == 1 && x.size(-back) != 1)) axes[count++] = -back;
  }
  return sum(x, std::span<const int>(axes).first(count)).reshaped(shape);
}

}  // namespace attn::ops
