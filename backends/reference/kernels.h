#pragma once
// The primitives of attn/op_kinds.h, one function each. Every function may rely on check_shape() having
// accepted the descriptor. The loops are as plain as the definitions; sums are taken in f64 whatever the type
// of the tensors, so that the results can judge those of the fast backends.
#include "common/op_view.h"

namespace attn::backend::reference {

// elementwise.cpp
void fill(const OpView& op);
void cast(const OpView& op);
void affine(const OpView& op);
void unary(const OpView& op);

// broadcast.cpp
void binary(const OpView& op);
void select(const OpView& op);

// matmul.cpp
void matmul(const OpView& op);

// reduction.cpp
void reduce(const OpView& op);
void argmax(const OpView& op);
void top_k(const OpView& op);
void log_sum_exp(const OpView& op);
void squared_norm(const OpView& op);

// softmax.cpp
void masked_softmax(const OpView& op);
void masked_softmax_gradient(const OpView& op);

// movement.cpp
void copy(const OpView& op);
void permute(const OpView& op);
void slice(const OpView& op);
void slice_add(const OpView& op);
void concatenate(const OpView& op);

// indexing.cpp
void gather_rows(const OpView& op);
void scatter_add_rows(const OpView& op);

// window.cpp
void unfold_1d(const OpView& op);
void fold_1d(const OpView& op);

// random.cpp
void dropout(const OpView& op);

}  // namespace attn::backend::reference
