// The table of the reference backend: the smallest complete plugin, and the one to start a new one from.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/guard.h"
#include "common/shape_check.h"
#include "kernels.h"

/// This backend keeps nothing between calls but what it was opened with.
struct attn_context {
  attn_options options;
};

namespace attn::backend::reference {
namespace {

constexpr std::size_t alignment = 64;

using Kernel = void (*)(const OpView&);

/// NULL for what this backend does not run.
Kernel find_kernel(uint32_t kind) {
  switch (kind) {
    case ATTN_OP_FILL:
      return fill;
    case ATTN_OP_COPY:
      return copy;
    case ATTN_OP_CAST:
      return cast;
    case ATTN_OP_AFFINE:
      return affine;
    case ATTN_OP_UNARY:
      return unary;
    case ATTN_OP_BINARY:
      return binary;
    case ATTN_OP_SELECT:
      return select;
    case ATTN_OP_MATMUL:
      return matmul;
    case ATTN_OP_REDUCE:
      return reduce;
    case ATTN_OP_ARGMAX:
      return argmax;
    case ATTN_OP_TOP_K:
      return top_k;
    case ATTN_OP_MASKED_SOFTMAX:
      return masked_softmax;
    case ATTN_OP_MASKED_SOFTMAX_GRADIENT:
      return masked_softmax_gradient;
    case ATTN_OP_LOG_SUM_EXP:
      return log_sum_exp;
    case ATTN_OP_PERMUTE:
      return permute;
    case ATTN_OP_SLICE:
      return slice;
    case ATTN_OP_SLICE_ADD:
      return slice_add;
    case ATTN_OP_CONCATENATE:
      return concatenate;
    case ATTN_OP_GATHER_ROWS:
      return gather_rows;
    case ATTN_OP_SCATTER_ADD_ROWS:
      return scatter_add_rows;
    case ATTN_OP_UNFOLD_1D:
      return unfold_1d;
    case ATTN_OP_FOLD_1D:
      return fold_1d;
    case ATTN_OP_DROPOUT:
      return dropout;
    case ATTN_OP_SQUARED_NORM:
      return squared_norm;
    default:
      return nullptr;
  }
}

// ---- devices

void require_device(int32_t device) {
  if (device != 0) {
    throw BackendError(ATTN_NO_DEVICE,
                       message("the reference backend has device 0 alone, not device %d", device));
  }
}

int32_t device_count(attn_error* error) {
  report(error, ATTN_OK, -1, "");
  return 1;
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
    copy_text(result.name, "CPU");
    copy_text(result.detail, "plain loops on one thread, sums in f64");
    store_versioned(info, result);
  });
}

attn_status open(const attn_options* options, attn_context** context, attn_error* error) {
  return guarded(error, -1, [&] {
    auto opened = std::make_unique<attn_context>();
    opened->options = load_versioned<attn_options>(options);
    require_device(opened->options.device);
    *context = opened.release();
  });
}

void close(attn_context* context) {
  const std::unique_ptr<attn_context> owned(context);
}

// ---- memory

attn_status allocate(attn_context*, std::size_t bytes, void** data, attn_error* error) {
  return guarded(error, -1, [&] {
    // aligned_alloc wants a multiple of the alignment; 0 bytes get an address of their own
    const std::size_t blocks = bytes / alignment + 1;
    *data = blocks <= PTRDIFF_MAX / alignment ? std::aligned_alloc(alignment, blocks * alignment) : nullptr;
    if (*data == nullptr) throw BackendError(ATTN_OUT_OF_MEMORY, message("no memory for %zu bytes", bytes));
  });
}

void release(attn_context*, void* data) {
  std::free(data);
}

attn_status transfer(attn_context*, void* to, const void* from, std::size_t bytes, attn_error* error) {
  return guarded(error, -1, [&] {
    if (bytes > 0) std::memcpy(to, from, bytes);
  });
}

// ---- work

attn_status query(attn_context*, const attn_op* op, attn_support* support, attn_error* error) {
  return guarded(error, -1, [&] {
    std::string why_not = check_shape(*op);
    if (why_not.empty() && find_kernel(op->kind) == nullptr) why_not = "reference runs primitives only";
    answer(support, why_not);
  });
}

void run_op(const attn_op& op) {
  if (const std::string why_not = check_shape(op); !why_not.empty())
    throw BackendError(ATTN_INVALID, why_not);
  const Kernel kernel = find_kernel(op.kind);
  if (kernel == nullptr) throw BackendError(ATTN_UNSUPPORTED, "reference runs primitives only");
  kernel(OpView(op));
}

attn_status run(attn_context*, const attn_batch* batch, attn_error* error) {
  const auto work = load_versioned<attn_batch>(batch);
  for (uint32_t index = 0; index < work.count; ++index) {
    const attn_status status = guarded(error, static_cast<int>(index), [&] { run_op(work.ops[index]); });
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
    "reference",
    ATTN_BACKEND_VERSION,
    "Plain loops that define what every other backend must compute; slow",
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
}  // namespace attn::backend::reference

const attn_backend* attn_backend_get(const attn_host*) {
  return &attn::backend::reference::table;
}
