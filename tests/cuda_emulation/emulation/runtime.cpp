// The host's side of the emulated runtime: streams that queue their work until somebody waits for them,
// memory that is poisoned, graphs that replay what was captured.
#include <sys/sysinfo.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda_runtime.h"

using Work = std::function<void()>;

struct attn_emulated_stream {
  std::vector<Work> queue, captured;
  bool capturing = false;
  cudaError_t failure = cudaSuccess;
};
struct attn_emulated_event {
  cudaStream_t stream = nullptr;
  std::chrono::steady_clock::time_point time;
};
struct attn_emulated_graph {
  std::vector<Work> work;
};

namespace {

constexpr size_t alignment = 256;
constexpr size_t default_memory = size_t{4} << 30;

/// What the whole process shares, as a driver does.
struct Driver {
  std::mutex mutex;  // of what follows
  std::map<void*, size_t> allocations;
  size_t in_use = 0;
  std::string fault = "unspecified launch failure";
  std::mutex running;  // one kernel at a time
};

Driver& driver() {
  static Driver instance;
  return instance;
}

long long setting(const char* name, long long otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoll(text) : otherwise;
}

int device_count() {
  return static_cast<int>(setting("ATTN_CUDA_EMULATION_DEVICES", 1));
}
size_t memory_total() {
  return static_cast<size_t>(setting("ATTN_CUDA_EMULATION_MEMORY", default_memory));
}

void forget(void* data) {
  const std::lock_guard lock(driver().mutex);
  const auto found = driver().allocations.find(data);
  if (found == driver().allocations.end()) return;
  driver().in_use -= found->second;
  driver().allocations.erase(found);
  std::free(data);
}

/// After a fault nothing runs any more on the stream, as on a GPU.
cudaError_t drain(cudaStream_t stream) {
  if (stream->capturing) return cudaErrorStreamCaptureUnsupported;
  const std::lock_guard lock(driver().running);
  std::vector<Work> queue;
  queue.swap(stream->queue);
  for (const Work& work : queue) {
    if (stream->failure != cudaSuccess) break;
    try {
      work();
    } catch (const attn::emulation::Fault& fault) {
      const std::lock_guard texts(driver().mutex);
      driver().fault = std::string("unspecified launch failure: ") + fault.what();
      stream->failure = cudaErrorLaunchFailure;
    }
  }
  return stream->failure;
}

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace

cudaError_t attn::emulation::enqueue(cudaStream_t stream, Work work) {
  (stream->capturing ? stream->captured : stream->queue).push_back(std::move(work));
  return remember(stream->failure);
}

// ---- devices

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return *count > 0 ? cudaSuccess : remember(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
  return device >= 0 && device < device_count() ? cudaSuccess : remember(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (cudaSetDevice(device) != cudaSuccess) return cudaErrorInvalidDevice;
  *properties = {};
  std::strcpy(properties->name, "emulated on the CPU");
  properties->totalGlobalMem = memory_total();
  properties->major = 7;
  properties->minor = 5;
  properties->multiProcessorCount = 1;
  properties->memoryPoolsSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const std::lock_guard lock(driver().mutex);
  *total = memory_total();
  *free = *total - std::min(*total, driver().in_use);
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorLaunchFailure:
      return driver().fault.c_str();
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    default:
      return "unrecognized error code";
  }
}

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

// ---- streams

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  *stream = new attn_emulated_stream;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t status = drain(stream);
  delete stream;
  return status;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return remember(drain(stream));
}

// ---- memory

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  *pool = nullptr;
  return cudaSetDevice(device);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t stream) {
  if (stream->capturing) return remember(cudaErrorStreamCaptureUnsupported);
  const std::lock_guard lock(driver().mutex);
  const size_t total = memory_total();
  if (bytes > total || bytes > total - std::min(total, driver().in_use)) {
    return remember(cudaErrorMemoryAllocation);
  }
#if defined(__SANITIZE_ADDRESS__)
  const size_t rounded = bytes;  // so that the byte behind the last one is out of bounds
#else
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
#endif
  if (posix_memalign(data, alignment, rounded) != 0) return remember(cudaErrorMemoryAllocation);
  std::memset(*data, 0xFF, bytes);  // NaN
  driver().allocations.emplace(*data, bytes);
  driver().in_use += bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  if (data == nullptr) return cudaSuccess;
  {
    const std::lock_guard lock(driver().mutex);
    if (driver().allocations.count(data) == 0) return remember(cudaErrorInvalidValue);
  }
  if (stream->failure != cudaSuccess) {
    forget(data);
    return cudaSuccess;
  }
  return attn::emulation::enqueue(stream, [data] { forget(data); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (kind == cudaMemcpyHostToDevice) {
    // memory that is not pinned is staged before the call returns
    const auto* begin = static_cast<const char*>(from);
    return attn::emulation::enqueue(stream, [to, staged = std::vector<char>(begin, begin + bytes)] {
      std::memcpy(to, staged.data(), staged.size());
    });
  }
  return attn::emulation::enqueue(stream, [=] { std::memcpy(to, from, bytes); });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return attn::emulation::enqueue(stream, [=] { std::memset(to, value, bytes); });
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned /*flags*/) {
  *data = std::calloc(1, bytes);
  return *data != nullptr ? cudaSuccess : remember(cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void* data) {
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned /*flags*/) {
  *device = host;
  return cudaSuccess;
}

// ---- events

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new attn_emulated_event;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->stream = stream;
  return attn::emulation::enqueue(stream, [event] { event->time = std::chrono::steady_clock::now(); });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return remember(drain(event->stream));
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return cudaSuccess;
}

// ---- graphs

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  if (stream->capturing) return remember(cudaErrorStreamCaptureUnsupported);
  stream->capturing = true;
  stream->captured.clear();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (!stream->capturing) return remember(cudaErrorInvalidValue);
  stream->capturing = false;
  *graph = new attn_emulated_graph{std::exchange(stream->captured, {})};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  *executable = new attn_emulated_graph(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  for (const Work& work : executable->work) {
    if (const cudaError_t status = attn::emulation::enqueue(stream, work); status != cudaSuccess) {
      return status;
    }
  }
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
