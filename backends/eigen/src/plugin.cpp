#include "plugin.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/guard.h"
#include "common/shape_check.h"
#include "kernels.h"

/// Threads and temporary memory live as long as the context, so that steps after the first allocate nothing.
struct attn_context {
  explicit attn_context(int thread_count) : threads(thread_count) {}

  attn::eigen::Threads threads;
  attn::eigen::Workspace workspace;
};

namespace attn::eigen::plugin {
namespace {

using backend::BackendError;
using backend::check_shape;
using backend::guarded;
using backend::is_present;
using backend::message;
using backend::report;

constexpr std::size_t alignment = 64;

using Kernel = void (*)(const OpView&, KernelContext&);

/// A kernel for either type of the floating-point tensors.
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
    case ATTN_OP_SELECT: return any_type(run_select);
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
    case ATTN_OP_ADAM: return ATTN_KERNELS(adam);
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

/// NULL, or why this valid operation is left to its decomposition.
const char* why_not_native(const OpView& op) {
  switch (op.kind()) {
    case ATTN_OP_ATTENTION:
    case ATTN_OP_ATTENTION_GRADIENT:
    case ATTN_OP_ADDITIVE_ATTENTION:
    case ATTN_OP_ADDITIVE_ATTENTION_GRADIENT:
    case ATTN_OP_CACHED_ATTENTION:
      return op.params<attn_attention_params>().masking == ATTN_MASK_EXACT
                 ? nullptr
                 : "attention with masked scores of -1e6 is not fused";
    default:
      return find_kernels(op.kind()).f32 != nullptr ? nullptr
                                                    : "the eigen backend does not know this operation";
  }
}

void run_op(const attn_op& op, KernelContext& context) {
  if (const std::string why_not = check_shape(op); !why_not.empty())
    throw BackendError(ATTN_INVALID, why_not);
  const OpView view(op);
  if (const char* why_not = why_not_native(view); why_not != nullptr)
    throw BackendError(ATTN_UNSUPPORTED, why_not);
  const Kernels kernels = find_kernels(op.kind);
  (is_double(view) ? kernels.f64 : kernels.f32)(view, context);
}

void require_device(int32_t device) {
  if (device != 0)
    throw BackendError(ATTN_NO_DEVICE,
                       message("the eigen backend has device 0 alone, not device %d", device));
}

/// The processors that this process may use.
int available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

attn_status device_info(std::int32_t device, attn_device_info* info, attn_error* error) {
  return guarded(error, -1, [&] {
    require_device(device);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    attn_device_info result{};
    result.host_accessible = 1;
    result.memory_total = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page;
    result.memory_free = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
    result.alignment = alignment;
    backend::copy_text(result.name, "CPU");
    backend::copy_text(result.detail,
                       message("%s, up to %d threads", ATTN_EIGEN_ISA, available_processors()).c_str());
    backend::store_versioned(info, result);
  });
}

attn_status open(const attn_options* options, attn_context** context, attn_error* error) {
  return guarded(error, -1, [&] {
    const auto wanted = backend::load_versioned<attn_options>(options);
    require_device(wanted.device);
    if (wanted.threads < 0 || wanted.threads > 1024)
      throw BackendError(ATTN_INVALID,
                         message("the number of threads must be in 0 .. 1024, found %d", wanted.threads));
    *context = std::make_unique<attn_context>(wanted.threads > 0 ? wanted.threads : available_processors())
                   .release();
  });
}

void close(attn_context* context) {
  const std::unique_ptr<attn_context> owned(context);
}

attn_status allocate(attn_context* /*context*/, std::size_t bytes, void** data, attn_error* error) {
  return guarded(error, -1, [&] {
    *data = allocate_aligned(bytes);
    if (*data == nullptr) throw BackendError(ATTN_OUT_OF_MEMORY, message("no memory for %zu bytes", bytes));
  });
}

void release(attn_context* /*context*/, void* data) {
  std::free(data);
}

attn_status transfer(attn_context* /*context*/, void* to, const void* from, std::size_t bytes,
                     attn_error* error) {
  return guarded(error, -1, [&] {
    if (bytes > 0) std::memcpy(to, from, bytes);
  });
}

attn_status query(attn_context* /*context*/, const attn_op* op, attn_support* support, attn_error* error) {
  return guarded(error, -1, [&] {
    std::string why_not = check_shape(*op);
    if (why_not.empty()) {
      if (const char* reason = why_not_native(OpView(*op)); reason != nullptr) why_not = reason;
    }
    backend::answer(support, why_not);
  });
}

attn_status run(attn_context* context, const attn_batch* batch, attn_error* error) {
  const auto work = backend::load_versioned<attn_batch>(batch);
  KernelContext kernel_context{context->threads, context->workspace};
  for (std::uint32_t index = 0; index < work.count; ++index) {
    const attn_status status =
        guarded(error, static_cast<int>(index), [&] { run_op(work.ops[index], kernel_context); });
    if (status != ATTN_OK) return status;
  }
  return report(error, ATTN_OK, -1, "");
}

/// run() returns when all is done, so there is nothing to wait for.
attn_status synchronize(attn_context* /*context*/, attn_error* error) {
  return report(error, ATTN_OK, -1, "");
}

attn_status elapsed(attn_context* context, const attn_batch* batch, double* seconds, attn_error* error) {
  const auto start = std::chrono::steady_clock::now();
  const attn_status status = run(context, batch, error);
  *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return status;
}

}  // namespace attn::eigen::plugin
