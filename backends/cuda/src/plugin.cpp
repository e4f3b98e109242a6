// The table of the CUDA backend.
#include <memory>

#include "common/guard.h"
#include "common/shape_check.h"
#include "context.h"
#include "operations.h"

struct attn_context : attn::cuda::Context {
  using Context::Context;
};

namespace attn::cuda {
namespace {

using backend::copy_text;
using backend::guarded;
using backend::report;

constexpr std::size_t alignment = 256;
constexpr int least_capability = 75;  // of the oldest code that the plugin is compiled to

// ---- devices

/// Why cudaGetDeviceCount() failed, in words that help: without a driver CUDA says that its version is
/// insufficient.
std::string why_no_device(cudaError_t status) {
  int driver = 0, runtime = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  (void)cudaGetLastError();
  if (driver == 0) return "no CUDA device: the NVIDIA driver is not installed or not loaded";
  if (status == cudaErrorInsufficientDriver) {
    return message("no CUDA device: the NVIDIA driver supports CUDA %d.%d, this plugin needs %d.%d",
                   driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
  }
  return message("no CUDA device: %s", cudaGetErrorString(status));
}

int32_t device_count(attn_error* error) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) {
    report(error, ATTN_OK, -1, "");
    return count;
  }
  report(error, ATTN_NO_DEVICE, -1,
         why_no_device(status == cudaSuccess ? cudaErrorNoDevice : status).c_str());
  return 0;
}

cudaDeviceProp require_device(int32_t device) {
  attn_error error{};
  const int32_t count = device_count(&error);
  if (count == 0) throw BackendError(ATTN_NO_DEVICE, error.message);
  if (device < 0 || device >= count) {
    throw BackendError(ATTN_NO_DEVICE,
                       message("there is no CUDA device %d, only 0 to %d", device, count - 1));
  }
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "asking for the properties of the device");
  return properties;
}

attn_status device_info(int32_t device, attn_device_info* info, attn_error* error) {
  return guarded(error, -1, [&] {
    const cudaDeviceProp properties = require_device(device);
    check(cudaSetDevice(device), "selecting the device");
    attn_device_info result{};
    result.host_accessible = 0;
    check(cudaMemGetInfo(&result.memory_free, &result.memory_total), "asking for the free memory");
    result.alignment = alignment;
    copy_text(result.name, std::string(properties.name).c_str());
    copy_text(result.detail, message("compute capability %d.%d, %d multiprocessors", properties.major,
                                     properties.minor, properties.multiProcessorCount)
                                 .c_str());
    backend::store_versioned(info, result);
  });
}

attn_status open(const attn_options* options, attn_context** context, attn_error* error) {
  return guarded(error, -1, [&] {
    const auto wanted = backend::load_versioned<attn_options>(options);
    const cudaDeviceProp properties = require_device(wanted.device);
    if (properties.major * 10 + properties.minor < least_capability || properties.memoryPoolsSupported == 0) {
      throw BackendError(ATTN_NO_DEVICE,
                         message("CUDA device %d (%s) has compute capability %d.%d; 7.5 with memory pools is "
                                 "the least that this plugin runs on",
                                 wanted.device, properties.name, properties.major, properties.minor));
    }
    *context = std::make_unique<attn_context>(wanted).release();
  });
}

void close(attn_context* context) {
  const std::unique_ptr<attn_context> owned(context);
}

// ---- memory

attn_status allocate(attn_context* context, std::size_t bytes, void** data, attn_error* error) {
  return guarded(error, -1, [&] {
    context->make_current();
    *data = context->allocate(bytes);
  });
}

void release(attn_context* context, void* data) {
  context->release(data);
}

attn_status upload(attn_context* context, void* to, const void* from, std::size_t bytes, attn_error* error) {
  return guarded(error, -1, [&] {
    context->make_current();
    context->upload(to, from, bytes);
  });
}

// ---- work

/// As guarded(), with the position in the batch of the operation that failed.
template<typename Function>
attn_status guarded_batch(attn_context* context, attn_error* error, Function function) noexcept {
  try {
    context->make_current();
    function();
    return report(error, ATTN_OK, -1, "");
  } catch (const OpError& failure) {
    return report(error, failure.status(), failure.op_index(), failure.what());
  } catch (...) {
    return guarded(error, -1, [] { throw; });
  }
}

attn_status download(attn_context* context, void* to, const void* from, std::size_t bytes,
                     attn_error* error) {
  return guarded_batch(context, error, [&] { context->download(to, from, bytes); });
}

attn_status query(attn_context*, const attn_op* op, attn_support* support, attn_error* error) {
  return guarded(error, -1, [&] {
    const std::string why_not = why_not_supported(*op);
    backend::answer(support, why_not, why_not.empty() ? workspace_bytes(OpView(*op)) : 0);
  });
}

attn_status run(attn_context* context, const attn_batch* batch, attn_error* error) {
  return guarded_batch(context, error, [&] { context->run(backend::load_versioned<attn_batch>(batch)); });
}

attn_status synchronize(attn_context* context, attn_error* error) {
  return guarded_batch(context, error, [&] { context->synchronize(); });
}

attn_status elapsed(attn_context* context, const attn_batch* batch, double* seconds, attn_error* error) {
  return guarded_batch(context, error,
                       [&] { *seconds = context->elapsed(backend::load_versioned<attn_batch>(batch)); });
}

constexpr attn_backend table = {
    sizeof(attn_backend),
    ATTN_ABI_MAJOR,
    ATTN_ABI_MINOR,
    "cuda",
    ATTN_BACKEND_VERSION,
    "NVIDIA GPUs through CUDA and cuBLAS",
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
}  // namespace attn::cuda

const attn_backend* attn_backend_get(const attn_host*) {
  return &attn::cuda::table;
}
