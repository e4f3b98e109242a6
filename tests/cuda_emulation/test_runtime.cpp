// Streams, memory and graphs of the emulation behave as CUDA's.
#include <string>
#include <vector>

#include "cuda_runtime.h"
#include "support/catch.h"

namespace {

__global__ void add(float* y, float value) {
  y[threadIdx.x] += value;
}
__global__ void never_meets() {
  if (threadIdx.x == 0) __syncthreads();
}

class Stream {
 public:
  Stream() { REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess); }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

  template<typename... Parameters, typename... Arguments>
  cudaError_t launch(unsigned threads, void (*kernel)(Parameters...), Arguments... arguments) {
    cudaLaunchConfig_t config{};
    config.gridDim = 1;
    config.blockDim = threads;
    config.stream = stream_;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
  }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace

TEST_CASE("work waits in the stream until somebody waits for it") {
  Stream stream;
  float value = 1;
  REQUIRE(stream.launch(1, add, &value, 2.0f) == cudaSuccess);
  CHECK(value == 1);
  REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  CHECK(value == 3);
}

TEST_CASE("arguments and uploaded memory are taken when the call is made") {
  Stream stream;
  void* device = nullptr;
  REQUIRE(cudaMallocAsync(&device, sizeof(float), stream.get()) == cudaSuccess);
  float host = 4, back = 0;
  REQUIRE(cudaMemcpyAsync(device, &host, sizeof host, cudaMemcpyHostToDevice, stream.get()) == cudaSuccess);
  host = 9;
  float by = 1;
  REQUIRE(stream.launch(1, add, static_cast<float*>(device), by) == cudaSuccess);
  by = 100;
  REQUIRE(cudaMemcpyAsync(&back, device, sizeof back, cudaMemcpyDeviceToHost, stream.get()) == cudaSuccess);
  REQUIRE(cudaFreeAsync(device, stream.get()) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  CHECK(back == 5);
}

TEST_CASE("a fault fails the stream from then on, and says what it was") {
  Stream stream;
  float value = 1;
  REQUIRE(stream.launch(32, never_meets) == cudaSuccess);
  REQUIRE(stream.launch(1, add, &value, 1.0f) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream.get()) == cudaErrorLaunchFailure);
  CHECK(value == 1);
  CHECK(std::string(cudaGetErrorString(cudaErrorLaunchFailure)).find("barrier") != std::string::npos);
  CHECK(stream.launch(1, add, &value, 1.0f) == cudaErrorLaunchFailure);
  (void)cudaGetLastError();
}

TEST_CASE("memory is poisoned, counted, and ends") {
  Stream stream;
  size_t before = 0, during = 0, after = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&before, &total) == cudaSuccess);
  void* data = nullptr;
  REQUIRE(cudaMallocAsync(&data, 1000, stream.get()) == cudaSuccess);
  CHECK(static_cast<unsigned char*>(data)[999] == 0xFF);
  REQUIRE(cudaMemGetInfo(&during, &total) == cudaSuccess);
  CHECK(during == before - 1000);
  REQUIRE(cudaFreeAsync(data, stream.get()) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  REQUIRE(cudaMemGetInfo(&after, &total) == cudaSuccess);
  CHECK(after == before);
  CHECK(cudaMallocAsync(&data, total + 1, stream.get()) == cudaErrorMemoryAllocation);
  CHECK(cudaFreeAsync(&total, stream.get()) == cudaErrorInvalidValue);
  (void)cudaGetLastError();
}

TEST_CASE("a captured graph runs when it is launched, as often as it is") {
  Stream stream;
  float value = 0;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  REQUIRE(stream.launch(1, add, &value, 1.0f) == cudaSuccess);
  void* data = nullptr;
  CHECK(cudaMallocAsync(&data, 8, stream.get()) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamSynchronize(stream.get()) == cudaErrorStreamCaptureUnsupported);
  REQUIRE(cudaStreamEndCapture(stream.get(), &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  CHECK(value == 0);
  for (int launches = 1; launches <= 3; ++launches) {
    REQUIRE(cudaGraphLaunch(executable, stream.get()) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
    CHECK(value == static_cast<float>(launches));
  }
  REQUIRE(cudaGraphExecDestroy(executable) == cudaSuccess);
  (void)cudaGetLastError();
}
