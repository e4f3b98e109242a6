// Elementwise operations on several tensors whose shapes are broadcast from the right.
#include <cmath>

#include "kernels.h"
#include "types.h"

namespace attn::backend::reference {

namespace {

/// Reads a tensor as if it were repeated to the shape of another.
template<typename T>
class Broadcast {
 public:
  Broadcast(const attn_tensor& tensor, const attn_tensor& target)
      : data_(data<const T>(tensor)),
        sizes_(dims(target)),
        strides_(broadcast_strides(dims(tensor), dims(target))) {}

  T operator[](int64_t index) const { return data_[strided_offset(index, sizes_, strides_)]; }

 private:
  const T* data_;
  Dims sizes_, strides_;
};

template<typename T>
T apply(int32_t function, T a, T b) {
  switch (function) {
    case ATTN_BINARY_ADD:
      return a + b;
    case ATTN_BINARY_SUBTRACT:
      return a - b;
    case ATTN_BINARY_MULTIPLY:
      return a * b;
    case ATTN_BINARY_DIVIDE:
      return a / b;
    case ATTN_BINARY_MAXIMUM:
      return a > b || std::isnan(a) ? a : b;
    case ATTN_BINARY_MINIMUM:
      return a < b || std::isnan(a) ? a : b;
    case ATTN_BINARY_GREATER:
      return a > b ? T{1} : T{0};
    default:
      return a == b ? T{1} : T{0};  // ATTN_BINARY_EQUAL
  }
}

/// Integers wrap around; a division by zero gives 0, as the processor would end the program.
template<>
int32_t apply(int32_t function, int32_t a, int32_t b) {
  const int64_t wide_a = a, wide_b = b;
  switch (function) {
    case ATTN_BINARY_ADD:
      return static_cast<int32_t>(wide_a + wide_b);
    case ATTN_BINARY_SUBTRACT:
      return static_cast<int32_t>(wide_a - wide_b);
    case ATTN_BINARY_MULTIPLY:
      return static_cast<int32_t>(wide_a * wide_b);
    case ATTN_BINARY_DIVIDE:
      return b == 0 ? 0 : static_cast<int32_t>(wide_a / wide_b);
    case ATTN_BINARY_MAXIMUM:
      return a > b ? a : b;
    case ATTN_BINARY_MINIMUM:
      return a < b ? a : b;
    case ATTN_BINARY_GREATER:
      return a > b ? 1 : 0;
    default:
      return a == b ? 1 : 0;  // ATTN_BINARY_EQUAL
  }
}

}  // namespace

void binary(const OpView& op) {
  const attn_tensor& y = op.output(0);
  const int32_t function = op.params<attn_binary_params>().function;
  with_number_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    const Broadcast<T> a(op.input(0), y), b(op.input(1), y);
    for (int64_t i = 0; i < elements(y); ++i) data<T>(y)[i] = apply<T>(function, a[i], b[i]);
  });
}

void select(const OpView& op) {
  const attn_tensor& y = op.output(0);
  with_float_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    const Broadcast<T> condition(op.input(0), y), a(op.input(1), y), b(op.input(2), y);
    for (int64_t i = 0; i < elements(y); ++i) data<T>(y)[i] = condition[i] != 0 ? a[i] : b[i];
  });
}

}  // namespace attn::backend::reference
