#pragma once
// One function an operation of attn/op_kinds.h. Every function may rely on check_shape() having accepted the
// descriptor; those of fused operations also on every tensor having elements.
#include "tensors.h"

namespace attn::libtorch {

// primitives.cpp
void fill(const Call& call);
void copy(const Call& call);
void cast(const Call& call);
void affine(const Call& call);
void unary(const Call& call);
void binary(const Call& call);
void select(const Call& call);
void matmul(const Call& call);
void reduce(const Call& call);
void argmax(const Call& call);
void top_k(const Call& call);
void log_sum_exp(const Call& call);
void squared_norm(const Call& call);

// movement.cpp
void permute(const Call& call);
void slice(const Call& call);
void slice_add(const Call& call);
void concatenate(const Call& call);
void gather_rows(const Call& call);
void scatter_add_rows(const Call& call);
void unfold_1d(const Call& call);
void fold_1d(const Call& call);
void dropout(const Call& call);
void embed(const Call& call);
void embed_gradient(const Call& call);
void kv_append(const Call& call);

// attention.cpp
void masked_softmax(const Call& call);
void masked_softmax_gradient(const Call& call);
void attention(const Call& call);
void attention_gradient(const Call& call);
void additive_attention(const Call& call);
void additive_attention_gradient(const Call& call);

// layers.cpp
void linear(const Call& call);
void linear_gradient(const Call& call);
void layer_norm(const Call& call);
void layer_norm_gradient(const Call& call);
void batch_norm(const Call& call);
void batch_norm_gradient(const Call& call);
void gru_sequence(const Call& call);
void gru_sequence_gradient(const Call& call);
void conv_1d(const Call& call);
void conv_1d_gradient(const Call& call);

// training.cpp
void cross_entropy(const Call& call);
void cross_entropy_gradient(const Call& call);
void adam(const Call& call);
void sgd(const Call& call);
void clip_by_norm(const Call& call);

}  // namespace attn::libtorch
