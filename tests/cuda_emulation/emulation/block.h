#pragma once
// Runs the blocks of a kernel, one after another, with all the threads of a block as fibers, and finds what a
// GPU would not forgive: barriers that not all threads reach, shuffles with lanes that are gone, shared
// memory that is read before it is written or written beyond its end.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "fiber.h"

/// As in CUDA.
struct dim3 {
  unsigned x, y, z;
  // NOLINTNEXTLINE(google-explicit-constructor): kernels are launched with numbers
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

/// Of the emulated thread that runs; there is one at a time in the process.
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace attn::emulation {

/// A kernel did what it must not; the message says what.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// In which order the threads that could run do run. A right kernel gives the same bits in each. The variable
/// ATTN_CUDA_EMULATION_ORDER of the environment names the one to begin with.
enum class Order { ascending, descending, random };

/// Where in a kernel a thread waits.
struct Site {
  const char* file;
  int line;
};

constexpr int warp_size = 32;
constexpr int most_threads = 1024;
constexpr unsigned most_grid_yz = 65535;
constexpr std::size_t most_shared_bytes = 48 * 1024;  // more needs an opt-in, which no kernel of ours takes
constexpr std::size_t most_parameter_bytes = 4096;

class BlockRunner {
 public:
  /// The one that runs in this process; who launches holds its lock.
  static BlockRunner& current();

  /// Runs `kernel` for every thread of every block. Throws Fault.
  void run(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, const std::function<void()>& kernel);

  void set_order(Order order) { order_ = order; }

  // What the functions of a kernel call.
  void wait_for_block(Site site);
  void wait_for_warp(uint32_t mask, Site site);
  /// Waits until all lanes of the mask have deposited a value; then deposited() gives theirs.
  void exchange(uint32_t mask, uint64_t value, Site site);
  uint64_t deposited(int lane, uint32_t mask, Site site) const;
  int lane() const { return running_ % warp_size; }
  void* shared_array(const void* tag, std::size_t bytes);
  void* dynamic_shared();

 private:
  BlockRunner();
  enum class State : uint8_t { not_started, ready, at_block_barrier, at_warp_barrier, done };
  struct Thread {
    State state = State::not_started;
    uint32_t mask = 0;
    Site site = {"", 0};
    uint64_t deposit = 0, snapshot = 0;
    Fiber* fiber = nullptr;
  };
  struct SharedArray {
    const void* tag;
    std::size_t bytes;
    std::unique_ptr<unsigned char[]> memory;
    uint64_t block;  // the one that it was last poisoned for
  };

  static void work(void* runner);
  void run_block();
  void run_warp(int first);
  bool release_warp(int first, int lanes);
  void release_block();
  void step(int thread);
  int next_not_started();
  void select(int thread);
  void suspend_running();
  void check_shared() const;
  [[noreturn]] void fail_at_warp_barrier(int first, int lanes) const;
  std::vector<int>& ordered(std::vector<int>& numbers, int count);

  Order order_ = Order::ascending;
  std::mt19937 random_{1};
  const std::function<void()>* kernel_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<dim3> indices_;  // threadIdx of each
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* running_fiber_ = nullptr;
  int running_ = -1, warp_first_ = 0, warp_lanes_ = 0;
  std::vector<SharedArray> shared_;
  std::size_t dynamic_bytes_ = 0;
  uint64_t block_ = 0;
  std::vector<int> warp_order_, lane_order_;
};

}  // namespace attn::emulation
