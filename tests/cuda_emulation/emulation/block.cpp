#include "block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace attn::emulation {

namespace {

constexpr unsigned char poison = 0xFF;  // as floating-point numbers: NaN
constexpr unsigned char canary = 0xA5;
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t canary_bytes = 0;  // AddressSanitizer names the line
#else
constexpr std::size_t canary_bytes = 64;
#endif

const char dynamic_tag = 0;

std::string text_of(Site site) {
  const char* slash = std::strrchr(site.file, '/');
  return std::string(slash != nullptr ? slash + 1 : site.file) + ":" + std::to_string(site.line);
}

}  // namespace

BlockRunner& BlockRunner::current() {
  static BlockRunner runner;
  return runner;
}

BlockRunner::BlockRunner() {
  const char* variable = std::getenv("ATTN_CUDA_EMULATION_ORDER");
  const std::string order = variable != nullptr ? variable : "";
  if (order == "descending") order_ = Order::descending;
  if (order == "random") order_ = Order::random;
}

void BlockRunner::run(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes,
                      const std::function<void()>& kernel) {
  const uint64_t count = uint64_t{block.x} * block.y * block.z;
  if (count == 0 || count > most_threads) {
    throw Fault("invalid configuration: " + std::to_string(count) + " threads in a block");
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > most_grid_yz ||
      grid.z > most_grid_yz) {
    throw Fault("invalid configuration: a grid of " + std::to_string(grid.x) + " x " +
                std::to_string(grid.y) + " x " + std::to_string(grid.z) + " blocks");
  }
  kernel_ = &kernel;
  gridDim = grid;
  blockDim = block;
  dynamic_bytes_ = dynamic_shared_bytes;
  shared_.clear();
  threads_.resize(count);
  indices_.resize(count);
  for (unsigned i = 0; i < count; ++i) {
    indices_[i] = dim3(i % block.x, i / block.x % block.y, i / (block.x * block.y));
  }
  try {
    for (unsigned z = 0; z < grid.z; ++z) {
      for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; ++x) {
          blockIdx = dim3(x, y, z);
          run_block();
        }
      }
    }
  } catch (const Fault&) {
    // threads of the failed block wait on their stacks for ever: those fibers cannot be used again
    idle_.clear();
    fibers_.clear();
    throw;
  }
}

std::vector<int>& BlockRunner::ordered(std::vector<int>& numbers, int count) {
  numbers.resize(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  if (order_ == Order::descending) std::reverse(numbers.begin(), numbers.end());
  if (order_ == Order::random) std::shuffle(numbers.begin(), numbers.end(), random_);
  return numbers;
}

void BlockRunner::run_block() {
  ++block_;
  std::fill(threads_.begin(), threads_.end(), Thread{});
  const int warps = (static_cast<int>(threads_.size()) + warp_size - 1) / warp_size;
  for (;;) {
    for (const int warp : ordered(warp_order_, warps)) run_warp(warp * warp_size);
    if (std::all_of(threads_.begin(), threads_.end(),
                    [](const Thread& thread) { return thread.state == State::done; })) {
      break;
    }
    release_block();
  }
  check_shared();
}

/// Until all its threads wait for the block or are done.
void BlockRunner::run_warp(int first) {
  const int lanes = std::min(warp_size, static_cast<int>(threads_.size()) - first);
  warp_first_ = first;
  warp_lanes_ = lanes;
  do {
    for (const int lane : ordered(lane_order_, lanes)) {
      const State state = threads_[first + lane].state;
      if (state == State::ready || state == State::not_started) step(first + lane);
    }
  } while (release_warp(first, lanes));
}

/// Lets lanes go on of which all that their mask names have arrived. False if none waits.
bool BlockRunner::release_warp(int first, int lanes) {
  bool waiting = false, released = false;
  for (int lane = 0; lane < lanes; ++lane) {
    const Thread& thread = threads_[first + lane];
    if (thread.state != State::at_warp_barrier) continue;
    waiting = true;
    const uint32_t mask = thread.mask;
    const Site site = thread.site;
    bool complete = (mask >> lane & 1u) != 0;
    for (int other = 0; complete && other < warp_size; ++other) {
      if ((mask >> other & 1u) == 0) continue;
      complete = other < lanes && threads_[first + other].state == State::at_warp_barrier &&
                 threads_[first + other].mask == mask && threads_[first + other].site.line == site.line;
    }
    if (!complete) continue;
    for (int other = 0; other < lanes; ++other) {
      if ((mask >> other & 1u) == 0) continue;
      threads_[first + other].state = State::ready;
      threads_[first + other].snapshot = threads_[first + other].deposit;
    }
    released = true;
  }
  if (waiting && !released) fail_at_warp_barrier(first, lanes);
  return waiting;
}

void BlockRunner::fail_at_warp_barrier(int first, int lanes) const {
  for (int lane = 0; lane < lanes; ++lane) {
    const Thread& thread = threads_[first + lane];
    if (thread.state != State::at_warp_barrier) continue;
    for (int other = 0; other < warp_size; ++other) {
      if ((thread.mask >> other & 1u) == 0) continue;
      const std::string who = "thread " + std::to_string(first + lane) + " waits at " + text_of(thread.site) +
                              " for lane " + std::to_string(other);
      if (other >= lanes) throw Fault(who + ", which the block does not have");
      const Thread& awaited = threads_[first + other];
      if (awaited.state == State::done) throw Fault(who + ", which has returned");
      if (awaited.state == State::at_block_barrier) {
        throw Fault(who + ", which waits for the block at " + text_of(awaited.site));
      }
      if (awaited.mask != thread.mask) throw Fault(who + ", which names other lanes in its mask");
      if (awaited.site.line != thread.site.line) {
        throw Fault(who + ", which waits at " + text_of(awaited.site));
      }
    }
  }
  throw Fault("lanes wait with a mask that does not name themselves");
}

/// All threads wait for the block: lets them go on.
void BlockRunner::release_block() {
  const Thread* first = nullptr;
  for (const Thread& thread : threads_) {
    if (thread.state == State::at_block_barrier) first = &thread;
  }
  for (std::size_t index = 0; index < threads_.size(); ++index) {
    Thread& thread = threads_[index];
    if (thread.state == State::done) {
      throw Fault("not all threads reach the barrier at " + text_of(first->site) + ": thread " +
                  std::to_string(index) + " has returned");
    }
    if (thread.site.line != first->site.line || std::strcmp(thread.site.file, first->site.file) != 0) {
      throw Fault("threads wait at different barriers, " + text_of(first->site) + " and " +
                  text_of(thread.site));
    }
  }
  for (Thread& thread : threads_) thread.state = State::ready;
}

void BlockRunner::select(int thread) {
  running_ = thread;
  threadIdx = indices_[thread];
}

void BlockRunner::step(int thread) {
  Thread& state = threads_[thread];
  if (state.fiber == nullptr) {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(&BlockRunner::work, this));
      idle_.push_back(fibers_.back().get());
    }
    state.fiber = idle_.back();
    idle_.pop_back();
  }
  select(thread);
  running_fiber_ = state.fiber;
  state.fiber->resume();
}

/// The next thread of this warp, or -1; in any order but the ascending one the scheduler chooses.
int BlockRunner::next_not_started() {
  if (order_ != Order::ascending) return -1;
  const int next = running_ + 1;
  return next < warp_first_ + warp_lanes_ && threads_[next].state == State::not_started ? next : -1;
}

/// What each fiber does: runs threads from beginning to end. A fiber whose thread ends without having waited
/// goes on with the next, so that kernels without barriers need no switches.
void BlockRunner::work(void* runner) {
  auto& self = *static_cast<BlockRunner*>(runner);
  for (;;) {
    Fiber* const fiber = self.running_fiber_;
    (*self.kernel_)();
    self.threads_[self.running_].state = State::done;
    if (const int next = self.next_not_started(); next >= 0) {
      self.threads_[next].fiber = fiber;
      self.select(next);
      continue;
    }
    self.idle_.push_back(fiber);
    fiber->suspend();
  }
}

void BlockRunner::suspend_running() {
  threads_[running_].fiber->suspend();
}

void BlockRunner::wait_for_block(Site site) {
  Thread& thread = threads_[running_];
  thread.state = State::at_block_barrier;
  thread.site = site;
  suspend_running();
}

void BlockRunner::wait_for_warp(uint32_t mask, Site site) {
  Thread& thread = threads_[running_];
  thread.state = State::at_warp_barrier;
  thread.mask = mask;
  thread.site = site;
  suspend_running();
}

void BlockRunner::exchange(uint32_t mask, uint64_t value, Site site) {
  threads_[running_].deposit = value;
  wait_for_warp(mask, site);
}

uint64_t BlockRunner::deposited(int lane, uint32_t mask, Site /*site*/) const {
  // A lane that takes no part has no defined value; one that is all ones shows up as NaN.
  if ((mask >> lane & 1u) == 0) return ~uint64_t{0};
  return threads_[running_ / warp_size * warp_size + lane].snapshot;
}

void* BlockRunner::shared_array(const void* tag, std::size_t bytes) {
  for (SharedArray& array : shared_) {
    if (array.tag != tag) continue;
    if (array.block != block_) {
      std::memset(array.memory.get(), poison, array.bytes);
      array.block = block_;
    }
    return array.memory.get();
  }
  std::unique_ptr<unsigned char[]> memory(new unsigned char[bytes + canary_bytes]);
  std::memset(memory.get(), poison, bytes);
  std::memset(memory.get() + bytes, canary, canary_bytes);
  shared_.push_back({tag, bytes, std::move(memory), block_});
  return shared_.back().memory.get();
}

void* BlockRunner::dynamic_shared() {
  return shared_array(&dynamic_tag, dynamic_bytes_);
}

void BlockRunner::check_shared() const {
  std::size_t total = 0;
  for (const SharedArray& array : shared_) {
    total += (array.bytes + 15) / 16 * 16;
    const unsigned char* end = array.memory.get() + array.bytes;
    if (!std::all_of(end, end + canary_bytes, [](unsigned char byte) { return byte == canary; })) {
      throw Fault("a shared array of " + std::to_string(array.bytes) + " bytes was written beyond its end");
    }
  }
  if (total > most_shared_bytes) {
    throw Fault(std::to_string(total) + " bytes of shared memory in a block, more than " +
                std::to_string(most_shared_bytes));
  }
}

}  // namespace attn::emulation
