#include <algorithm>

#include "internal.h"

namespace attn::ops {
namespace {

constexpr std::array all{
    &fill_operation,
    &copy_operation,
    &cast_operation,
    &affine_operation,
    &unary_operation,
    &binary_operation,
    &select_operation,
    &matmul_operation,
    &reduce_operation,
    &argmax_operation,
    &top_k_operation,
    &masked_softmax_operation,
    &masked_softmax_gradient_operation,
    &log_sum_exp_operation,
    &permute_operation,
    &slice_operation,
    &slice_add_operation,
    &concatenate_operation,
    &gather_rows_operation,
    &scatter_add_rows_operation,
    &unfold_1d_operation,
    &fold_1d_operation,
    &dropout_operation,
    &squared_norm_operation,
    &linear_operation,
    &linear_gradient_operation,
    &attention_operation,
    &attention_gradient_operation,
    &additive_attention_operation,
    &additive_attention_gradient_operation,
    &layer_norm_operation,
    &layer_norm_gradient_operation,
    &batch_norm_operation,
    &batch_norm_gradient_operation,
    &gru_sequence_operation,
    &gru_sequence_gradient_operation,
    &conv_1d_operation,
    &conv_1d_gradient_operation,
    &embed_operation,
    &embed_gradient_operation,
    &cross_entropy_operation,
    &cross_entropy_gradient_operation,
    &adam_operation,
    &sgd_operation,
    &clip_by_norm_operation,
    &kv_append_operation,
    &cached_attention_operation,
};

}  // namespace

std::span<const Operation* const> all_operations() {
  return all;
}

const Operation* find_operation(std::uint32_t kind) {
  const auto found =
      std::find_if(all.begin(), all.end(), [kind](const Operation* row) { return row->kind == kind; });
  return found != all.end() ? *found : nullptr;
}

}  // namespace attn::ops
