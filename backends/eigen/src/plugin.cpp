// The table of the Eigen backend. This file is compiled for the baseline instruction set: it must run, and say so, on a CPU
// that cannot run the kernels.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "common/guard.h"
#include "common/shape_check.h"
#include "kernels.h"

struct attn_context {
  explicit attn_context(int threads) : pool(threads) {}

  attn::eigen::Threads pool;
  attn::eigen::Workspace workspace;
};

namespace attn::eigen {
namespace {

using backend::BackendError;
using backend::copy_text;
using backend::guarded;
using backend::load_versioned;
using backend::message;
using backend::report;

constexpr std::size_t alignment = 64;

using Kernel = void (*)(const OpView&, KernelContext&);

/// The kernels of one kind; both are the same where the kernel looks at the type itself.
struct Kernels {
  Kernel f32 = nullptr, f64 = nullptr;
};

Kernels any_type(Kernel kernel) {
  return {kernel, kernel};
}

Kernels find_kernels(uint32_t kind) {
  switch (kind) {
    case ATTN_OP_FILL: return any_type(run_fill);
    case ATTN_OP_COPY: return any_type(run_copy);
    case ATTN_OP_CAST: return any_type(run_cast);
    case ATTN_OP_AFFINE: return any_type(run_affine);
    case ATTN_OP_UNARY: return {run_unary<float>, run_unary<double>};
    case ATTN_OP_BINARY: return any_type(run_binary);
    case ATTN_OP_SELECT: return any_type(run_select);
    case ATTN_OP_MATMUL: return {run_matmul<float>, run_matmul<double>};
    case ATTN_OP_REDUCE: return {run_reduce<float>, run_reduce<double>};
    case ATTN_OP_ARGMAX: return {run_argmax<float>, run_argmax<double>};
    case ATTN_OP_TOP_K: return {run_top_k<float>, run_top_k<double>};
    case ATTN_OP_MASKED_SOFTMAX: return {run_masked_softmax<float>, run_masked_softmax<double>};
    case ATTN_OP_MASKED_SOFTMAX_GRADIENT: return {run_masked_softmax_gradient<float>, run_masked_softmax_gradient<double>};
    case ATTN_OP_LOG_SUM_EXP: return {run_log_sum_exp<float>, run_log_sum_exp<double>};
    case ATTN_OP_PERMUTE: return any_type(run_permute);
    case ATTN_OP_SLICE: return any_type(run_slice);
    case ATTN_OP_SLICE_ADD: return {run_slice_add<float>, run_slice_add<double>};
    case ATTN_OP_CONCATENATE: return any_type(run_concatenate);
    case ATTN_OP_GATHER_ROWS: return any_type(run_gather_rows);
    case ATTN_OP_SCATTER_ADD_ROWS: return {run_scatter_add_rows<float>, run_scatter_add_rows<double>};
    case ATTN_OP_UNFOLD_1D: return {run_unfold_1d<float>, run_unfold_1d<double>};
    case ATTN_OP_FOLD_1D: return {run_fold_1d<float>, run_fold_1d<double>};
    case ATTN_OP_DROPOUT: return {run_dropout<float>, run_dropout<double>};
    case ATTN_OP_SQUARED_NORM: return {run_squared_norm<float>, run_squared_norm<double>};
    case ATTN_OP_LINEAR: return {run_linear<float>, run_linear<double>};
    case ATTN_OP_LINEAR_GRADIENT: return {run_linear_gradient<float>, run_linear_gradient<double>};
    case ATTN_OP_ATTENTION: return {run_attention<float>, run_attention<double>};
    case ATTN_OP_ATTENTION_GRADIENT: return {run_attention_gradient<float>, run_attention_gradient<double>};
    case ATTN_OP_ADDITIVE_ATTENTION: return {run_additive_attention<float>, run_additive_attention<double>};
    case ATTN_OP_ADDITIVE_ATTENTION_GRADIENT:
      return {run_additive_attention_gradient<float>, run_additive_attention_gradient<double>};
    case ATTN_OP_LAYER_NORM: return {run_layer_norm<float>, run_layer_norm<double>};
    case ATTN_OP_LAYER_NORM_GRADIENT: return {run_layer_norm_gradient<float>, run_layer_norm_gradient<double>};
    case ATTN_OP_GRU_SEQUENCE: return {run_gru_sequence<float>, run_gru_sequence<double>};
    case ATTN_OP_GRU_SEQUENCE_GRADIENT: return {run_gru_sequence_gradient<float>, run_gru_sequence_gradient<double>};
    case ATTN_OP_EMBED: return {run_embed<float>, run_embed<double>};
    case ATTN_OP_EMBED_GRADIENT: return {run_embed_gradient<float>, run_embed_gradient<double>};
    case ATTN_OP_CROSS_ENTROPY: return {run_cross_entropy<float>, run_cross_entropy<double>};
    case ATTN_OP_CROSS_ENTROPY_GRADIENT: return {run_cross_entropy_gradient<float>, run_cross_entropy_gradient<double>};
    case ATTN_OP_ADAM: return {run_adam<float>, run_adam<double>};
    case ATTN_OP_SGD: return {run_sgd<float>, run_sgd<double>};
    case ATTN_OP_CLIP_BY_NORM: return {run_clip_by_norm<float>, run_clip_by_norm<double>};
    case ATTN_OP_KV_APPEND: return any_type(run_kv_append);
    default: return {};
  }
}

/// The floating-point type that decides on the kernel: that of the first tensor which has one.
int32_t type_of(const attn_op& op) {
  for (int i = 0; i < op.input_count + op.output_count; ++i) {
    const attn_tensor& tensor = op.tensors[i];
    if (backend::is_present(tensor) && (tensor.dtype == ATTN_F32 || tensor.dtype == ATTN_F64)) return tensor.dtype;
  }
  return ATTN_F32;
}

/// Why a well-formed operation does not run here natively; empty if it does.
std::string refusal(const attn_op& op) {
  if (find_kernels(op.kind).f32 == nullptr) return "eigen has no kernel for this operation";
  const OpView view(op);
  switch (op.kind) {
    case ATTN_OP_ATTENTION:
    case ATTN_OP_ATTENTION_GRADIENT:
    case ATTN_OP_ADDITIVE_ATTENTION:
    case ATTN_OP_ADDITIVE_ATTENTION_GRADIENT:
      if (view.params<attn_attention_params>().masking != ATTN_MASK_EXACT) return "eigen's attention masks exactly; the book's masking is decomposed";
      break;
    default: break;
  }
  return {};
}

// ---- devices

/// The instruction set that the kernels of this file's plugin are compiled for, and why this CPU lacks it.
const char* missing_features() {
#if defined(__x86_64__) && defined(ATTN_EIGEN_LEVEL)
  __builtin_cpu_init();
  // Single features: clang 14 does not know the names of the levels.
  if (ATTN_EIGEN_LEVEL >= 2 && !(__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3"))) return "the CPU lacks SSE4.2";
  if (ATTN_EIGEN_LEVEL >= 3 && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) return "the CPU lacks AVX2 or FMA";
  if (ATTN_EIGEN_LEVEL >= 4 && !(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))) {
    return "the CPU lacks AVX-512 (F, BW, DQ, VL)";
  }
#endif
  return nullptr;
}

int32_t device_count(attn_error* error) {
  if (const char* missing = missing_features()) {
    report(error, ATTN_NO_DEVICE, -1, missing);
    return 0;
  }
  report(error, ATTN_OK, -1, "");
  return 1;
}

void require_device(int32_t device) {
  if (const char* missing = missing_features()) throw BackendError(ATTN_NO_DEVICE, missing);
  if (device != 0) throw BackendError(ATTN_NO_DEVICE, message("the eigen backend has device 0 alone, not device %d", device));
}

attn_status device_info(int32_t device, attn_device_info* info, attn_error* error) {
  return guarded(error, -1, [&] {
    require_device(device);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    attn_device_info result{};
    result.host_accessible = 1;
    result.memory_total = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page;
    result.memory_free = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
    result.alignment = alignment;
    copy_text(result.name, "CPU " ATTN_EIGEN_ISA);
    copy_text(result.detail, "vectorised kernels, bit-identical at any number of threads");
    backend::store_versioned(info, result);
  });
}

attn_status open(const attn_options* options, attn_context** context, attn_error* error) {
  return guarded(error, -1, [&] {
    const auto wanted = load_versioned<attn_options>(options);
    require_device(wanted.device);
    const int all = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    *context = std::make_unique<attn_context>(wanted.threads > 0 ? wanted.threads : all).release();
  });
}

void close(attn_context* context) {
  const std::unique_ptr<attn_context> owned(context);
}

// ---- memory

attn_status allocate(attn_context*, std::size_t bytes, void** data, attn_error* error) {
  return guarded(error, -1, [&] {
    const std::size_t blocks = bytes / alignment + 1;  // aligned_alloc wants a multiple; 0 bytes get an address of their own
    *data = blocks <= PTRDIFF_MAX / alignment ? std::aligned_alloc(alignment, blocks * alignment) : nullptr;
    if (*data == nullptr) throw BackendError(ATTN_OUT_OF_MEMORY, message("no memory for %zu bytes", bytes));
  });
}

void release(attn_context*, void* data) {
  std::free(data);
}

attn_status transfer(attn_context*, void* to, const void* from, std::size_t bytes, attn_error* error) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return report(error, ATTN_OK, -1, "");
}

// ---- work

attn_status query(attn_context*, const attn_op* op, attn_support* support, attn_error* error) {
  return guarded(error, -1, [&] {
    std::string why_not = backend::check_shape(*op);
    if (why_not.empty()) why_not = refusal(*op);
    backend::answer(support, why_not);
  });
}

void run_op(const attn_op& op, KernelContext& context) {
  if (const std::string why_not = backend::check_shape(op); !why_not.empty()) throw BackendError(ATTN_INVALID, why_not);
  if (const std::string why_not = refusal(op); !why_not.empty()) throw BackendError(ATTN_UNSUPPORTED, why_not);
  const Kernels kernels = find_kernels(op.kind);
  (type_of(op) == ATTN_F64 ? kernels.f64 : kernels.f32)(OpView(op), context);
}

attn_status run(attn_context* context, const attn_batch* batch, attn_error* error) {
  const auto work = load_versioned<attn_batch>(batch);
  KernelContext kernel_context{context->pool, context->workspace};
  for (uint32_t index = 0; index < work.count; ++index) {
    const attn_status status = guarded(error, static_cast<int>(index), [&] { run_op(work.ops[index], kernel_context); });
    if (status != ATTN_OK) return status;
  }
  return report(error, ATTN_OK, -1, "");
}

/// run() returns when all is done, so there is nothing to wait for.
attn_status synchronize(attn_context*, attn_error* error) {
  return report(error, ATTN_OK, -1, "");
}

attn_status elapsed(attn_context* context, const attn_batch* batch, double* seconds, attn_error* error) {
  const auto start = std::chrono::steady_clock::now();
  const attn_status status = run(context, batch, error);
  *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return status;
}

constexpr attn_backend table = {
    sizeof(attn_backend),
    ATTN_ABI_MAJOR,
    ATTN_ABI_MINOR,
    "eigen",
    ATTN_BACKEND_VERSION,
    "CPU kernels for " ATTN_EIGEN_ISA ", with Eigen's vector functions",
    device_count,
    device_info,
    open,
    close,
    allocate,
    release,
    transfer,  // the device's memory is the host's: upload and download are both a copy
    transfer,
    query,
    run,
    synchronize,
    elapsed,
};

}  // namespace
}  // namespace attn::eigen

const attn_backend* attn_backend_get(const attn_host*) {
  return &attn::eigen::table;
}
