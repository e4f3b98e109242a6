#include <fmt/ranges.h>

#include "internal.h"

namespace attn::ops {
namespace {

void check_range(const char* operation, const Shape& whole, std::span<const std::int64_t> start,
                 const Shape& size) {
  bool fits = whole.rank() == size.rank() && static_cast<int>(start.size()) == size.rank();
  for (int axis = 0; fits && axis < size.rank(); ++axis) {
    const std::int64_t from = start[static_cast<std::size_t>(axis)];
    fits = from >= 0 && from <= whole[axis] && size[axis] <= whole[axis] - from;
  }
  require(fits, "{}: a part of shape {} at [{}] leaves a tensor of shape {}", operation, size,
          fmt::join(start, ", "), whole);
}

attn_slice_params params_of(std::span<const std::int64_t> start) {
  attn_slice_params params{};
  std::copy(start.begin(), start.end(), params.start);
  return params;
}

}  // namespace

// y = x[start : start + size];  dx[start : start + size] += dy
const Operation slice_operation{
    .kind = ATTN_OP_SLICE,
    .name = "slice",
    .gradient =
        [](Gradient& g) {
          const Into into = g.into(0);
          if (!into.wanted) return;
          if (!into.accumulate) fill(into.target, 0.0);
          const auto& start = g.params<attn_slice_params>().start;
          slice_add(into.target, g.of(0),
                    std::span(start).first(static_cast<std::size_t>(g.input(0).rank())));
        },
};

// target[start : start + size] += x, in place.
const Operation slice_add_operation{
    .kind = ATTN_OP_SLICE_ADD,
    .name = "slice_add",
    .flops = [](const Call& call, const TensorSpecs&) { return as_double(call.input(0).elements()); },
    .in_out = 1u,
};

Tensor slice(const Tensor& x, std::span<const std::int64_t> start, const Shape& size) {
  check_range("slice", x.shape(), start, size);
  return apply_to(slice_operation, Tensor(x.shared_device(), size, x.dtype()), {x}, params_of(start));
}

Tensor slice_axis(const Tensor& x, int axis, std::int64_t from, std::int64_t count) {
  std::array<std::int64_t, ATTN_MAX_RANK> start{};
  start[static_cast<std::size_t>(x.shape().checked_axis(axis))] = from;
  return slice(x, std::span<const std::int64_t>(start).first(static_cast<std::size_t>(x.rank())),
               x.shape().with(axis, count));
}

void slice_add(const Tensor& target, const Tensor& x, std::span<const std::int64_t> start) {
  check_range("slice_add", target.shape(), start, x.shape());
  apply_to(slice_add_operation, target, {x}, params_of(start));
}

}  // namespace attn::ops
