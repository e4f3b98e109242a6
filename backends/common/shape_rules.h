#pragma once
// The vocabulary in which shape_check_primitives.h and shape_check_fused.h state what a descriptor must be.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "op_view.h"

namespace attn::backend {

/// Says why a descriptor is invalid; never leaves check_shape().
class MalformedOp : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace rules {

inline void require(bool holds, const char* why_not) {
  if (!holds) throw MalformedOp(why_not);
}
/// `why_not` makes the message: a valid descriptor, which is checked before every run, does not pay for it.
template<typename WhyNot>
auto require(bool holds, WhyNot why_not) -> decltype(why_not(), void()) {
  if (!holds) throw MalformedOp(why_not());
}

inline std::string position(const OpView& op, const attn_tensor& tensor) {
  const auto index = &tensor - &op.input(0);
  return index < op.input_count() ? message("input %d", static_cast<int>(index))
                                  : message("output %d", static_cast<int>(index) - op.input_count());
}

/// Fails with "input 1 must be <expected>, found f32 [2,3]".
inline void expect(bool holds, const OpView& op, const attn_tensor& tensor, const char* expected) {
  if (!holds)
    throw MalformedOp(position(op, tensor) + " must be " + expected + ", found " + describe(tensor));
}

// ---- the descriptor as a whole

inline void expect_counts(const OpView& op, int inputs, int outputs) {
  if (op.input_count() != inputs || op.output_count() != outputs) {
    throw MalformedOp(message("expected %d inputs and %d outputs, found %d and %d", inputs, outputs,
                              op.input_count(), op.output_count()));
  }
}

inline void expect_params(const OpView& op) {
  require(op.has_params(), "the parameters are missing");
}

/// No bits but those of the outputs may be set in a gradient's `accumulate`.
inline void expect_accumulate(const OpView& op) {
  const uint32_t bits = op.params<attn_gradient_params>().accumulate;
  require(bits >> op.output_count() == 0,
          [&] { return message("accumulate names an output that does not exist: 0x%x", bits); });
}

inline void expect_function(int32_t function, int32_t last) {
  require(function >= 0 && function <= last, [&] { return message("unknown function %d", function); });
}

inline void expect_rate(double rate) {
  require(rate >= 0 && rate < 1,
          [&] { return message("the dropout rate must be in [0, 1), found %g", rate); });
}

inline void expect_epsilon(double epsilon) {
  require(epsilon >= 0, [&] { return message("epsilon must not be negative, found %g", epsilon); });
}

// ---- types

inline bool is_float(int32_t dtype) {
  return dtype == ATTN_F32 || dtype == ATTN_F64;
}
inline bool is_number(int32_t dtype) {
  return is_float(dtype) || dtype == ATTN_I32;
}

inline void expect_present(const OpView& op, const attn_tensor& tensor) {
  expect(is_present(tensor), op, tensor, "present");
}
/// f32 or f64.
inline void expect_float(const OpView& op, const attn_tensor& tensor) {
  expect(is_present(tensor) && is_float(tensor.dtype), op, tensor, "f32 or f64");
}
/// f32, f64 or i32.
inline void expect_number(const OpView& op, const attn_tensor& tensor) {
  expect(is_present(tensor) && is_number(tensor.dtype), op, tensor, "f32, f64 or i32");
}
inline void expect_i32(const OpView& op, const attn_tensor& tensor) {
  expect(is_present(tensor) && tensor.dtype == ATTN_I32, op, tensor, "i32");
}
/// Present, and of the type of `like`.
inline void expect_same_type(const OpView& op, const attn_tensor& tensor, const attn_tensor& like) {
  if (!is_present(tensor) || tensor.dtype != like.dtype) {
    throw MalformedOp(position(op, tensor) + " must be " + dtype_name(like.dtype) + " as " +
                      position(op, like) + ", found " + describe(tensor));
  }
}

// ---- shapes

inline void expect_rank_at_least(const OpView& op, const attn_tensor& tensor, int rank) {
  if (!is_present(tensor) || tensor.rank < rank) {
    throw MalformedOp(position(op, tensor) + message(" must have at least %d dimensions, found ", rank) +
                      describe(tensor));
  }
}

inline std::string text(const Dims& sizes) {
  attn_tensor shape{nullptr, ATTN_F32, sizes.rank(), {}};
  for (int axis = 0; axis < sizes.rank(); ++axis) shape.dims[axis] = sizes[axis];
  return describe(shape).substr(4);
}

/// Present, and of exactly these sizes.
inline void expect_dims(const OpView& op, const attn_tensor& tensor, const Dims& sizes) {
  if (!is_present(tensor) || dims(tensor) != sizes) {
    throw MalformedOp(position(op, tensor) + " must have the shape " + text(sizes) + ", found " +
                      describe(tensor));
  }
}

/// Of the type and shape of `like`.
inline void expect_like(const OpView& op, const attn_tensor& tensor, const attn_tensor& like) {
  expect_same_type(op, tensor, like);
  expect_dims(op, tensor, dims(like));
}

/// Of the type of `like` and of exactly these sizes.
inline void expect_tensor(const OpView& op, const attn_tensor& tensor, const attn_tensor& like,
                          const Dims& sizes) {
  expect_same_type(op, tensor, like);
  expect_dims(op, tensor, sizes);
}

/// [..., trailing]: any leading dimensions whose product is `lead`, then exactly `trailing`.
inline void expect_trailing(const OpView& op, const attn_tensor& tensor, int64_t lead, const Dims& trailing) {
  const int rank = trailing.rank();
  bool holds = is_present(tensor) && tensor.rank >= rank && leading(tensor, rank) == lead;
  for (int axis = 0; holds && axis < rank; ++axis) {
    holds = tensor.dims[tensor.rank - rank + axis] == trailing[axis];
  }
  if (!holds) {
    throw MalformedOp(position(op, tensor) +
                      message(" must have %lld entries of the shape ", static_cast<long long>(lead)) +
                      text(trailing) + ", found " + describe(tensor));
  }
}

// ---- parts that several operations share

/// i32 [B] or [B,Q], or absent.
inline void expect_lengths(const OpView& op, const attn_tensor& lengths, int64_t batch, int64_t queries) {
  if (!is_present(lengths)) return;
  expect_i32(op, lengths);
  const bool fits =
      (lengths.rank == 1 || (lengths.rank == 2 && lengths.dims[1] == queries)) && lengths.dims[0] == batch;
  if (!fits) {
    throw MalformedOp(position(op, lengths) + " must have the shape " + text({batch}) + " or " +
                      text({batch, queries}) + ", found " + describe(lengths));
  }
}

inline void expect_masking(int32_t masking) {
  require(masking == ATTN_MASK_EXACT || masking == ATTN_MASK_BOOK,
          [&] { return message("unknown masking %d", masking); });
}

/// i32 [4]; may be absent while nothing is dropped.
inline void expect_random(const OpView& op, const attn_tensor& random, double rate) {
  expect_rate(rate);
  if (rate == 0 && !is_present(random)) return;
  expect_i32(op, random);
  expect_dims(op, random, {4});
}

inline attn_window_params expect_window(const OpView& op) {
  expect_params(op);
  const auto params = op.params<attn_window_params>();
  constexpr int64_t limit = int64_t{1} << 31;  // so that no position overflows
  const auto in_range = [](int64_t value, int64_t least) { return value >= least && value < limit; };
  require(in_range(params.kernel, 1) && in_range(params.stride, 1) && in_range(params.dilation, 1) &&
              in_range(params.padding, 0),
          "kernel, stride and dilation must be at least 1, padding at least 0");
  return params;
}

/// The shape that a and b have together when broadcast from the right.
inline Dims broadcast(const Dims& a, const Dims& b) {
  Dims result = a.rank() >= b.rank() ? a : b;
  const Dims& shorter = a.rank() >= b.rank() ? b : a;
  const int missing = result.rank() - shorter.rank();
  for (int axis = 0; axis < shorter.rank(); ++axis) {
    int64_t& size = result[axis + missing];
    require(size == shorter[axis] || size == 1 || shorter[axis] == 1, [&] {
      return "the shapes " + text(a) + " and " + text(b) + " cannot be broadcast to each other";
    });
    if (size == 1) size = shorter[axis];
  }
  return result;
}

/// Ranks, sizes and types that no operation can have.
inline void expect_well_formed(const OpView& op) {
  const int count = op.input_count() + op.output_count();
  require(count <= ATTN_MAX_TENSORS,
          [&] { return message("an operation has at most %d tensors, found %d", ATTN_MAX_TENSORS, count); });
  for (int index = 0; index < count; ++index) {
    const attn_tensor& tensor = op.input(index);
    require(tensor.rank >= -1 && tensor.rank <= ATTN_MAX_RANK, [&] {
      return message("tensor %d has the rank %d, which is not in -1 .. %d", index, tensor.rank,
                     ATTN_MAX_RANK);
    });
    if (!is_present(tensor)) continue;
    require(element_size(tensor.dtype) > 0,
            [&] { return message("tensor %d has the unknown type %d", index, tensor.dtype); });
    constexpr int64_t limit = int64_t{1} << 56;  // elements; leaves room to count bytes
    int64_t count_so_far = 1;
    for (const int64_t size : dims(tensor)) {
      expect(size >= 0, op, tensor, "without a negative size");
      int64_t product = 0;
      const bool overflows = __builtin_mul_overflow(count_so_far, std::max<int64_t>(size, 1), &product);
      expect(!overflows && product <= limit, op, tensor, "small enough to be addressed");
      count_so_far = product;
    }
  }
}

}  // namespace rules
}  // namespace attn::backend
