#pragma once
// Whether a descriptor is one that attn/op_kinds.h allows. Every backend's query() begins with this, so that
// all of them reject the same malformed descriptors and every kernel may rely on what it is given.
#include <string>

#include "shape_check_fused.h"
#include "shape_check_primitives.h"

namespace attn::backend {

namespace rules {

inline void check_primitive(const OpView& op) {
  switch (op.kind()) {
    case ATTN_OP_FILL:
      return check_fill(op);
    case ATTN_OP_COPY:
      return check_copy(op);
    case ATTN_OP_CAST:
      return check_cast(op);
    case ATTN_OP_AFFINE:
      return check_affine(op);
    case ATTN_OP_UNARY:
      return check_unary(op);
    case ATTN_OP_BINARY:
      return check_binary(op);
    case ATTN_OP_SELECT:
      return check_select(op);
    case ATTN_OP_MATMUL:
      return check_matmul(op);
    case ATTN_OP_REDUCE:
      return check_reduce(op);
    case ATTN_OP_ARGMAX:
      return check_argmax(op);
    case ATTN_OP_TOP_K:
      return check_top_k(op);
    case ATTN_OP_MASKED_SOFTMAX:
      return check_masked_softmax(op);
    case ATTN_OP_MASKED_SOFTMAX_GRADIENT:
      return check_masked_softmax_gradient(op);
    case ATTN_OP_LOG_SUM_EXP:
      return check_log_sum_exp(op);
    case ATTN_OP_PERMUTE:
      return check_permute(op);
    case ATTN_OP_SLICE:
      return check_slice(op);
    case ATTN_OP_SLICE_ADD:
      return check_slice_add(op);
    case ATTN_OP_CONCATENATE:
      return check_concatenate(op);
    case ATTN_OP_GATHER_ROWS:
      return check_gather_rows(op);
    case ATTN_OP_SCATTER_ADD_ROWS:
      return check_scatter_add_rows(op);
    case ATTN_OP_UNFOLD_1D:
      return check_unfold_1d(op);
    case ATTN_OP_FOLD_1D:
      return check_fold_1d(op);
    case ATTN_OP_DROPOUT:
      return check_dropout(op);
    case ATTN_OP_SQUARED_NORM:
      return check_squared_norm(op);
    default:
      throw MalformedOp(message("unknown operation kind %u", op.kind()));
  }
}

inline void check_any(const OpView& op) {
  switch (op.kind()) {
    case ATTN_OP_LINEAR:
      return check_linear(op);
    case ATTN_OP_LINEAR_GRADIENT:
      return check_linear_gradient(op);
    case ATTN_OP_ATTENTION:
      return check_attention(op);
    case ATTN_OP_ATTENTION_GRADIENT:
      return check_attention_gradient(op);
    case ATTN_OP_ADDITIVE_ATTENTION:
      return check_additive_attention(op);
    case ATTN_OP_ADDITIVE_ATTENTION_GRADIENT:
      return check_additive_attention_gradient(op);
    case ATTN_OP_LAYER_NORM:
      return check_layer_norm(op);
    case ATTN_OP_LAYER_NORM_GRADIENT:
      return check_layer_norm_gradient(op);
    case ATTN_OP_BATCH_NORM:
      return check_batch_norm(op);
    case ATTN_OP_BATCH_NORM_GRADIENT:
      return check_batch_norm_gradient(op);
    case ATTN_OP_GRU_SEQUENCE:
      return check_gru_sequence(op);
    case ATTN_OP_GRU_SEQUENCE_GRADIENT:
      return check_gru_sequence_gradient(op);
    case ATTN_OP_CONV_1D:
      return check_conv_1d(op);
    case ATTN_OP_CONV_1D_GRADIENT:
      return check_conv_1d_gradient(op);
    case ATTN_OP_EMBED:
      return check_embed(op);
    case ATTN_OP_EMBED_GRADIENT:
      return check_embed_gradient(op);
    case ATTN_OP_CROSS_ENTROPY:
      return check_cross_entropy(op);
    case ATTN_OP_CROSS_ENTROPY_GRADIENT:
      return check_cross_entropy_gradient(op);
    case ATTN_OP_ADAM:
      return check_adam(op);
    case ATTN_OP_SGD:
      return check_sgd(op);
    case ATTN_OP_CLIP_BY_NORM:
      return check_clip_by_norm(op);
    case ATTN_OP_KV_APPEND:
      return check_kv_append(op);
    case ATTN_OP_CACHED_ATTENTION:
      return check_cached_attention(op);
    default:
      return check_primitive(op);
  }
}

}  // namespace rules

/// Empty if the descriptor is valid, else one sentence that says why it is not.
inline std::string check_shape(const attn_op& op) {
  try {
    const OpView view(op);
    rules::expect_well_formed(view);
    rules::check_any(view);
    return {};
  } catch (const MalformedOp& malformed) {
    return malformed.what();
  }
}

/// Fills in the caller's answer to query(): supported if `why_not` is empty.
inline void answer(attn_support* support, const std::string& why_not, std::size_t workspace_bytes = 0) {
  attn_support result{};
  result.supported = why_not.empty() ? 1 : 0;
  result.workspace_bytes = why_not.empty() ? workspace_bytes : 0;
  copy_text(result.why_not, why_not.c_str());
  store_versioned(support, result);
}

}  // namespace attn::backend
