#ifndef ATTN_OP_KINDS_H
#define ATTN_OP_KINDS_H
/*
 * The operations of the backend boundary: inputs, outputs, parameters, and what each computes.
 *
 * Reading a signature:   (query [B,Q,D], valid_lengths? i32 [B]) -> (weights [B,Q,K])
 *   - a tensor with `?` may be absent (rank -1); its place in the list stays;
 *   - without a type a tensor is f32 or f64, and all such tensors of one operation have the same type;
 *   - "in/out" outputs are read and written; all other outputs are overwritten completely;
 *   - "..." stands for any leading dimensions, which are treated as one.
 *
 * Outputs may share memory with an input only where it says "may alias", and then only exactly (same address,
 * same number of elements).
 *
 * Gradient operations (kind *_GRADIENT) have params that begin with attn_gradient_params: bit i of
 * `accumulate` says that output i is in/out and the result is added to it; otherwise it is overwritten.
 * An absent output is not computed.
 *
 * Masks. `valid_lengths` counts the keys, from the first, that a query may see: i32 [B] one for a batch
 * entry, or i32 [B,Q] one for each query. Values above K mean K, values below 0 mean 0. `causal` further
 * limits query i to keys j <= i + causal_offset.
 *   ATTN_MASK_EXACT  masked keys have weight exactly 0; a row without any visible key is all zeros
 *                    (weights, output and gradients).
 *   ATTN_MASK_BOOK   masked scores are replaced by -1e6 before the softmax, as in Dive into Deep Learning: a
 *                    row without any visible key is uniform. Replaced scores pass no gradient.
 *
 * Dropout. `random` is i32 [4]: seed low and high word, step low and high word (bit patterns). With
 * `dropout_rate` p in (0,1), element i of the tensor that is dropped is kept if the Philox word for
 * (seed, step, stream, i) is >= floor(p * 2^32), see attn/philox.h; kept elements are multiplied by
 * 1/(1-p). With p = 0 `random` is ignored and may be absent. A gradient operation is given the same random,
 * rate and stream, and so finds the same mask. (The table that follows is laid out by hand.)
 */
#include "attn/backend_abi.h"
/* clang-format off */
#ifdef __cplusplus
extern "C" {
#endif

typedef enum attn_op_kind {
  /* Primitives: every backend has them. */
  ATTN_OP_FILL = 1,         /* () -> (y)                 y = value; also i32 */
  ATTN_OP_COPY = 2,         /* (x) -> (y)                same number of elements, shapes may differ; any type */
  ATTN_OP_CAST = 3,         /* (x) -> (y)                between f32, f64, i32 (towards zero) */
  ATTN_OP_AFFINE = 4,       /* (x) -> (y)                y = scale * x + shift; may alias; also i32 */
  ATTN_OP_UNARY = 5,        /* (x) -> (y)                elementwise function; may alias */
  ATTN_OP_BINARY = 6,       /* (a, b) -> (y)             broadcast from the right as in NumPy; also i32;
                               y may alias an input of y's own shape */
  ATTN_OP_SELECT = 7,       /* (condition, a, b) -> (y)  condition != 0 ? a : b, broadcast */
  ATTN_OP_MATMUL = 8,       /* (a [...,M,K], b [...,K,N]) -> (y [...,M,N])  y = alpha a b + beta y (in/out if
                               beta != 0). The leading dimensions of y are the batch; a or b may have rank 2
                               and is then used for the whole batch. */
  ATTN_OP_REDUCE = 9,       /* (x) -> (y)                over the axes whose bit is set; y has these axes
                               dropped or kept as 1; in/out if accumulate != 0 (sum only). Sum and mean
                               over no element are 0, max is -infinity. */
  ATTN_OP_ARGMAX = 10,      /* (x [...,N]) -> (y i32 [...])             the lowest index wins a tie */
  ATTN_OP_TOP_K = 11,       /* (x [...,N]) -> (values [...,k], indices i32 [...,k])  descending, 1 <= k <= N;
                               the lowest index wins a tie */
  ATTN_OP_MASKED_SOFTMAX = 12, /* (scores [...,Q,K], valid_lengths? i32 [B] or [B,Q]) -> (weights [...,Q,K])
                                  The product L of the leading dimensions is a multiple of B: leading entry l
                                  uses lengths[l / (L/B)], so heads may stand between batch and queries.
                                  weights may alias scores. */
  ATTN_OP_MASKED_SOFTMAX_GRADIENT = 13, /* (weights [...,Q,K], d_weights, valid_lengths?) -> (d_scores) */
  ATTN_OP_LOG_SUM_EXP = 14,    /* (x [...,N]) -> (y [...])  log(sum(exp(x))), -infinity for N = 0 */
  ATTN_OP_PERMUTE = 15,        /* (x) -> (y)   axis i of y is axis axes[i] of x; any type */
  ATTN_OP_SLICE = 16,          /* (x) -> (y)   y = x[start : start + size of y] along each axis; any type */
  ATTN_OP_SLICE_ADD = 17,      /* (x) -> (y in/out)   y[start : start + size of x] += x */
  ATTN_OP_CONCATENATE = 18,    /* (x1, ..., xn) -> (y)   along axis; n <= 15; any type */
  ATTN_OP_GATHER_ROWS = 19,    /* (table [R,...], ids i32 [...ids]) -> (y [...ids,...])  0 <= ids < R; any type */
  ATTN_OP_SCATTER_ADD_ROWS = 20, /* (x [...ids,W], ids i32 [...ids]) -> (table [R,W] in/out)  table[ids] += x, in the
                                  order of ids; rows with ids == ignored_id are left out */
  ATTN_OP_UNFOLD_1D = 21,      /* (x [B,T,C]) -> (y [B,T_out,kernel*C])  y[b,t,i*C+c] = x[b, t*stride + i*dilation -
                                  padding, c], 0 outside;  T_out is read from y */
  ATTN_OP_FOLD_1D = 22,        /* (y [B,T_out,kernel*C]) -> (x [B,T,C])  the transpose of unfold_1d */
  ATTN_OP_DROPOUT = 23,        /* (x, random) -> (y)     may alias */
  ATTN_OP_SQUARED_NORM = 24,   /* (x1, ..., xn) -> (y [])  sum of all squares, n <= 15 */

  /* Fused operations: optional, each has a decomposition into primitives in libattn. */
  ATTN_OP_LINEAR = 64, /* (x [...,I], weight [O,I], bias? [O]) -> (y [...,O])
                          y = activation(x weight^T + bias) */
  ATTN_OP_LINEAR_GRADIENT = 65, /* (x [...,I], weight [O,I], y? [...,O], d_y [...,O])
                                   -> (d_x? [...,I], d_weight? [O,I], d_bias? [O])
                                   y is present unless the activation is none */
  ATTN_OP_ATTENTION = 66, /* (query [B,Q,H*D], key [B,K,H*D], value [B,K,H*V], valid_lengths? i32 [B] or [B,Q],
                             random? i32 [4]) -> (output [B,Q,H*V], log_sum_exp [B,H,Q], weights? [B,H,Q,K])
                             head h owns columns h*D..h*D+D-1; weights_ = softmax(scale * query key^T) masked;
                             output = dropout(weights_) value. `weights` are before dropout; dropout elements
                             are counted in [B,H,Q,K]. log_sum_exp is -infinity for a row without keys. */
  ATTN_OP_ATTENTION_GRADIENT = 67, /* (query, key, value, valid_lengths?, random?, output, log_sum_exp, d_output)
                                      -> (d_query?, d_key?, d_value?) */
  ATTN_OP_ADDITIVE_ATTENTION = 68, /* (query [B,Q,U], key [B,K,U], score_weight [U], value [B,K,V],
                                      valid_lengths?, random?) -> (output [B,Q,V], weights [B,Q,K])
                                      scores = score_weight . tanh(query + key), query and key already projected;
                                      weights = masked softmax, before dropout; output = dropout(weights) value */
  ATTN_OP_ADDITIVE_ATTENTION_GRADIENT = 69, /* (query, key, score_weight, value, valid_lengths?, random?, weights,
                                      d_output) -> (d_query?, d_key?, d_score_weight?, d_value?) */
  ATTN_OP_LAYER_NORM = 70, /* (x [...,W], gain [W], bias [W], residual? [...,W], random?)
                              -> (y [...,W], mean [...], reciprocal_std [...], sum? [...,W])
                              sum = residual + dropout(x) (without residual: dropout(x));
                              y = gain (sum - mean) reciprocal_std + bias, reciprocal_std =
                              1/sqrt(biased variance + epsilon). gain may have several axes, matching the
                              last ones of x. Without residual and dropout, sum is absent and means x. */
  ATTN_OP_LAYER_NORM_GRADIENT = 71, /* (sum, gain, mean, reciprocal_std, d_y, d_sum?, random?)
                              -> (d_x?, d_gain?, d_bias?, d_residual?)
                              d_sum is a further gradient that reaches `sum` from elsewhere */
  ATTN_OP_BATCH_NORM = 72, /* (x [N,C] , gain [C], bias [C]) -> (y [N,C], mean [C], variance [C] (biased)) */
  ATTN_OP_BATCH_NORM_GRADIENT = 73, /* (x, gain, mean, variance, d_y) -> (d_x?, d_gain?, d_bias?) */
  ATTN_OP_GRU_SEQUENCE = 74, /* (input_gates [T,B,3H], initial_state [B,H], weight [3H,H], bias? [3H])
                              -> (states [T,B,H], gates [T,B,4H])
                              gate order reset r, update z, new n (PyTorch). With a = input_gates[t] and
                              u = h weight^T + bias: r = s(a_r+u_r), z = s(a_z+u_z), n = tanh(a_n + r u_n),
                              h' = (1-z) n + z h. gates holds r, z, n, u_n in this order. */
  ATTN_OP_GRU_SEQUENCE_GRADIENT = 75, /* (initial_state, weight, states, gates, d_states [T,B,H])
                              -> (d_input_gates? [T,B,3H], d_initial_state? [B,H], d_weight? [3H,H], d_bias? [3H]) */
  ATTN_OP_CONV_1D = 76, /* (x [B,T,C], weight [O,kernel,C], bias? [O]) -> (y [B,T_out,O])  cross-correlation */
  ATTN_OP_CONV_1D_GRADIENT = 77, /* (x, weight, d_y) -> (d_x?, d_weight?, d_bias?) */
  ATTN_OP_EMBED = 78, /* (table [R,W], ids i32 [...,T], positions? [P,W], random?) -> (y [...,T,W])
                         y = dropout(scale * table[ids] + positions[t + position_offset]) */
  ATTN_OP_EMBED_GRADIENT = 79, /* (ids i32 [...,T], d_y [...,T,W], random?) -> (d_table? [R,W], d_positions? [P,W])
                         ids == ignored_id give no gradient to the table */
  ATTN_OP_CROSS_ENTROPY = 80, /* (logits [N,C], labels i32 [N]) -> (loss [N], log_sum_exp [N])
                         a label below 0 is padding: its loss is 0. With smoothing e:
                         ATTN_SMOOTH_UNIFORM   (1-e) (-log p_label) + e/C sum over all classes of -log p
                         ATTN_SMOOTH_OTHERS    sum over classes of q log(q/p): q = 1-e on the label, e/(C-2) on every
                                               other class but excluded_class, which has 0 (0 log 0 = 0) */
  ATTN_OP_CROSS_ENTROPY_GRADIENT = 81, /* (logits, labels, log_sum_exp, d_loss [N]) -> (d_logits) */
  ATTN_OP_ADAM = 82, /* (gradient [n], control [4]) -> (parameter [n] in/out, m [n] in/out, v [n] in/out)
                        control: learning rate, 1 - beta1^t, 1 - beta2^t, gradient scale. g = scale * gradient
                        (+ weight_decay * parameter unless decoupled); m = beta1 m + (1-beta1) g;
                        v = beta2 v + (1-beta2) g^2; parameter -= lr (m / c1) / (sqrt(v / c2) + epsilon);
                        decoupled: parameter *= 1 - lr weight_decay first. */
  ATTN_OP_SGD = 83,  /* (gradient [n], control [4]) -> (parameter [n] in/out, velocity? [n] in/out)
                        g as for adam, never decoupled; velocity = momentum velocity + g; parameter -= lr velocity */
  ATTN_OP_CLIP_BY_NORM = 84, /* (squared_norm []) -> (x1 in/out, ..., xn in/out)
                        x *= max_norm / (norm + epsilon) if norm > max_norm (PyTorch: always min(1, ...)) */
  ATTN_OP_KV_APPEND = 85, /* (x [B,n,W], position i32 []) -> (cache [B,capacity,W] in/out)
                        cache[:, position : position + n] = x */
  ATTN_OP_CACHED_ATTENTION = 86 /* (query [B,Q,H*D], keys [R,H*D], values [R,H*V], rows i32 [B,K],
                        valid_lengths? i32 [B] or [B,Q]) -> (output [B,Q,H*V], weights? [B,H,Q,K])
                        attention, without dropout, where key and value j of entry b are row rows[b,j] of
                        keys and values, 0 <= rows < R: hypotheses of a search share a cache, and none of it
                        is copied when they change places. For decoding: the queries are few, a gradient is
                        not asked for. */
} attn_op_kind;

typedef enum attn_unary_function {
  ATTN_UNARY_NEGATE = 0, ATTN_UNARY_EXP = 1, ATTN_UNARY_LOG = 2, ATTN_UNARY_SQRT = 3, ATTN_UNARY_RSQRT = 4,
  ATTN_UNARY_SQUARE = 5, ATTN_UNARY_RECIPROCAL = 6, ATTN_UNARY_TANH = 7, ATTN_UNARY_SIGMOID = 8,
  ATTN_UNARY_RELU = 9, /* relu(NaN) is NaN */
  ATTN_UNARY_GELU = 10, /* x Phi(x), with the error function */
  ATTN_UNARY_SIN = 11, ATTN_UNARY_COS = 12, ATTN_UNARY_ERF = 13, ATTN_UNARY_ABS = 14
} attn_unary_function;

typedef enum attn_binary_function {
  ATTN_BINARY_ADD = 0, ATTN_BINARY_SUBTRACT = 1, ATTN_BINARY_MULTIPLY = 2, ATTN_BINARY_DIVIDE = 3,
  ATTN_BINARY_MAXIMUM = 4, ATTN_BINARY_MINIMUM = 5,
  ATTN_BINARY_GREATER = 6, /* 1 or 0, in y's type */
  ATTN_BINARY_EQUAL = 7
} attn_binary_function;

typedef enum attn_reduce_function { ATTN_REDUCE_SUM = 0, ATTN_REDUCE_MEAN = 1, ATTN_REDUCE_MAX = 2 } attn_reduce_function;
typedef enum attn_masking { ATTN_MASK_EXACT = 0, ATTN_MASK_BOOK = 1 } attn_masking;
typedef enum attn_activation {
  ATTN_ACTIVATION_NONE = 0, ATTN_ACTIVATION_RELU = 1, ATTN_ACTIVATION_TANH = 2, ATTN_ACTIVATION_SIGMOID = 3
} attn_activation;
typedef enum attn_smoothing_kind { ATTN_SMOOTH_UNIFORM = 0, ATTN_SMOOTH_OTHERS = 1 } attn_smoothing_kind;

/* ---- Parameters. Each begins with struct_size = sizeof of the sender's struct; only appended to. ---- */

typedef struct attn_gradient_params { uint32_t struct_size, accumulate; } attn_gradient_params;

typedef struct attn_fill_params { uint32_t struct_size, reserved; double value; } attn_fill_params;
typedef struct attn_affine_params { uint32_t struct_size, reserved; double scale, shift; } attn_affine_params;
typedef struct attn_unary_params { uint32_t struct_size; int32_t function; } attn_unary_params;
typedef struct attn_binary_params { uint32_t struct_size; int32_t function; } attn_binary_params;
typedef struct attn_matmul_params {
  uint32_t struct_size;
  int32_t transpose_a, transpose_b; /* a is stored as [...,K,M], b as [...,N,K] */
  uint32_t reserved;
  double alpha, beta;
} attn_matmul_params;
typedef struct attn_reduce_params {
  uint32_t struct_size;
  int32_t function;
  uint32_t axes; /* bit i: axis i of x */
  int32_t accumulate;
} attn_reduce_params;
typedef struct attn_masked_softmax_params { /* also of its gradient; the gradient never accumulates */
  uint32_t struct_size, accumulate;
  int32_t masking, causal;
  int64_t causal_offset;
} attn_masked_softmax_params;
typedef struct attn_permute_params { uint32_t struct_size; int32_t axes[ATTN_MAX_RANK]; } attn_permute_params;
typedef struct attn_slice_params { uint32_t struct_size, reserved; int64_t start[ATTN_MAX_RANK]; } attn_slice_params;
typedef struct attn_concatenate_params { uint32_t struct_size; int32_t axis; } attn_concatenate_params;
typedef struct attn_scatter_params { uint32_t struct_size; int32_t ignored_id; /* -1: none */ } attn_scatter_params;
typedef struct attn_window_params { /* unfold_1d, fold_1d, conv_1d and its gradient */
  uint32_t struct_size, accumulate;
  int64_t kernel, stride, dilation, padding; /* padding: zeros before the first step; after the last as needed */
} attn_window_params;
typedef struct attn_dropout_params { uint32_t struct_size, stream; double rate; } attn_dropout_params;
typedef struct attn_linear_params { uint32_t struct_size, accumulate; int32_t activation; uint32_t reserved; } attn_linear_params;
typedef struct attn_attention_params { /* attention, additive_attention, their gradients, cached_attention */
  uint32_t struct_size, accumulate;
  int32_t heads, masking, causal; /* additive: heads 1 */
  uint32_t stream;
  int64_t causal_offset;
  double scale, dropout_rate; /* additive: scale is ignored */
} attn_attention_params;
typedef struct attn_layer_norm_params { /* also of the gradient */
  uint32_t struct_size, accumulate, stream, reserved;
  double epsilon, dropout_rate;
} attn_layer_norm_params;
typedef struct attn_batch_norm_params { uint32_t struct_size, accumulate; double epsilon; } attn_batch_norm_params;
typedef struct attn_embed_params { /* also of the gradient */
  uint32_t struct_size, accumulate, stream;
  int32_t ignored_id; /* -1: none */
  int64_t position_offset;
  double scale, dropout_rate;
} attn_embed_params;
typedef struct attn_cross_entropy_params { /* also of the gradient */
  uint32_t struct_size, accumulate;
  int32_t smoothing_kind, excluded_class;
  double smoothing;
} attn_cross_entropy_params;
typedef struct attn_adam_params {
  uint32_t struct_size;
  int32_t decoupled;
  double beta1, beta2, epsilon, weight_decay;
} attn_adam_params;
typedef struct attn_sgd_params { uint32_t struct_size, reserved; double momentum, weight_decay; } attn_sgd_params;
typedef struct attn_clip_params { uint32_t struct_size, reserved; double max_norm, epsilon; } attn_clip_params;

#ifdef __cplusplus
}
#endif
#endif
