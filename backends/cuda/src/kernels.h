#pragma once
// The host's part of every operation: puts kernels and products into the stream of the call. Every function
// may rely on check_shape() having accepted the descriptor. Those that need a workspace have a function that
// says how many bytes.
#include "call.h"

/// Instantiates the host's part of an operation for f32 and f64.
#define ATTN_FOR_BOTH_TYPES(name)                  \
  template void name<float>(const OpView&, Call&); \
  template void name<double>(const OpView&, Call&);

namespace attn::cuda {

// elementwise.cu
void run_fill(const OpView& op, Call& call);
void run_copy(const OpView& op, Call& call);
void run_cast(const OpView& op, Call& call);
void run_affine(const OpView& op, Call& call);
template<typename T>
void run_unary(const OpView& op, Call& call);
void run_binary(const OpView& op, Call& call);
template<typename T>
void run_select(const OpView& op, Call& call);
template<typename T>
void run_dropout(const OpView& op, Call& call);

// matmul.cu
template<typename T>
void run_matmul(const OpView& op, Call& call);

// movement.cu
void run_permute(const OpView& op, Call& call);
void run_slice(const OpView& op, Call& call);
template<typename T>
void run_slice_add(const OpView& op, Call& call);
void run_concatenate(const OpView& op, Call& call);
void run_gather_rows(const OpView& op, Call& call);
void run_kv_append(const OpView& op, Call& call);
template<typename T>
void run_unfold_1d(const OpView& op, Call& call);
template<typename T>
void run_fold_1d(const OpView& op, Call& call);

// reduction.cu
template<typename T>
void run_reduce(const OpView& op, Call& call);
template<typename T>
void run_squared_norm(const OpView& op, Call& call);
std::size_t squared_norm_workspace();

// rows.cu
template<typename T>
void run_argmax(const OpView& op, Call& call);
template<typename T>
void run_top_k(const OpView& op, Call& call);
template<typename T>
void run_log_sum_exp(const OpView& op, Call& call);
template<typename T>
void run_masked_softmax(const OpView& op, Call& call);
template<typename T>
void run_masked_softmax_gradient(const OpView& op, Call& call);

// table.cu
template<typename T>
void run_scatter_add_rows(const OpView& op, Call& call);
template<typename T>
void run_embed(const OpView& op, Call& call);
template<typename T>
void run_embed_gradient(const OpView& op, Call& call);

// linear.cu
template<typename T>
void run_linear(const OpView& op, Call& call);
template<typename T>
void run_linear_gradient(const OpView& op, Call& call);
std::size_t linear_gradient_workspace(const OpView& op);
template<typename T>
void run_conv_1d(const OpView& op, Call& call);
std::size_t conv_1d_workspace(const OpView& op);
template<typename T>
void run_conv_1d_gradient(const OpView& op, Call& call);
std::size_t conv_1d_gradient_workspace(const OpView& op);

// norm.cu
template<typename T>
void run_layer_norm(const OpView& op, Call& call);
template<typename T>
void run_layer_norm_gradient(const OpView& op, Call& call);
std::size_t layer_norm_gradient_workspace(const OpView& op);
template<typename T>
void run_batch_norm(const OpView& op, Call& call);
template<typename T>
void run_batch_norm_gradient(const OpView& op, Call& call);

// attention.cu
template<typename T>
void run_attention(const OpView& op, Call& call);
template<typename T>
void run_attention_gradient(const OpView& op, Call& call);
std::size_t attention_gradient_workspace(const OpView& op);

// cached_attention.cu
template<typename T>
void run_cached_attention(const OpView& op, Call& call);
std::size_t cached_attention_workspace(const OpView& op);

// additive_attention.cu
template<typename T>
void run_additive_attention(const OpView& op, Call& call);
template<typename T>
void run_additive_attention_gradient(const OpView& op, Call& call);
std::size_t additive_attention_gradient_workspace(const OpView& op);

// gru.cu
template<typename T>
void run_gru_sequence(const OpView& op, Call& call);
std::size_t gru_sequence_workspace(const OpView& op);
template<typename T>
void run_gru_sequence_gradient(const OpView& op, Call& call);
std::size_t gru_sequence_gradient_workspace(const OpView& op);

// cross_entropy.cu
template<typename T>
void run_cross_entropy(const OpView& op, Call& call);
template<typename T>
void run_cross_entropy_gradient(const OpView& op, Call& call);

// optimizer.cu, beside what optimizer.h has
template<typename T>
void run_sgd(const OpView& op, Call& call);
template<typename T>
void run_clip_by_norm(const OpView& op, Call& call);

}  // namespace attn::cuda
