#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attn/op_kinds.h"
#include "attn/runtime/tensor.h"

/// Operations on tensors, the vocabulary that models are written in. Every function checks its shapes
/// (Error(internal) names the operation, what was expected and what was found), runs on the device of its
/// operands, and is remembered by their recorder if they have one. Floating-point operands of one call have
/// the same type.
namespace attn::ops {

// ---- elementwise
// ----------------------------------------------------------------------------------------------------

/// x and y broadcast from the right, as in NumPy.
Tensor add(const Tensor& x, const Tensor& y);
Tensor subtract(const Tensor& x, const Tensor& y);
Tensor multiply(const Tensor& x, const Tensor& y);
Tensor divide(const Tensor& x, const Tensor& y);
Tensor maximum(const Tensor& x, const Tensor& y);
Tensor minimum(const Tensor& x, const Tensor& y);
/// 1 where x > y, else 0. Not differentiable, like equal.
Tensor greater(const Tensor& x, const Tensor& y);
Tensor equal(const Tensor& x, const Tensor& y);
/// condition != 0 ? x : y, all three broadcast.
Tensor select(const Tensor& condition, const Tensor& x, const Tensor& y);

/// scale * x + shift
Tensor affine(const Tensor& x, double scale, double shift);
Tensor negate(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x)
Tensor rsqrt(const Tensor& x);
Tensor square(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);
/// x Phi(x) with the exact normal distribution function (Hendrycks & Gimpel, 2016).
Tensor gelu(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor abs(const Tensor& x);

/// A tensor like `like` in device and type, every element `value`.
Tensor full(const Tensor& like, const Shape& shape, double value);
/// A copy with elements of its own.
Tensor copy(const Tensor& x);
Tensor cast(const Tensor& x, DType type);

// ---- products and reductions
// ------------------------------------------------------------------------------------------

struct MatmulOptions {
  bool transpose_a = false;  ///< a is stored as [..., K, M]
  bool transpose_b = false;  ///< b is stored as [..., N, K]
  double alpha = 1.0;
};
/// alpha a b for a [..., M, K] and b [..., K, N] -> [..., M, N]. The leading dimensions are equal, or one of
/// the operands has rank 2 and serves the whole batch.
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});

/// Over the given axes (negative counts from the end), which are dropped, or kept with size 1.
Tensor sum(const Tensor& x, std::span<const int> axes, bool keep_axes = false);
Tensor mean(const Tensor& x, std::span<const int> axes, bool keep_axes = false);
/// Not differentiable.
Tensor max(const Tensor& x, std::span<const int> axes, bool keep_axes = false);
/// The sum of all elements, a scalar.
Tensor sum(const Tensor& x);
/// x summed over the axes along which `shape` was broadcast to x's shape.
Tensor sum_to(const Tensor& x, const Shape& shape);
/// Index of the largest element of the last axis, i32; the lowest index wins a tie. Not differentiable.
Tensor argmax(const Tensor& x);
/// The k largest elements of the last axis in descending order, and their indices (i32). Not differentiable.
std::pair<Tensor, Tensor> top_k(const Tensor& x, std::int64_t k);
/// log(sum(exp(x))) over the last axis.
Tensor log_sum_exp(const Tensor& x);
/// The sum of the squares of all elements of all tensors (at most 15). Not differentiable.
Tensor squared_norm(std::span<const Tensor> tensors);

// ---- movement
// -----------------------------------------------------------------------------------------------------------

/// Axis i of the result is axis axes[i] of x.
Tensor permute(const Tensor& x, std::span<const int> axes);
/// x with two axes exchanged.
Tensor swap_axes(const Tensor& x, int a, int b);
/// Elements start[i] .. start[i]+size[i]-1 along every axis i.
Tensor slice(const Tensor& x, std::span<const std::int64_t> start, const Shape& size);
/// `count` entries of one axis from `start` on.
Tensor slice_axis(const Tensor& x, int axis, std::int64_t start, std::int64_t count);
/// Along an axis; the other axes agree. At most 15 tensors.
Tensor concatenate(std::span<const Tensor> tensors, int axis);
/// concatenate() for any number of tensors, in groups where there are more than one operation takes.
Tensor concatenate_all(std::span<const Tensor> tensors, int axis);
/// table [rows, ...], ids i32 [...ids] -> [...ids, ...]. Ids are within the table. Gradient: repeated ids add
/// up.
Tensor gather_rows(const Tensor& table, const Tensor& ids);
/// Adds rows [...ids, width] to `table` [rows, width] at `ids`, in place; rows with ids == ignored_id are
/// left out.
void scatter_add_rows(const Tensor& table, const Tensor& rows, const Tensor& ids,
                      std::int32_t ignored_id = -1);
/// Adds x to target[start : start + x's shape], in place.
void slice_add(const Tensor& target, const Tensor& x, std::span<const std::int64_t> start);
/// Copies x into `target`, in place; equal element counts.
void copy_into(const Tensor& target, const Tensor& x);

// ---- random
// -------------------------------------------------------------------------------------------------------------

/// How one use of dropout draws its mask; rate 0 means no dropout.
struct Dropout {
  double rate = 0.0;
  Tensor random;             ///< i32 [4]: seed low, seed high, step low, step high
  std::uint32_t stream = 0;  ///< distinguishes the uses within a step
};
/// Keeps each element with probability 1 - rate, scaled by 1/(1 - rate) (Srivastava et al., 2014).
Tensor dropout(const Tensor& x, const Dropout& dropout);

// ---- attention
// ----------------------------------------------------------------------------------------------------------

/// Which keys a query may see, see attn/op_kinds.h.
struct Mask {
  Tensor valid_lengths;  ///< i32 [batch] or [batch, queries]; absent: all keys
  bool causal = false;   ///< query i sees keys j <= i + causal_offset
  std::int64_t causal_offset = 0;
  attn_masking masking = ATTN_MASK_EXACT;
};
/// Softmax over the keys of scores [..., queries, keys]; masked keys get weight 0 (D2L, "Masked Softmax
/// Operation").
Tensor masked_softmax(const Tensor& scores, const Mask& mask = {});

struct AttentionOptions {
  std::int64_t heads = 1;
  double scale = 1.0;
  Mask mask;
  Dropout dropout;  ///< on the weights
  bool return_weights = false;
};
struct AttentionResult {
  Tensor output;   ///< [batch, queries, heads * value_size]
  Tensor weights;  ///< [batch, heads, queries, keys], after the softmax and before dropout; if asked for.
                   ///< Detached.
};
/// Scaled dot-product attention of every head: softmax(scale query key^T) value (Vaswani et al., 2017,
/// section 3.2). query [batch, queries, heads * size], key [batch, keys, heads * size], value [batch, keys,
/// heads * value_size].
AttentionResult attention(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options);

/// attention() to keys and values that lie in a cache in any order: those of batch entry b are the rows
/// rows[b, ...] of keys [cache rows, heads * size] and values [cache rows, heads * value_size]. query [batch,
/// queries, heads * size], rows i32 [batch, keys]. For decoding: no dropout (Error(internal) if asked for),
/// and nothing passes a gradient.
AttentionResult cached_attention(const Tensor& query, const Tensor& keys, const Tensor& values,
                                 const Tensor& rows, const AttentionOptions& options);

/// Additive attention (Bahdanau et al., 2015): weights = softmax(score_weight . tanh(query + key)), output =
/// weights value. query [batch, queries, hidden] and key [batch, keys, hidden] are already projected,
/// score_weight [hidden], value [batch, keys, value_size]. Weights are [batch, queries, keys], detached.
AttentionResult additive_attention(const Tensor& query, const Tensor& key, const Tensor& score_weight,
                                   const Tensor& value, const Mask& mask, const Dropout& dropout);

// ---- layers
// -------------------------------------------------------------------------------------------------------------

/// activation(x weight^T + bias): x [..., in], weight [out, in], bias [out] or absent -> [..., out].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              attn_activation activation = ATTN_ACTIVATION_NONE);

struct LayerNormResult {
  Tensor output;
  Tensor sum;  ///< residual + dropout(x), what was normalised; x itself without residual and dropout
};
/// Layer normalisation over the axes of `gain` (the last ones of x) of residual + dropout(x) (Ba, Kiros &
/// Hinton, 2016). `residual` may be absent.
LayerNormResult layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double epsilon,
                           const Tensor& residual = {}, const Dropout& dropout = {});

struct BatchNormResult {
  Tensor output, mean, variance;  ///< mean and biased variance of the batch, [channels], detached
};
/// Batch normalisation of x [rows, channels] by the statistics of the batch (Ioffe & Szegedy, 2015).
BatchNormResult batch_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double epsilon);

/// The states [steps, batch, hidden] of a GRU in PyTorch's convention (gates reset, update, new; Cho et al.,
/// 2014). input_gates [steps, batch, 3 hidden] is the input projection with its bias, initial_state [batch,
/// hidden], weight [3 hidden, hidden], bias [3 hidden] or absent.
Tensor gru_sequence(const Tensor& input_gates, const Tensor& initial_state, const Tensor& weight,
                    const Tensor& bias);

struct Window {
  std::int64_t kernel = 1, stride = 1, dilation = 1;
  std::int64_t padding = 0;        ///< zeros before the first step
  std::int64_t padding_after = 0;  ///< zeros after the last step
};
/// [batch, steps, channels] -> [batch, steps_out, kernel * channels], the windows side by side.
Tensor unfold_1d(const Tensor& x, const Window& window);
/// Cross-correlation: x [batch, steps, in], weight [out, kernel, in], bias [out] or absent -> [batch,
/// steps_out, out].
Tensor conv_1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Window& window);

struct EmbedOptions {
  double scale = 1.0;
  std::int64_t position_offset = 0;
  std::int32_t ignored_id = -1;  ///< rows of this id get no gradient
  Dropout dropout;
};
/// dropout(scale table[ids] + positions[step + position_offset]): table [rows, width], ids i32 [..., steps],
/// positions [at least steps + offset, width] or absent -> [..., steps, width].
Tensor embed(const Tensor& table, const Tensor& ids, const Tensor& positions,
             const EmbedOptions& options = {});

struct CrossEntropyOptions {
  double smoothing = 0.0;
  attn_smoothing_kind kind = ATTN_SMOOTH_UNIFORM;
  std::int32_t excluded_class = -1;  ///< for ATTN_SMOOTH_OTHERS: the padding class
};
/// Loss of every token in nats: logits [tokens, classes], labels i32 [tokens] -> [tokens]; labels below 0 are
/// padding and have loss 0.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options = {});

// ---- optimizer steps, in place
// -----------------------------------------------------------------------------------------------

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0;
  bool decoupled = false;  ///< AdamW (Loshchilov & Hutter, 2019)
};
/// One step of Adam (Kingma & Ba, 2015). control [4]: learning rate, 1 - beta1^t, 1 - beta2^t, scale of the
/// gradient.
void adam(const Tensor& parameter, const Tensor& m, const Tensor& v, const Tensor& gradient,
          const Tensor& control, const AdamOptions& options);
/// One step of stochastic gradient descent; velocity may be absent if momentum is 0. control as for adam.
void sgd(const Tensor& parameter, const Tensor& velocity, const Tensor& gradient, const Tensor& control,
         double momentum, double weight_decay);
/// Scales the tensors (at most 15) so that their common norm, whose square is given, is at most max_norm.
void clip_by_norm(std::span<const Tensor> tensors, const Tensor& squared_norm, double max_norm,
                  double epsilon = 0.0);
/// cache[:, position : position + n] = x, in place: x [batch, n, width], position i32 scalar, cache [batch,
/// capacity, width].
void kv_append(const Tensor& cache, const Tensor& x, const Tensor& position, std::int64_t host_position);

inline Tensor operator+(const Tensor& x, const Tensor& y) {
  return add(x, y);
}
inline Tensor operator-(const Tensor& x, const Tensor& y) {
  return subtract(x, y);
}
inline Tensor operator*(const Tensor& x, const Tensor& y) {
  return multiply(x, y);
}
inline Tensor operator/(const Tensor& x, const Tensor& y) {
  return divide(x, y);
}
inline Tensor operator*(double scale, const Tensor& x) {
  return affine(x, scale, 0.0);
}

}  // namespace attn::ops
