#pragma once
// From the type in a descriptor to the C++ type of a loop, and from indices to addresses.
#include <cstdint>

#include "common/op_view.h"

namespace attn::backend::reference {

/// Calls function(T{}) with T the element type: float or double.
template<typename Function>
void with_float_type(int32_t dtype, Function&& function) {
  if (dtype == ATTN_F32) {
    function(float{});
  } else {
    function(double{});
  }
}

/// The same for the operations that also know i32.
template<typename Function>
void with_number_type(int32_t dtype, Function&& function) {
  if (dtype == ATTN_I32) {
    function(int32_t{});
  } else {
    with_float_type(dtype, function);
  }
}

/// Where element number `index` of a dense tensor of these sizes lies in a tensor with these strides.
inline int64_t strided_offset(int64_t index, const Dims& sizes, const Dims& strides) {
  int64_t offset = 0;
  for (int axis = sizes.rank() - 1; axis >= 0; --axis) {
    offset += index % sizes[axis] * strides[axis];
    index /= sizes[axis];
  }
  return offset;
}

/// A double as T. Into i32: towards zero, the nearest representable value if out of range, 0 for NaN.
template<typename T>
T convert(double value) {
  return static_cast<T>(value);
}
template<>
inline int32_t convert<int32_t>(double value) {
  if (!(value > INT32_MIN)) return value <= INT32_MIN ? INT32_MIN : 0;
  return value < INT32_MAX ? static_cast<int32_t>(value) : INT32_MAX;
}

}  // namespace attn::backend::reference
