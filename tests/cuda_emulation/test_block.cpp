// What the emulation finds in kernels that a GPU would run into.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include "cuda_runtime.h"
#include "support/catch.h"

namespace {

using attn::emulation::BlockRunner;
using attn::emulation::Fault;
using attn::emulation::Order;

constexpr unsigned all_lanes = 0xffffffffu;

__global__ void reverse(float* y, const float* x, bool with_barrier) {
  ATTN_SHARED(float, tile, 256);
  tile[threadIdx.x] = x[threadIdx.x];
  if (with_barrier) __syncthreads();
  y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void sum_of_warp(int* y, const int* x) {
  int value = x[threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(all_lanes, value, offset);
  y[threadIdx.x] = value;
}

__global__ void vote(unsigned* y, int limit) {
  y[threadIdx.x] = __ballot_sync(all_lanes, static_cast<int>(threadIdx.x) < limit);
}

__global__ void barrier_after_return(int limit) {
  if (static_cast<int>(threadIdx.x) >= limit) return;
  __syncthreads();
}

__global__ void shuffle_after_return(int* y, int limit) {
  if (static_cast<int>(threadIdx.x) >= limit) return;
  y[threadIdx.x] = __shfl_xor_sync(all_lanes, 1, 1);
}

__global__ void different_barriers() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void shuffle_while_others_wait(int* y) {
  if (threadIdx.x % 2 == 0) {
    y[threadIdx.x] = __shfl_xor_sync(all_lanes, 1, 1);
  } else {
    __syncthreads();
  }
}

__global__ void reads_what_another_block_wrote(float* y) {
  ATTN_SHARED(float, tile, 1);
  y[blockIdx.x] = tile[0];
  tile[0] = 1;
}

__global__ void takes_shared(double* y) {
  ATTN_SHARED(double, tile, 6145);
  y[0] = tile[0];
}

__global__ void identify(int* y) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  ++y[block * blockDim.x * blockDim.y * blockDim.z + thread];
}

template<typename Kernel>
void run(dim3 grid, dim3 block, Kernel kernel, Order order = Order::ascending) {
  BlockRunner::current().set_order(order);
  const std::function<void()> body = kernel;
  BlockRunner::current().run(grid, block, 0, body);
}

template<typename Kernel>
std::string fault_of(dim3 grid, dim3 block, Kernel kernel) {
  try {
    run(grid, block, kernel);
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "no fault";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr Order orders[] = {Order::ascending, Order::descending, Order::random};

}  // namespace

TEST_CASE("every thread of every block runs once and knows where it is") {
  for (const Order order : orders) {
    std::vector<int> runs(3 * 2 * 2 * 4 * 3 * 2, 0);
    run(
        dim3(3, 2, 2), dim3(4, 3, 2), [&] { identify(runs.data()); }, order);
    CHECK(std::all_of(runs.begin(), runs.end(), [](int count) { return count == 1; }));
  }
}

TEST_CASE("a barrier lets threads see what the others wrote, in any order of the threads") {
  std::vector<float> x(256), y(256);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (const Order order : orders) {
    run(
        1, 256, [&] { reverse(y.data(), x.data(), true); }, order);
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == x[255 - i]);
  }
}

TEST_CASE("a missing barrier gives NaN where a thread reads before another has written") {
  const std::vector<float> x(256, 1);
  for (const Order order : orders) {
    std::vector<float> y(256);
    run(
        1, 256, [&] { reverse(y.data(), x.data(), false); }, order);
    CHECK(std::count_if(y.begin(), y.end(), [](float value) { return std::isnan(value); }) > 0);
  }
}

TEST_CASE("shuffles exchange values between the lanes of a warp") {
  std::vector<int> x(64), y(64);
  for (int i = 0; i < 64; ++i) x[i] = i;
  for (const Order order : orders) {
    run(
        1, 64, [&] { sum_of_warp(y.data(), x.data()); }, order);
    CHECK(y[0] == 496);
    CHECK(y[31] == 496);
    CHECK(y[32] == 1520);
  }
}

TEST_CASE("a ballot has a bit for each lane") {
  std::vector<unsigned> y(32);
  run(1, 32, [&] { vote(y.data(), 5); });
  CHECK(y[0] == 31u);
  CHECK(y[31] == 31u);
}

TEST_CASE("a barrier that some threads never reach is a fault that names its line") {
  const std::string fault = fault_of(1, 64, [] { barrier_after_return(40); });
  CHECK(contains(fault, "not all threads reach the barrier at test_block.cpp:"));
  CHECK(contains(fault, "thread 40 has returned"));
}

TEST_CASE("threads that wait at different barriers are a fault") {
  CHECK(contains(fault_of(1, 64, [] { different_barriers(); }), "different barriers"));
}

TEST_CASE("a shuffle with a lane that has returned is a fault that names the lane") {
  std::vector<int> y(32);
  const std::string fault = fault_of(1, 32, [&] { shuffle_after_return(y.data(), 7); });
  CHECK(contains(fault, "for lane 7, which has returned"));
}

TEST_CASE("a shuffle with a lane that the block does not have is a fault") {
  std::vector<int> y(20);
  const std::string fault = fault_of(1, 20, [&] { shuffle_after_return(y.data(), 20); });
  CHECK(contains(fault, "for lane 20, which the block does not have"));
}

TEST_CASE("a shuffle with a lane that waits for the block is a fault") {
  std::vector<int> y(32);
  CHECK(contains(fault_of(1, 32, [&] { shuffle_while_others_wait(y.data()); }), "which waits for the block"));
}

TEST_CASE("shared memory is poisoned at the start of each block") {
  std::vector<float> y(3, 0);
  run(3, 1, [&] { reads_what_another_block_wrote(y.data()); });
  CHECK(std::all_of(y.begin(), y.end(), [](float value) { return std::isnan(value); }));
}

TEST_CASE("more than a GPU can launch is a fault") {
  CHECK(contains(fault_of(1, 1025, [] {}), "1025 threads"));
  CHECK(contains(fault_of(dim3(1, 65536), 1, [] {}), "a grid of"));
  CHECK(contains(fault_of(0, 1, [] {}), "a grid of"));
  double y = 0;
  CHECK(contains(fault_of(1, 1, [&] { takes_shared(&y); }), "bytes of shared memory"));
}

TEST_CASE("the emulation goes on after a fault") {
  CHECK(fault_of(1, 64, [] { barrier_after_return(40); }) != "no fault");
  std::vector<float> y(256);
  const std::vector<float> x(256, 2);
  run(1, 256, [&] { reverse(y.data(), x.data(), true); });
  CHECK(std::all_of(y.begin(), y.end(), [](float value) { return value == 2; }));
}
