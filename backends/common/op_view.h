#pragma once
// Typed views of the descriptors in attn/backend_abi.h.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "attn/backend_abi.h"
#include "attn/op_kinds.h"
#include "guard.h"
#include "versioned.h"

namespace attn::backend {

/// The extents of a tensor: a vector of at most ATTN_MAX_RANK entries that never allocates.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> sizes) {
    for (const int64_t size : sizes) push_back(size);
  }
  Dims(const int64_t* sizes, int rank) {
    for (int axis = 0; axis < rank; ++axis) push_back(sizes[axis]);
  }

  int rank() const { return rank_; }
  int64_t& operator[](int axis) { return sizes_[axis]; }
  int64_t operator[](int axis) const { return sizes_[axis]; }
  /// The axis-th size from the right: last(0) is the last.
  int64_t last(int axis = 0) const { return sizes_[rank_ - 1 - axis]; }
  const int64_t* begin() const { return sizes_; }
  const int64_t* end() const { return sizes_ + rank_; }

  void push_back(int64_t size) {
    assert(rank_ < ATTN_MAX_RANK);
    sizes_[rank_++] = size;
  }
  /// The product of the sizes of axes first .. last-1; 1 for none.
  int64_t product(int first, int last) const {
    int64_t count = 1;
    for (int axis = first; axis < last; ++axis) count *= sizes_[axis];
    return count;
  }
  int64_t elements() const { return product(0, rank_); }

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (int axis = 0; axis < a.rank_; ++axis) {
      if (a.sizes_[axis] != b.sizes_[axis]) return false;
    }
    return true;
  }
  friend bool operator!=(const Dims& a, const Dims& b) { return !(a == b); }

 private:
  int64_t sizes_[ATTN_MAX_RANK] = {};
  int rank_ = 0;
};

inline bool is_present(const attn_tensor& tensor) {
  return tensor.rank >= 0;
}
inline Dims dims(const attn_tensor& tensor) {
  return {tensor.dims, tensor.rank};
}
inline int64_t elements(const attn_tensor& tensor) {
  return dims(tensor).elements();
}

/// The product of all but the last `trailing` sizes: how many rows (1) or matrices (2) lie one after another.
inline int64_t leading(const attn_tensor& tensor, int trailing) {
  return dims(tensor).product(0, tensor.rank - trailing);
}
/// A tensor [..., columns] as a matrix [rows, columns].
inline int64_t rows(const attn_tensor& tensor) {
  return leading(tensor, 1);
}
inline int64_t columns(const attn_tensor& tensor) {
  return dims(tensor).last();
}

template<typename T>
T* data(const attn_tensor& tensor) {
  return static_cast<T*>(tensor.data);
}

/// Bytes of one element; 0 for a type that this ABI version does not know.
inline std::size_t element_size(int32_t dtype) {
  switch (dtype) {
    case ATTN_F32:
      return 4;
    case ATTN_F64:
      return 8;
    case ATTN_I32:
      return 4;
    case ATTN_BF16:
      return 2;
    case ATTN_I8:
      return 1;
    default:
      return 0;
  }
}

inline const char* dtype_name(int32_t dtype) {
  switch (dtype) {
    case ATTN_F32:
      return "f32";
    case ATTN_F64:
      return "f64";
    case ATTN_I32:
      return "i32";
    case ATTN_BF16:
      return "bf16";
    case ATTN_I8:
      return "i8";
    default:
      return "unknown type";
  }
}

/// "f32 [2,3]", for messages.
inline std::string describe(const attn_tensor& tensor) {
  if (!is_present(tensor)) return "absent";
  std::string text = std::string(dtype_name(tensor.dtype)) + " [";
  for (int axis = 0; axis < tensor.rank && axis < ATTN_MAX_RANK; ++axis) {
    if (axis > 0) text += ',';
    text += std::to_string(tensor.dims[axis]);
  }
  return text + "]";
}

/// Steps in elements from one index to the next along each axis of a dense row-major tensor.
inline Dims dense_strides(const Dims& sizes) {
  Dims strides = sizes;
  int64_t step = 1;
  for (int axis = sizes.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    step *= sizes[axis];
  }
  return strides;
}

/// The strides with which a tensor of `sizes` is read at the indices of `target`, to which it is broadcast
/// from the right: 0 along every axis that is repeated.
inline Dims broadcast_strides(const Dims& sizes, const Dims& target) {
  const Dims own = dense_strides(sizes);
  Dims strides = target;
  const int missing = target.rank() - sizes.rank();
  for (int axis = 0; axis < target.rank(); ++axis) {
    strides[axis] = axis < missing || sizes[axis - missing] == 1 ? 0 : own[axis - missing];
  }
  return strides;
}

/// What a field means that a sender, compiled before it was appended, does not have.
template<typename Params>
Params default_params() {
  return {};
}
template<>
inline attn_affine_params default_params() {
  return {sizeof(attn_affine_params), 0, 1.0, 0.0};
}
template<>
inline attn_matmul_params default_params() {
  return {sizeof(attn_matmul_params), 0, 0, 0, 1.0, 0.0};
}
template<>
inline attn_scatter_params default_params() {
  return {sizeof(attn_scatter_params), -1};
}
template<>
inline attn_window_params default_params() {
  return {sizeof(attn_window_params), 0, 1, 1, 1, 0};
}
template<>
inline attn_attention_params default_params() {
  return {sizeof(attn_attention_params), 0, 1, ATTN_MASK_EXACT, 0, 0, 0, 1.0, 0.0};
}
template<>
inline attn_embed_params default_params() {
  return {sizeof(attn_embed_params), 0, 0, -1, 0, 1.0, 0.0};
}
template<>
inline attn_cross_entropy_params default_params() {
  return {sizeof(attn_cross_entropy_params), 0, ATTN_SMOOTH_UNIFORM, -1, 0.0};
}

/// One operation. The view neither owns nor checks anything: shape_check.h does, in query().
class OpView {
 public:
  explicit OpView(const attn_op& op) : op_(op) {}

  uint32_t kind() const { return op_.kind; }
  int input_count() const { return op_.input_count; }
  int output_count() const { return op_.output_count; }
  const attn_tensor& input(int index) const { return op_.tensors[index]; }
  const attn_tensor& output(int index) const { return op_.tensors[op_.input_count + index]; }
  bool has_input(int index) const { return index < input_count() && is_present(input(index)); }
  bool has_output(int index) const { return index < output_count() && is_present(output(index)); }
  bool has_params() const { return op_.params != nullptr; }

  /// The parameters, whatever version the sender was compiled with; NULL gives the defaults.
  template<typename Params>
  Params params() const {
    return has_params() ? load_versioned(op_.params, default_params<Params>()) : default_params<Params>();
  }

  /// Gradient operations: is output `index` added to rather than overwritten?
  bool accumulates(int index) const { return (params<attn_gradient_params>().accumulate >> index & 1u) != 0; }

 private:
  const attn_op& op_;
};

}  // namespace attn::backend
