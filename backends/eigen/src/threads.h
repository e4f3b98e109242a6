#pragma once
/*
 * Fork-join threads and temporary memory of one context.
 *
 * Results must be the same bits at any number of threads. So a kernel cuts its work into tasks by shapes
 * alone, reduces each output within one task in a fixed order, and sums partial results of several tasks in
 * the order of the tasks.
 */
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace attn::eigen {

/// A small pool: workers look for tasks for a short while after the last one, then sleep.
class Threads {
 public:
  /// `count` threads including the caller's; at least 1.
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(task) once for each task in [0, tasks), in any order, on any thread, and returns when all are
  /// done; the calling thread takes part. An exception of a task is thrown again here. A body must not call
  /// parallel() itself.
  template<class Body>
  void parallel(std::int64_t tasks, Body&& body) {
    // One compiled copy of the body for any number of threads: a second one, inlined here, might be given its
    // multiply-adds in other places and so other last bits.
    using Plain = std::remove_reference_t<Body>;
    run(
        tasks,
        [](const void* object, std::int64_t task) {
          (*static_cast<Plain*>(const_cast<void*>(object)))(task);
        },
        static_cast<const void*>(std::addressof(body)));
  }

 private:
  using Function = void (*)(const void*, std::int64_t);
  void run(std::int64_t tasks, Function function, const void* object);
  void work();
  bool take_one();

  // The upper half counts jobs, the lower half is the number of tasks of this job that nobody has taken. A
  // worker that read an old value cannot take a task of a newer job, because the exchange then fails.
  std::atomic<std::uint64_t> ticket_{0};
  std::atomic<std::int32_t> unfinished_{0};
  std::atomic<std::uint32_t> wake_{0};
  std::atomic<bool> stop_{false};
  Function function_ = nullptr;
  const void* object_ = nullptr;
  std::int64_t tasks_ = 0;
  std::exception_ptr failure_;
  std::mutex failure_mutex_;
  std::vector<std::thread> workers_;
};

/// Memory at a multiple of 64 bytes, large blocks in large pages where the system has them: a product of
/// large matrices is up to a fifth faster for it. Null if there is none. Given back with std::free.
void* allocate_aligned(std::size_t bytes);

/// Temporary memory that is kept for the next operation: after the first steps nothing is allocated. May be
/// used by several threads at once.
class Workspace {
 public:
  /// Memory for `size` elements, not initialised, 64-byte aligned; given back by the destructor.
  template<class T>
  class Buffer {
   public:
    Buffer(Workspace* owner, std::size_t block, T* data, std::int64_t size)
        : owner_(owner), block_(block), data_(data), size_(size) {}
    ~Buffer() { owner_->give_back(block_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    T* data() const { return data_; }
    std::int64_t size() const { return size_; }
    T& operator[](std::int64_t index) const { return data_[index]; }

   private:
    Workspace* owner_;
    std::size_t block_;
    T* data_;
    std::int64_t size_;
  };

  template<class T>
  Buffer<T> take(std::int64_t size) {
    static_assert(std::is_trivially_copyable_v<T>);
    void* data = nullptr;
    const std::size_t block = take_bytes(static_cast<std::size_t>(size) * sizeof(T), &data);
    return Buffer<T>(this, block, static_cast<T*>(data), size);
  }

 private:
  struct Free {
    void operator()(void* data) const;
  };
  struct Block {
    std::unique_ptr<void, Free> data;
    std::size_t bytes = 0;
    bool used = false;
  };
  std::size_t take_bytes(std::size_t bytes, void** data);
  void give_back(std::size_t block);

  std::mutex mutex_;
  std::vector<Block> blocks_;
};

}  // namespace attn::eigen
