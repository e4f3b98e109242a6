#pragma once
/*
 * One function an operation kind: reads the tensors and parameters of a descriptor that has already been
 * found valid, and computes. T is float or double; functions without T look at the type themselves.
 */
#include "common/op_view.h"
#include "threads.h"

namespace attn::eigen {

/// What a kernel may use besides its tensors.
struct KernelContext {
  Threads& threads;
  Workspace& workspace;
};

using backend::OpView;

// Data movement, any type (movement.cpp, rows.cpp).
void run_fill(const OpView& op, KernelContext& context);
void run_copy(const OpView& op, KernelContext& context);
void run_cast(const OpView& op, KernelContext& context);
void run_permute(const OpView& op, KernelContext& context);
void run_slice(const OpView& op, KernelContext& context);
void run_concatenate(const OpView& op, KernelContext& context);
void run_gather_rows(const OpView& op, KernelContext& context);
void run_kv_append(const OpView& op, KernelContext& context);

// Also i32.
void run_affine(const OpView& op, KernelContext& context);
void run_binary(const OpView& op, KernelContext& context);
void run_select(const OpView& op, KernelContext& context);

// clang-format off
template<class T> void run_unary(const OpView& op, KernelContext& context);
template<class T> void run_matmul(const OpView& op, KernelContext& context);
template<class T> void run_reduce(const OpView& op, KernelContext& context);
template<class T> void run_argmax(const OpView& op, KernelContext& context);
template<class T> void run_top_k(const OpView& op, KernelContext& context);
template<class T> void run_masked_softmax(const OpView& op, KernelContext& context);
template<class T> void run_masked_softmax_gradient(const OpView& op, KernelContext& context);
template<class T> void run_log_sum_exp(const OpView& op, KernelContext& context);
template<class T> void run_slice_add(const OpView& op, KernelContext& context);
template<class T> void run_scatter_add_rows(const OpView& op, KernelContext& context);
template<class T> void run_unfold_1d(const OpView& op, KernelContext& context);
template<class T> void run_fold_1d(const OpView& op, KernelContext& context);
template<class T> void run_dropout(const OpView& op, KernelContext& context);
template<class T> void run_squared_norm(const OpView& op, KernelContext& context);

template<class T> void run_linear(const OpView& op, KernelContext& context);
template<class T> void run_linear_gradient(const OpView& op, KernelContext& context);
template<class T> void run_attention(const OpView& op, KernelContext& context);
template<class T> void run_attention_gradient(const OpView& op, KernelContext& context);
template<class T> void run_cached_attention(const OpView& op, KernelContext& context);
template<class T> void run_additive_attention(const OpView& op, KernelContext& context);
template<class T> void run_additive_attention_gradient(const OpView& op, KernelContext& context);
template<class T> void run_layer_norm(const OpView& op, KernelContext& context);
template<class T> void run_layer_norm_gradient(const OpView& op, KernelContext& context);
template<class T> void run_batch_norm(const OpView& op, KernelContext& context);
template<class T> void run_batch_norm_gradient(const OpView& op, KernelContext& context);
template<class T> void run_gru_sequence(const OpView& op, KernelContext& context);
template<class T> void run_gru_sequence_gradient(const OpView& op, KernelContext& context);
template<class T> void run_conv_1d(const OpView& op, KernelContext& context);
template<class T> void run_conv_1d_gradient(const OpView& op, KernelContext& context);
template<class T> void run_embed(const OpView& op, KernelContext& context);
template<class T> void run_embed_gradient(const OpView& op, KernelContext& context);
template<class T> void run_cross_entropy(const OpView& op, KernelContext& context);
template<class T> void run_cross_entropy_gradient(const OpView& op, KernelContext& context);
template<class T> void run_adam(const OpView& op, KernelContext& context);
template<class T> void run_sgd(const OpView& op, KernelContext& context);
template<class T> void run_clip_by_norm(const OpView& op, KernelContext& context);
// clang-format on

}  // namespace attn::eigen
