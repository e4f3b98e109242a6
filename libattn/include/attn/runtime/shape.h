#pragma once
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "attn/backend_abi.h"

namespace attn {

/// The dimensions of a dense, row-major tensor; rank 0 is a scalar, a dimension of 0 is legal.
class Shape {
 public:
  Shape() = default;
  /// Throws Error(internal) above ATTN_MAX_RANK dimensions, and for a negative one, as everything that makes
  /// a shape.
  Shape(std::initializer_list<std::int64_t> dims);
  explicit Shape(std::span<const std::int64_t> dims);

  int rank() const noexcept { return rank_; }
  /// Counts from the end if negative, as in Python. Throws Error(internal) for an axis that does not exist.
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(checked_axis(axis))]; }
  std::int64_t back() const { return (*this)[-1]; }
  std::span<const std::int64_t> dims() const noexcept {
    return {dims_.data(), static_cast<std::size_t>(rank_)};
  }

  std::int64_t elements() const noexcept;
  /// The product of all dimensions but the last `trailing` ones.
  std::int64_t leading(int trailing = 1) const noexcept;

  /// This shape with one axis of another size.
  Shape with(int axis, std::int64_t size) const;
  /// This shape without its last `count` axes.
  Shape without_last(int count = 1) const;
  /// This shape with a further last axis.
  Shape appended(std::int64_t size) const;
  /// The axis counted from the front. Throws Error(internal) for an axis that does not exist.
  int checked_axis(int axis) const {
    const int positive = axis < 0 ? axis + rank_ : axis;
    if (positive < 0 || positive >= rank_) throw_bad_axis(axis);
    return positive;
  }

  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (int axis = 0; axis < a.rank_; ++axis) {
      if (a.dims_[static_cast<std::size_t>(axis)] != b.dims_[static_cast<std::size_t>(axis)]) return false;
    }
    return true;
  }

  /// "[2, 4, 100]"
  std::string to_string() const;

 private:
  [[noreturn]] void throw_bad_axis(int axis) const;

  std::array<std::int64_t, ATTN_MAX_RANK> dims_{};
  int rank_ = 0;
};

/// The shape that two broadcast operands give, by NumPy's rule; `what` names the operation in the error.
Shape broadcast(const char* what, const Shape& a, const Shape& b);

}  // namespace attn

template<>
struct fmt::formatter<attn::Shape> : fmt::formatter<std::string> {
  template<typename Context>
  auto format(const attn::Shape& shape, Context& context) const {
    return fmt::formatter<std::string>::format(shape.to_string(), context);
  }
};
