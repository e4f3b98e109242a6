#include "threads.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

namespace attn::eigen {
namespace {

constexpr std::uint64_t kLowerHalf = 0xffffffffu;
constexpr auto kSpinTime = std::chrono::microseconds(60);
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLargePage = std::size_t{2} << 20;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Threads::Threads(int count) {
  for (int worker = 1; worker < count; ++worker) workers_.emplace_back([this] { work(); });
}

Threads::~Threads() {
  stop_.store(true);
  wake_.fetch_add(1);
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

bool Threads::take_one() {
  std::uint64_t ticket = ticket_.load();
  do {
    if ((ticket & kLowerHalf) == 0) return false;
  } while (!ticket_.compare_exchange_weak(ticket, ticket - 1));
  // The job cannot end before the task just taken does, so its description stays as it is.
  const std::int64_t task = tasks_ - static_cast<std::int64_t>(ticket & kLowerHalf);
  try {
    function_(object_, task);
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  if (unfinished_.fetch_sub(1) == 1) unfinished_.notify_one();
  return true;
}

void Threads::run(std::int64_t tasks, Function function, const void* object) {
  if (tasks <= 1 || workers_.empty()) {
    for (std::int64_t task = 0; task < tasks; ++task) function(object, task);
    return;
  }
  if (tasks > std::numeric_limits<std::int32_t>::max()) throw std::length_error("too many parallel tasks");
  function_ = function;
  object_ = object;
  tasks_ = tasks;
  failure_ = nullptr;
  unfinished_.store(static_cast<std::int32_t>(tasks));
  const std::uint64_t job = (ticket_.load() >> 32) + 1;
  ticket_.store(job << 32 | static_cast<std::uint64_t>(tasks));
  wake_.fetch_add(1);
  wake_.notify_all();
  while (take_one()) {
  }
  for (int spin = 0; unfinished_.load() != 0 && spin < 2000; ++spin) relax();
  for (std::int32_t left = unfinished_.load(); left != 0; left = unfinished_.load()) unfinished_.wait(left);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Threads::work() {
  while (!stop_.load()) {
    const std::uint32_t wake = wake_.load();
    while (take_one()) {
    }
    const auto end = std::chrono::steady_clock::now() + kSpinTime;
    bool found = false;
    while (!found && std::chrono::steady_clock::now() < end) {
      for (int spin = 0; spin < 16; ++spin) relax();
      found = (ticket_.load() & kLowerHalf) != 0;
    }
    if (!found && !stop_.load()) wake_.wait(wake);
  }
}

void* allocate_aligned(std::size_t bytes) {
  const bool large = bytes >= 2 * kLargePage;
  const std::size_t unit = large ? kLargePage : kAlignment;
  if (bytes > PTRDIFF_MAX - unit) return nullptr;
  // A multiple of the alignment, as aligned_alloc wants it; 0 bytes get an address of their own.
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
  void* data = std::aligned_alloc(unit, rounded);
#ifdef MADV_HUGEPAGE
  if (large && data != nullptr) madvise(data, rounded, MADV_HUGEPAGE);  // a wish: failure changes nothing
#endif
  return data;
}

void Workspace::Free::operator()(void* data) const {
  std::free(data);
}

std::size_t Workspace::take_bytes(std::size_t bytes, void** data) {
  const std::lock_guard lock(mutex_);
  std::size_t best = blocks_.size(), largest_free = blocks_.size();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].used) continue;
    if (largest_free == blocks_.size() || blocks_[i].bytes > blocks_[largest_free].bytes) largest_free = i;
    const bool fits = blocks_[i].bytes >= bytes;
    if (fits && (best == blocks_.size() || blocks_[i].bytes < blocks_[best].bytes)) best = i;
  }
  if (best == blocks_.size()) {
    if (largest_free == blocks_.size()) blocks_.emplace_back();
    best = largest_free;
    Block& block = blocks_[best];
    const std::size_t rounded = std::max<std::size_t>(bytes, 4096);
    block.data.reset();
    block.bytes = 0;
    block.data.reset(allocate_aligned(rounded));
    if (!block.data) throw std::bad_alloc();
    block.bytes = rounded;
  }
  blocks_[best].used = true;
  *data = blocks_[best].data.get();
  return best;
}

void Workspace::give_back(std::size_t block) {
  const std::lock_guard lock(mutex_);
  blocks_[block].used = false;
}

}  // namespace attn::eigen
