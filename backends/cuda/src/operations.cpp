#include "operations.h"

#include <algorithm>

#include "attention.h"
#include "common/shape_check.h"
#include "kernels.h"
#include "optimizer.h"
#include "product.h"

namespace attn::cuda {

namespace {

using Kernel = void (*)(const OpView&, Call&);

/// The host's part for either type of the floating-point tensors.
struct Kernels {
  Kernel f32 = nullptr, f64 = nullptr;
};

Kernels any_type(Kernel kernel) {
  return {kernel, kernel};
}

// clang-format off
#define ATTN_KERNELS(name) Kernels{run_##name<float>, run_##name<double>}

/// NULL for what this backend does not run.
Kernels find_kernels(uint32_t kind) {
  switch (kind) {
    case ATTN_OP_FILL: return any_type(run_fill);
    case ATTN_OP_COPY: return any_type(run_copy);
    case ATTN_OP_CAST: return any_type(run_cast);
    case ATTN_OP_AFFINE: return any_type(run_affine);
    case ATTN_OP_UNARY: return ATTN_KERNELS(unary);
    case ATTN_OP_BINARY: return any_type(run_binary);
    case ATTN_OP_SELECT: return ATTN_KERNELS(select);
    case ATTN_OP_MATMUL: return ATTN_KERNELS(matmul);
    case ATTN_OP_REDUCE: return ATTN_KERNELS(reduce);
    case ATTN_OP_ARGMAX: return ATTN_KERNELS(argmax);
    case ATTN_OP_TOP_K: return ATTN_KERNELS(top_k);
    case ATTN_OP_MASKED_SOFTMAX: return ATTN_KERNELS(masked_softmax);
    case ATTN_OP_MASKED_SOFTMAX_GRADIENT: return ATTN_KERNELS(masked_softmax_gradient);
    case ATTN_OP_LOG_SUM_EXP: return ATTN_KERNELS(log_sum_exp);
    case ATTN_OP_PERMUTE: return any_type(run_permute);
    case ATTN_OP_SLICE: return any_type(run_slice);
    case ATTN_OP_SLICE_ADD: return ATTN_KERNELS(slice_add);
    case ATTN_OP_CONCATENATE: return any_type(run_concatenate);
    case ATTN_OP_GATHER_ROWS: return any_type(run_gather_rows);
    case ATTN_OP_SCATTER_ADD_ROWS: return ATTN_KERNELS(scatter_add_rows);
    case ATTN_OP_UNFOLD_1D: return ATTN_KERNELS(unfold_1d);
    case ATTN_OP_FOLD_1D: return ATTN_KERNELS(fold_1d);
    case ATTN_OP_DROPOUT: return ATTN_KERNELS(dropout);
    case ATTN_OP_SQUARED_NORM: return ATTN_KERNELS(squared_norm);
    case ATTN_OP_LINEAR: return ATTN_KERNELS(linear);
    case ATTN_OP_LINEAR_GRADIENT: return ATTN_KERNELS(linear_gradient);
    case ATTN_OP_ATTENTION: return ATTN_KERNELS(attention);
    case ATTN_OP_ATTENTION_GRADIENT: return ATTN_KERNELS(attention_gradient);
    case ATTN_OP_ADDITIVE_ATTENTION: return ATTN_KERNELS(additive_attention);
    case ATTN_OP_ADDITIVE_ATTENTION_GRADIENT: return ATTN_KERNELS(additive_attention_gradient);
    case ATTN_OP_LAYER_NORM: return ATTN_KERNELS(layer_norm);
    case ATTN_OP_LAYER_NORM_GRADIENT: return ATTN_KERNELS(layer_norm_gradient);
    case ATTN_OP_BATCH_NORM: return ATTN_KERNELS(batch_norm);
    case ATTN_OP_BATCH_NORM_GRADIENT: return ATTN_KERNELS(batch_norm_gradient);
    case ATTN_OP_GRU_SEQUENCE: return ATTN_KERNELS(gru_sequence);
    case ATTN_OP_GRU_SEQUENCE_GRADIENT: return ATTN_KERNELS(gru_sequence_gradient);
    case ATTN_OP_CONV_1D: return ATTN_KERNELS(conv_1d);
    case ATTN_OP_CONV_1D_GRADIENT: return ATTN_KERNELS(conv_1d_gradient);
    case ATTN_OP_EMBED: return ATTN_KERNELS(embed);
    case ATTN_OP_EMBED_GRADIENT: return ATTN_KERNELS(embed_gradient);
    case ATTN_OP_CROSS_ENTROPY: return ATTN_KERNELS(cross_entropy);
    case ATTN_OP_CROSS_ENTROPY_GRADIENT: return ATTN_KERNELS(cross_entropy_gradient);
    case ATTN_OP_SGD: return ATTN_KERNELS(sgd);
    case ATTN_OP_CLIP_BY_NORM: return ATTN_KERNELS(clip_by_norm);
    case ATTN_OP_KV_APPEND: return any_type(run_kv_append);
    case ATTN_OP_CACHED_ATTENTION: return ATTN_KERNELS(cached_attention);
    default: return {};
  }
}
#undef ATTN_KERNELS
// clang-format on

/// Whether one of the tensors is f64; then all floating-point ones are, except those of a cast.
bool is_double(const OpView& op) {
  const int count = op.input_count() + op.output_count();
  for (int index = 0; index < count; ++index) {
    const attn_tensor& tensor = op.input(index);
    if (is_present(tensor) && tensor.dtype == ATTN_F64) return true;
  }
  return false;
}

/// Empty, or why attention is left to its decomposition.
std::string why_not_fused(const OpView& op) {
  const auto params = op.params<attn_attention_params>();
  // f32 cannot hold -1e6 + log(keys) so exactly that weights could be computed from it again
  if (params.masking != ATTN_MASK_EXACT) return "attention with masked scores of -1e6 is not fused";
  const int64_t largest = std::max(columns(op.input(0)), columns(op.input(2))) / params.heads;
  return largest <= most_head_columns
             ? std::string()
             : message("attention is fused for heads of up to %d columns, found %lld", most_head_columns,
                       static_cast<long long>(largest));
}

/// What is left to the decomposition, or beyond what CUDA and cuBLAS can count.
std::string why_not_native(const OpView& op) {
  const bool known = op.kind() == ATTN_OP_ADAM || find_kernels(op.kind()).f32 != nullptr;
  if (!known) return "the cuda backend does not know this operation";
  if (op.kind() == ATTN_OP_ATTENTION || op.kind() == ATTN_OP_ATTENTION_GRADIENT) {
    if (std::string why_not = why_not_fused(op); !why_not.empty()) return why_not;
  }
  const int count = op.input_count() + op.output_count();
  for (int index = 0; index < count; ++index) {
    const attn_tensor& tensor = op.input(index);
    for (int axis = 0; axis < tensor.rank; ++axis) {
      if (tensor.dims[axis] <= most_matrix_rows) continue;
      return "the cuda backend counts at most 2147483647 along an axis, found " + backend::describe(tensor);
    }
  }
  return {};
}

}  // namespace

std::string why_not_supported(const attn_op& op) {
  std::string why_not = backend::check_shape(op);
  return why_not.empty() ? why_not_native(OpView(op)) : why_not;
}

std::size_t workspace_bytes(const OpView& op) {
  switch (op.kind()) {
    case ATTN_OP_SQUARED_NORM:
      return squared_norm_workspace();
    case ATTN_OP_ATTENTION_GRADIENT:
      return attention_gradient_workspace(op);
    case ATTN_OP_CACHED_ATTENTION:
      return cached_attention_workspace(op);
    case ATTN_OP_ADDITIVE_ATTENTION_GRADIENT:
      return additive_attention_gradient_workspace(op);
    case ATTN_OP_LINEAR_GRADIENT:
      return linear_gradient_workspace(op);
    case ATTN_OP_LAYER_NORM_GRADIENT:
      return layer_norm_gradient_workspace(op);
    case ATTN_OP_GRU_SEQUENCE:
      return gru_sequence_workspace(op);
    case ATTN_OP_GRU_SEQUENCE_GRADIENT:
      return gru_sequence_gradient_workspace(op);
    case ATTN_OP_CONV_1D:
      return conv_1d_workspace(op);
    case ATTN_OP_CONV_1D_GRADIENT:
      return conv_1d_gradient_workspace(op);
    default:
      return 0;
  }
}

namespace {

void require_valid(const attn_op& op, std::size_t workspace_bytes_given) {
  if (const std::string why_not = backend::check_shape(op); !why_not.empty()) {
    throw BackendError(ATTN_INVALID, why_not);
  }
  const OpView view(op);
  if (const std::string why_not = why_not_native(view); !why_not.empty()) {
    throw BackendError(ATTN_UNSUPPORTED, why_not);
  }
  if (const std::size_t needed = workspace_bytes(view); needed > workspace_bytes_given) {
    throw BackendError(ATTN_INVALID, message("the workspace has %zu bytes, the operation needs %zu",
                                             workspace_bytes_given, needed));
  }
}

}  // namespace

uint32_t run_operations(const attn_op* ops, uint32_t count, Call& call, std::size_t workspace_bytes_given) {
  require_valid(ops[0], workspace_bytes_given);
  const OpView op(ops[0]);
  if (op.kind() == ATTN_OP_ADAM) {
    uint32_t valid = 1;
    while (valid < count && ops[valid].kind == ATTN_OP_ADAM && backend::check_shape(ops[valid]).empty())
      ++valid;
    const uint32_t steps = adam_steps(ops, valid);
    (is_double(op) ? run_adam_steps<double> : run_adam_steps<float>)(ops, steps, call);
    return steps;
  }
  const Kernels kernels = find_kernels(op.kind());
  (is_double(op) ? kernels.f64 : kernels.f32)(op, call);
  return 1;
}

}  // namespace attn::cuda
