// Operations that only say where elements go. All but slice_add work on bytes and so on any type.
#include <cstring>

#include "kernels.h"
#include "types.h"

namespace attn::backend::reference {

namespace {

/// memmove, which must not be given NULL even for 0 bytes.
void copy_bytes(char* to, const char* from, std::size_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
}

/// y[i] = the element of x that lies `start` elements after where `strides` lead the index i.
void copy_strided(const attn_tensor& y, const attn_tensor& x, int64_t start, const Dims& strides) {
  const auto size = static_cast<int64_t>(element_size(y.dtype));
  const Dims sizes = dims(y);
  for (int64_t i = 0; i < elements(y); ++i) {
    const int64_t from = start + strided_offset(i, sizes, strides);
    copy_bytes(data<char>(y) + i * size, data<char>(x) + from * size, size);
  }
}

/// The offset of the first element of a slice.
int64_t slice_start(const OpView& op, const Dims& strides) {
  const auto params = op.params<attn_slice_params>();
  int64_t offset = 0;
  for (int axis = 0; axis < strides.rank(); ++axis) offset += params.start[axis] * strides[axis];
  return offset;
}

}  // namespace

void copy(const OpView& op) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  copy_bytes(data<char>(y), data<char>(x), elements(y) * element_size(y.dtype));
}

void permute(const OpView& op) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const auto params = op.params<attn_permute_params>();
  const Dims x_strides = dense_strides(dims(x));
  Dims strides;
  for (int axis = 0; axis < y.rank; ++axis) strides.push_back(x_strides[params.axes[axis]]);
  copy_strided(y, x, 0, strides);
}

void slice(const OpView& op) {
  const attn_tensor& x = op.input(0);
  const Dims strides = dense_strides(dims(x));
  copy_strided(op.output(0), x, slice_start(op, strides), strides);
}

void slice_add(const OpView& op) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const Dims sizes = dims(x), strides = dense_strides(dims(y));
  const int64_t start = slice_start(op, strides);
  with_float_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < elements(x); ++i) {
      data<T>(y)[start + strided_offset(i, sizes, strides)] += data<T>(x)[i];
    }
  });
}

void concatenate(const OpView& op) {
  const attn_tensor& y = op.output(0);
  const int axis = op.params<attn_concatenate_params>().axis;
  const auto run_bytes =
      [axis](const attn_tensor& tensor) {  // from one step of the axes before `axis` to the next
        return dims(tensor).product(axis, tensor.rank) * static_cast<int64_t>(element_size(tensor.dtype));
      };
  int64_t start = 0;
  for (int input = 0; input < op.input_count(); ++input) {
    const attn_tensor& x = op.input(input);
    for (int64_t i = 0; i < dims(x).product(0, axis); ++i) {
      copy_bytes(data<char>(y) + start + i * run_bytes(y), data<char>(x) + i * run_bytes(x), run_bytes(x));
    }
    start += run_bytes(x);
  }
}

}  // namespace attn::backend::reference
