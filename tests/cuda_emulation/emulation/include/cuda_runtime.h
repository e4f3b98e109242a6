#pragma once
// Stands in for CUDA's header of this name: the part of the runtime that the CUDA plugin uses, so that its
// sources compile unchanged for the host. Semantics are CUDA's; where a GPU would do something undefined, the
// emulation fails. For tests only.
#include <math.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>

#include "block.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)

/// T name[count] in the memory that the threads of a block share; poisoned at the start of each block.
#define ATTN_SHARED(T, name, count)    \
  static const char name##_shared = 0; \
  T* const name = static_cast<T*>(     \
      attn::emulation::BlockRunner::current().shared_array(&name##_shared, sizeof(T) * (count)))

// ---- functions of kernels

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  attn::emulation::BlockRunner::current().wait_for_block({file, line});
}
inline void __syncwarp(unsigned mask = 0xffffffffu, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  attn::emulation::BlockRunner::current().wait_for_warp(mask, {file, line});
}

namespace attn::emulation {

template<typename T>
T shuffle(unsigned mask, T value, int from, Site site) {
  static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  BlockRunner& runner = BlockRunner::current();
  runner.exchange(mask, bits, site);
  bits = runner.deposited(from & (warp_size - 1), mask, site);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace attn::emulation

template<typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  const int own = attn::emulation::BlockRunner::current().lane();
  return attn::emulation::shuffle(mask, value, (own & ~(width - 1)) | (lane & (width - 1)), {file, line});
}
template<typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  const int own = attn::emulation::BlockRunner::current().lane();
  const int other = own ^ lane_mask;
  const bool within = other / width <= own / width;  // as CUDA: lower segments can be read, higher ones not
  return attn::emulation::shuffle(mask, value, within ? other : own, {file, line});
}
inline unsigned __ballot_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  attn::emulation::BlockRunner& runner = attn::emulation::BlockRunner::current();
  runner.exchange(mask, predicate != 0 ? 1 : 0, {file, line});
  unsigned votes = 0;
  for (int lane = 0; lane < attn::emulation::warp_size; ++lane) {
    if ((mask >> lane & 1u) != 0 && runner.deposited(lane, mask, {file, line}) != 0) votes |= 1u << lane;
  }
  return votes;
}
inline int __any_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  return __ballot_sync(mask, predicate, file, line) != 0 ? 1 : 0;
}

inline int __ffs(int value) {
  return __builtin_ffs(value);
}
inline int __popc(unsigned value) {
  return __builtin_popcount(value);
}
inline void __threadfence_system() {}
// There is one thread at a time, so that these are atomic as they stand.
inline int atomicCAS(int* address, int compare, int value) {
  const int old = *address;
  if (old == compare) *address = value;
  return old;
}

// ---- the host's side

enum cudaError_t : int {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal = 0, cudaStreamCaptureModeThreadLocal = 1 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaHostAllocMapped = 2;

using cudaStream_t = struct attn_emulated_stream*;
using cudaEvent_t = struct attn_emulated_event*;
using cudaGraph_t = struct attn_emulated_graph*;
using cudaGraphExec_t = struct attn_emulated_graph*;
using cudaMemPool_t = struct attn_emulated_pool*;

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  int major, minor, multiProcessorCount, memoryPoolsSupported;
};

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* data);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  void* attrs;
  unsigned numAttrs;
};

namespace attn::emulation {

/// Adds work to a stream; it runs when somebody waits for the stream.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace attn::emulation

/// Copies the arguments now and runs the kernel later, as CUDA does.
template<typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  static_assert((sizeof(Parameters) + ... + 0) <= attn::emulation::most_parameter_bytes,
                "more parameters than a kernel can have");
  static_assert((std::is_trivially_copyable_v<Parameters> && ...), "parameters are copied as bytes");
  const std::tuple<Parameters...> stored(static_cast<Parameters>(arguments)...);
  return attn::emulation::enqueue(config->stream, [=, launch = *config] {
    attn::emulation::BlockRunner::current().run(launch.gridDim, launch.blockDim, launch.dynamicSmemBytes,
                                                [&] { std::apply(kernel, stored); });
  });
}
