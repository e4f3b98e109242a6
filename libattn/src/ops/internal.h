#pragma once
// What the files of this folder share: the list of operations, and operations with a target, which gradient
// rules use to add to a gradient in place.
#include <array>

#include "attn/ops/gradient.h"
#include "attn/ops/operation.h"
#include "attn/ops/ops.h"

namespace attn::ops {

extern const Operation fill_operation, copy_operation, cast_operation, affine_operation, unary_operation,
    binary_operation, select_operation, matmul_operation, reduce_operation, argmax_operation, top_k_operation,
    masked_softmax_operation, masked_softmax_gradient_operation, log_sum_exp_operation, permute_operation,
    slice_operation, slice_add_operation, concatenate_operation, gather_rows_operation,
    scatter_add_rows_operation, unfold_1d_operation, fold_1d_operation, dropout_operation,
    squared_norm_operation, linear_operation, linear_gradient_operation, attention_operation,
    attention_gradient_operation, additive_attention_operation, additive_attention_gradient_operation,
    layer_norm_operation, layer_norm_gradient_operation, batch_norm_operation, batch_norm_gradient_operation,
    gru_sequence_operation, gru_sequence_gradient_operation, conv_1d_operation, conv_1d_gradient_operation,
    embed_operation, embed_gradient_operation, cross_entropy_operation, cross_entropy_gradient_operation,
    adam_operation, sgd_operation, clip_by_norm_operation, kv_append_operation, cached_attention_operation;

/// The product goes into (or is added to) the target; nothing happens if it is not wanted.
void matmul_into(const Into& into, const Tensor& a, const Tensor& b, const MatmulOptions& options = {});
/// The sum over axes goes into (or is added to) the target.
void sum_into(const Into& into, const Tensor& x, std::span<const int> axes);
/// The transpose of unfold_1d into (or added to) the target [batch, steps, channels].
void fold_1d_into(const Into& into, const Tensor& windows, const attn_window_params& window);

Tensor fill(const Tensor& target, double value);
Tensor masked_softmax_gradient(const Tensor& weights, const Tensor& d_weights, const Mask& mask);

inline Tensor reduce_last(const Tensor& x, bool mean_of, bool keep) {
  const std::array<int, 1> last{-1};
  return mean_of ? mean(x, last, keep) : sum(x, last, keep);
}

/// Elements of the tensor specs as a double, for cost rules.
inline double elements_of(const TensorSpecs& specs, std::size_t index = 0) {
  return static_cast<double>(specs[index].shape.elements());
}
inline double as_double(std::int64_t value) {
  return static_cast<double>(value);
}

inline void require_float(const char* operation, const char* what, const Tensor& x) {
  require(x.dtype() == DType::f32 || x.dtype() == DType::f64, "{}: {} has type {}, expected f32 or f64",
          operation, what, name_of(x.dtype()));
}
inline void require_type(const char* operation, const char* what, const Tensor& x, DType type) {
  require(x.dtype() == type, "{}: {} has type {}, expected {}", operation, what, name_of(x.dtype()),
          name_of(type));
}
inline void require_shape(const char* operation, const char* what, const Tensor& x, const Shape& shape) {
  require(x.shape() == shape, "{}: {} is {}, expected {}", operation, what, x.shape(), shape);
}
inline void require_rank(const char* operation, const char* what, const Tensor& x, int rank) {
  require(x.rank() == rank, "{}: {} is {}, expected {} dimensions", operation, what, x.shape(), rank);
}
/// valid_lengths is i32 [batch] or [batch, queries].
void require_lengths(const char* operation, const Tensor& lengths, std::int64_t batch, std::int64_t queries);
/// random is i32 [4] if there is dropout.
void require_random(const char* operation, const Dropout& dropout);

}  // namespace attn::ops
