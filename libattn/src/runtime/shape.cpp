#include "attn/runtime/shape.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "attn/core/error.h"

namespace attn {
namespace {

void require_size(std::int64_t size) {
  if (size < 0) fail(ExitCode::internal, "a dimension of {} is negative", size);
}

}  // namespace

Shape::Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const std::int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  if (dims.size() > ATTN_MAX_RANK) {
    fail(ExitCode::internal, "a tensor has {} dimensions, at most {} are possible", dims.size(),
         ATTN_MAX_RANK);
  }
  for (const std::int64_t size : dims) require_size(size);
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

std::int64_t Shape::elements() const noexcept {
  return leading(0);
}

std::int64_t Shape::leading(int trailing) const noexcept {
  std::int64_t product = 1;
  for (int axis = 0; axis < rank_ - trailing; ++axis) product *= dims_[static_cast<std::size_t>(axis)];
  return product;
}

Shape Shape::with(int axis, std::int64_t size) const {
  require_size(size);
  Shape result = *this;
  result.dims_[static_cast<std::size_t>(checked_axis(axis))] = size;
  return result;
}

Shape Shape::without_last(int count) const {
  return Shape(dims().first(static_cast<std::size_t>(std::max(0, rank_ - count))));
}

Shape Shape::appended(std::int64_t size) const {
  require_size(size);
  if (rank_ == ATTN_MAX_RANK) fail(ExitCode::internal, "{} cannot have a further axis", to_string());
  Shape result = *this;
  result.dims_[static_cast<std::size_t>(result.rank_++)] = size;
  return result;
}

void Shape::throw_bad_axis(int axis) const {
  fail(ExitCode::internal, "axis {} does not exist in a tensor of shape {}", axis, to_string());
}

std::string Shape::to_string() const {
  return fmt::format("[{}]", fmt::join(dims(), ", "));
}

Shape broadcast(const char* what, const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  Shape result = longer;
  for (int back = 1; back <= longer.rank(); ++back) {
    const std::int64_t of_a = back <= a.rank() ? a[-back] : 1;
    const std::int64_t of_b = back <= b.rank() ? b[-back] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      fail(ExitCode::internal, "{}: {} and {} do not broadcast", what, a.to_string(), b.to_string());
    }
    result = result.with(-back, of_a == 1 ? of_b : of_a);
  }
  return result;
}

}  // namespace attn
