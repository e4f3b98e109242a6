// The table of the LibTorch backend: devices, memory, and which function runs which operation.
#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "common/guard.h"
#include "common/shape_check.h"
#include "kernels.h"
#include "warnings.h"

struct attn_context {
  attn_options options;
  at::Device device;
  std::unordered_map<void*, at::Tensor> memory;  // of a device other than the processor
};

namespace attn::libtorch {
namespace {

constexpr std::size_t alignment = 64;

using Kernel = void (*)(const Call&);

/// What the program lends to the plugin.
std::atomic<const attn_host*> host{nullptr};

struct Entry {
  uint32_t kind;
  Kernel kernel;
};

constexpr Entry entries[] = {
    {ATTN_OP_FILL, fill},
    {ATTN_OP_COPY, copy},
    {ATTN_OP_CAST, cast},
    {ATTN_OP_AFFINE, affine},
    {ATTN_OP_UNARY, unary},
    {ATTN_OP_BINARY, binary},
    {ATTN_OP_SELECT, select},
    {ATTN_OP_MATMUL, matmul},
    {ATTN_OP_REDUCE, reduce},
    {ATTN_OP_ARGMAX, argmax},
    {ATTN_OP_TOP_K, top_k},
    {ATTN_OP_MASKED_SOFTMAX, masked_softmax},
    {ATTN_OP_MASKED_SOFTMAX_GRADIENT, masked_softmax_gradient},
    {ATTN_OP_LOG_SUM_EXP, log_sum_exp},
    {ATTN_OP_PERMUTE, permute},
    {ATTN_OP_SLICE, slice},
    {ATTN_OP_SLICE_ADD, slice_add},
    {ATTN_OP_CONCATENATE, concatenate},
    {ATTN_OP_GATHER_ROWS, gather_rows},
    {ATTN_OP_SCATTER_ADD_ROWS, scatter_add_rows},
    {ATTN_OP_UNFOLD_1D, unfold_1d},
    {ATTN_OP_FOLD_1D, fold_1d},
    {ATTN_OP_DROPOUT, dropout},
    {ATTN_OP_SQUARED_NORM, squared_norm},
    {ATTN_OP_LINEAR, linear},
    {ATTN_OP_LINEAR_GRADIENT, linear_gradient},
    {ATTN_OP_ATTENTION, attention},
    {ATTN_OP_ATTENTION_GRADIENT, attention_gradient},
    {ATTN_OP_ADDITIVE_ATTENTION, additive_attention},
    {ATTN_OP_ADDITIVE_ATTENTION_GRADIENT, additive_attention_gradient},
    {ATTN_OP_LAYER_NORM, layer_norm},
    {ATTN_OP_LAYER_NORM_GRADIENT, layer_norm_gradient},
    {ATTN_OP_BATCH_NORM, batch_norm},
    {ATTN_OP_BATCH_NORM_GRADIENT, batch_norm_gradient},
    {ATTN_OP_GRU_SEQUENCE, gru_sequence},
    {ATTN_OP_GRU_SEQUENCE_GRADIENT, gru_sequence_gradient},
    {ATTN_OP_CONV_1D, conv_1d},
    {ATTN_OP_CONV_1D_GRADIENT, conv_1d_gradient},
    {ATTN_OP_EMBED, embed},
    {ATTN_OP_EMBED_GRADIENT, embed_gradient},
    {ATTN_OP_CROSS_ENTROPY, cross_entropy},
    {ATTN_OP_CROSS_ENTROPY_GRADIENT, cross_entropy_gradient},
    {ATTN_OP_ADAM, adam},
    {ATTN_OP_SGD, sgd},
    {ATTN_OP_CLIP_BY_NORM, clip_by_norm},
    {ATTN_OP_KV_APPEND, kv_append},
};

/// NULL for what this backend does not run.
Kernel find_kernel(uint32_t kind) {
  for (const Entry& entry : entries) {
    if (entry.kind == kind) return entry.kernel;
  }
  return nullptr;
}

// ---- errors

/// One sentence of what LibTorch says: without the place in its source before it, and the trace after it.
std::string sentence_of(const c10::Error& failure) {
  std::string text = failure.what_without_backtrace();
  if (const auto allocator = text.find("DefaultCPUAllocator"); allocator != std::string::npos) {
    text.erase(0, allocator);
  }
  return text.substr(0, text.find('\n'));
}

/// LibTorch's exceptions as ours.
template<typename Function>
void translated(Function&& function) {
  try {
    function();
  } catch (const c10::Error& failure) {
    const std::string text = sentence_of(failure);
    // only some releases have a type of their own for this, and only for devices
    const bool memory = text.find("tried to allocate") != std::string::npos ||
                        text.find("out of memory") != std::string::npos;
    throw BackendError(memory ? ATTN_OUT_OF_MEMORY : ATTN_INTERNAL, text);
  }
}

/// What every function of the table runs in.
template<typename Function>
attn_status guarded_call(attn_error* error, int op_index, Function&& function) noexcept {
  return guarded(error, op_index, [&] { translated(function); });
}

// ---- devices: the processor, then the CUDA devices that LibTorch has

int32_t cuda_device_count() {
  return at::hasCUDA() ? c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).deviceCount() : 0;
}

at::Device find_device(int32_t device) {
  const int32_t count = 1 + cuda_device_count();
  if (device < 0 || device >= count) {
    throw BackendError(
        ATTN_NO_DEVICE,
        message("the torch backend has %d device(s), the first of which is 0; there is no device %d", count,
                device));
  }
  if (device == 0) return at::Device(at::kCPU);
  return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device - 1));
}

int32_t device_count(attn_error* error) {
  int32_t count = 1;
  guarded_call(error, -1, [&] { count += cuda_device_count(); });
  return count;
}

/// Free and total memory of the current CUDA device. LibTorch has no function for it in all its releases; the
/// library of CUDA that it loaded has.
void cuda_memory(attn_device_info& info) {
  using MemoryGetInfo = int (*)(std::size_t*, std::size_t*);
  const auto get_info = reinterpret_cast<MemoryGetInfo>(dlsym(RTLD_DEFAULT, "cudaMemGetInfo"));
  if (get_info == nullptr || get_info(&info.memory_free, &info.memory_total) != 0) {
    info.memory_free = info.memory_total = 0;
  }
}

attn_status device_info(int32_t index, attn_device_info* info, attn_error* error) {
  return guarded_call(error, -1, [&] {
    const at::Device device = find_device(index);
    attn_device_info result{};
    result.alignment = alignment;
    if (device.is_cpu()) {
      const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
      result.host_accessible = 1;
      result.memory_total = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page;
      result.memory_free = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
      copy_text(result.name, "CPU");
    } else {
      const c10::DeviceGuard guard(device);
      cuda_memory(result);
      copy_text(result.name, device.str().c_str());
    }
    copy_text(result.detail, "LibTorch " TORCH_VERSION);
    store_versioned(info, result);
  });
}

attn_status open(const attn_options* options, attn_context** context, attn_error* error) {
  return guarded_call(error, -1, [&] {
    const auto given = load_versioned<attn_options>(options);
    auto opened = std::make_unique<attn_context>(attn_context{given, find_device(given.device), {}});
    if (!opened->device.is_cpu()) {
      at::globalContext().setAllowTF32CuBLAS(given.allow_tf32 != 0);
      at::globalContext().setDeterministicAlgorithms(given.deterministic != 0, /*warn_only=*/true);
    }
    *context = opened.release();
  });
}

void close(attn_context* context) {
  const std::unique_ptr<attn_context> owned(context);
}

// ---- memory

void* allocate_on_host(std::size_t bytes) {
  // aligned_alloc wants a multiple of the alignment; 0 bytes get an address of their own
  const std::size_t blocks = bytes / alignment + 1;
  return blocks <= PTRDIFF_MAX / alignment ? std::aligned_alloc(alignment, blocks * alignment) : nullptr;
}

void* allocate_on_device(attn_context& context, std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) return nullptr;
  const int64_t size = std::max<int64_t>(static_cast<int64_t>(bytes), 1);
  at::Tensor owner = at::empty({size}, at::TensorOptions().dtype(at::kByte).device(context.device));
  void* data = owner.data_ptr();
  context.memory.emplace(data, std::move(owner));
  return data;
}

attn_status allocate(attn_context* context, std::size_t bytes, void** data, attn_error* error) {
  return guarded_call(error, -1, [&] {
    *data = context->device.is_cpu() ? allocate_on_host(bytes) : allocate_on_device(*context, bytes);
    if (*data == nullptr) throw BackendError(ATTN_OUT_OF_MEMORY, message("no memory for %zu bytes", bytes));
  });
}

void release(attn_context* context, void* data) {
  if (context->device.is_cpu()) {
    std::free(data);
  } else {
    guarded_call(nullptr, -1, [&] { context->memory.erase(data); });
  }
}

at::Tensor bytes_at(void* data, std::size_t bytes, at::Device device) {
  return at::for_blob(data, {static_cast<int64_t>(bytes)})
      .options(at::TensorOptions().dtype(at::kByte).device(device))
      .target_device(device)
      .make_tensor();
}

attn_status transfer(attn_context* context, void* to, at::Device to_device, const void* from,
                     at::Device from_device, std::size_t bytes, attn_error* error) {
  return guarded_call(error, -1, [&] {
    if (bytes == 0) return;
    if (context->device.is_cpu()) {
      std::memcpy(to, from, bytes);
    } else {
      bytes_at(to, bytes, to_device).copy_(bytes_at(const_cast<void*>(from), bytes, from_device));
    }
  });
}

attn_status upload(attn_context* context, void* to, const void* from, std::size_t bytes, attn_error* error) {
  return transfer(context, to, context->device, from, at::kCPU, bytes, error);
}
attn_status download(attn_context* context, void* to, const void* from, std::size_t bytes,
                     attn_error* error) {
  return transfer(context, to, at::kCPU, from, context->device, bytes, error);
}

// ---- work

/// Empty if this backend runs the operation.
std::string why_not_run(const attn_op& op) {
  if (std::string malformed = check_shape(op); !malformed.empty()) return malformed;
  if (find_kernel(op.kind) == nullptr) return "torch has no kernel for this operation";
  if (op.kind < ATTN_OP_LINEAR) return {};
  for (int index = 0; index < op.input_count + op.output_count; ++index) {
    const attn_tensor& tensor = op.tensors[index];
    if (is_present(tensor) && elements(tensor) == 0)
      return "a tensor is empty, which torch leaves to the primitives";
  }
  return {};
}

attn_status query(attn_context*, const attn_op* op, attn_support* support, attn_error* error) {
  return guarded_call(error, -1, [&] { answer(support, why_not_run(*op)); });
}

/// A function of a library that LibTorch brought along; NULL if it did not.
template<typename Function>
Function* find_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// LibTorch takes its number of threads from OpenMP, which has one for each calling thread.
/// (at::set_num_threads would also replace a pool that no operation here uses, whose threads are busy while
/// they wait.) Products are shared out here, see multiply(): an OpenBLAS beneath LibTorch, whose bits depend
/// on its threads, gets one.
void use_threads(int32_t threads) {
  static auto* const set_openmp_threads = find_function<void(int)>("omp_set_num_threads");
  static auto* const blas_threads = find_function<int()>("openblas_get_num_threads");
  static auto* const set_blas_threads = find_function<void(int)>("openblas_set_num_threads");
  if (blas_threads != nullptr && set_blas_threads != nullptr && blas_threads() != 1) set_blas_threads(1);
  if (threads <= 0 || at::get_num_threads() == threads) return;
  if (set_openmp_threads != nullptr) set_openmp_threads(threads);
  if (at::get_num_threads() != threads) at::set_num_threads(threads);  // it was built without OpenMP
}

void run_op(const attn_op& op, at::Device device) {
  if (const std::string why_not = why_not_run(op); !why_not.empty())
    throw BackendError(ATTN_INVALID, why_not);
  find_kernel(op.kind)(Call(op, device));
}

attn_status run(attn_context* context, const attn_batch* batch, attn_error* error) {
  const auto work = load_versioned<attn_batch>(batch);
  const attn_status ready = guarded_call(error, -1, [&] { use_threads(context->options.threads); });
  if (ready != ATTN_OK) return ready;
  const c10::InferenceMode no_gradients;
  const WarningsToLog warnings(host);
  for (uint32_t index = 0; index < work.count; ++index) {
    const attn_status status = guarded_call(error, static_cast<int>(index), [&] {
      const c10::DeviceGuard guard(context->device);
      run_op(work.ops[index], context->device);
    });
    if (status != ATTN_OK) return status;
  }
  return report(error, ATTN_OK, -1, "");
}

attn_status synchronize(attn_context* context, attn_error* error) {
  return guarded_call(error, -1, [&] {
    if (context->device.is_cpu()) return;  // run() returns when all is done
    c10::impl::VirtualGuardImpl(context->device.type()).getStream(context->device).synchronize();
  });
}

attn_status elapsed(attn_context* context, const attn_batch* batch, double* seconds, attn_error* error) {
  const attn_status ready = synchronize(context, error);
  if (ready != ATTN_OK) return ready;
  const auto start = std::chrono::steady_clock::now();
  attn_status status = run(context, batch, error);
  if (status == ATTN_OK) status = synchronize(context, error);
  *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return status;
}

constexpr attn_backend table = {
    sizeof(attn_backend),
    ATTN_ABI_MAJOR,
    ATTN_ABI_MINOR,
    "torch",
    ATTN_BACKEND_VERSION,
    "The tensor functions of LibTorch " TORCH_VERSION ", on processors and CUDA devices",
    device_count,
    device_info,
    open,
    close,
    allocate,
    release,
    upload,
    download,
    query,
    run,
    synchronize,
    elapsed,
};

}  // namespace
}  // namespace attn::libtorch

const attn_backend* attn_backend_get(const attn_host* host) {
  attn::libtorch::host = host;
  return &attn::libtorch::table;
}
