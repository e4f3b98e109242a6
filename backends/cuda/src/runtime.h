#pragma once
// The one door to CUDA: every file of this plugin that needs the runtime or cuBLAS comes through here, so
// that the tests can put their emulation of both behind it.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/guard.h"

/// T name[count] in the memory that the threads of a block share.
#ifndef ATTN_SHARED
#define ATTN_SHARED(T, name, count) __shared__ T name[count]
#endif

namespace attn::cuda {

using backend::BackendError;
using backend::message;

/// Throws unless the call succeeded. `what` is what the plugin was doing, for the message.
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // so that the next call does not report it once more
  const attn_status reported = status == cudaErrorMemoryAllocation ? ATTN_OUT_OF_MEMORY : ATTN_DEVICE_FAILED;
  throw BackendError(reported, message("CUDA failed %s: %s", what, cudaGetErrorString(status)));
}
inline void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const attn_status reported = status == CUBLAS_STATUS_ALLOC_FAILED ? ATTN_OUT_OF_MEMORY : ATTN_DEVICE_FAILED;
  throw BackendError(reported, message("cuBLAS failed %s: %s", what, cublasGetStatusString(status)));
}

/// Puts a kernel into the stream. No blocks, no launch: a grid of 0 is an error in CUDA, an empty tensor is
/// not.
template<typename... Parameters, typename... Arguments>
void launch(cudaStream_t stream, dim3 blocks, dim3 threads, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), "starting a kernel");
}

inline int64_t divide_up(int64_t count, int64_t by) {
  return (count + by - 1) / by;
}

constexpr unsigned element_threads = 256;
constexpr int64_t most_blocks = int64_t{1} << 20;

/// Blocks for kernels whose threads step through `count` elements by the size of the grid.
inline dim3 element_blocks(int64_t count) {
  return static_cast<unsigned>(std::min(divide_up(count, element_threads), most_blocks));
}

/// Blocks for kernels that step through rows, one a block.
inline dim3 row_blocks(int64_t rows) {
  return static_cast<unsigned>(std::min(rows, int64_t{0x7fffffff}));
}

/// Threads for a block that shares one row: enough to hide latency, no more than there is work for.
inline unsigned row_threads(int64_t columns) {
  return columns <= 128 ? 32 : columns <= 1024 ? 128 : 256;
}

}  // namespace attn::cuda
