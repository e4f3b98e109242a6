#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "attn/runtime/backend.h"

namespace attn {

struct DeviceOptions {
  int device = 0;   ///< index of the device, below the backend's device count
  int threads = 1;  ///< CPU threads; 0 leaves the choice to the backend
  bool deterministic = true;
  bool allow_tf32 = false;
  std::size_t memory_limit = 0;  ///< bytes that may be held, cache and workspace counted; 0: no limit
};

/// What a device has been asked for so far; sizes in bytes.
struct MemoryStatistics {
  std::uint64_t allocations = 0;  ///< requests that reached the backend, that is, were not met from the cache
  std::size_t in_use = 0;         ///< held by live buffers
  std::size_t peak_in_use = 0;
  std::size_t reserved = 0;  ///< held by live buffers and by the cache
};

class Device;

/// A buffer on a device; it goes back to the device's cache when the last tensor that views it is gone.
class Storage {
 public:
  /// `held`: bytes of the buffer, which may be more than the `bytes` that were asked for.
  Storage(std::shared_ptr<Device> device, void* data, std::size_t bytes, std::size_t held)
      : device_(std::move(device)), data_(data), bytes_(bytes), held_(held) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  Storage(Storage&&) = delete;
  Storage& operator=(Storage&&) = delete;
  ~Storage();

  Device& device() const noexcept { return *device_; }
  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::shared_ptr<Device> device_;
  void* data_;
  std::size_t bytes_, held_;
};

/// One stream of work on one device of a backend, with a caching allocator. Used by one thread at a time.
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// Throws Error(backend) if the backend has no device (with its reason) or not this one.
  static std::shared_ptr<Device> open(std::shared_ptr<const Backend> backend,
                                      const DeviceOptions& options = {});
  /// find_backend and open in one.
  static std::shared_ptr<Device> open(std::string_view backend, const DeviceOptions& options = {});

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  Device(Device&&) = delete;
  Device& operator=(Device&&) = delete;
  ~Device();

  const Backend& backend() const noexcept { return *backend_; }
  const DeviceOptions& options() const noexcept { return options_; }
  const std::string& name() const noexcept { return name_; }
  /// Whether the host can read the device's memory, as that of a CPU.
  bool host_accessible() const noexcept { return queue_bound_ == 1; }

  /// A buffer with undefined contents, from the cache if one of its size class or, for a large one, of a
  /// slightly larger class is free. Where memory or DeviceOptions::memory_limit is exhausted, or much more is
  /// cached than ever was in use, the cache is given back first. Throws OutOfMemory with the sizes if that
  /// does not help.
  std::shared_ptr<Storage> allocate(std::size_t bytes);
  /// Gives cached buffers back to the backend.
  void release_cache();

  void upload(void* to, const void* from_host, std::size_t bytes);
  /// Waits for all queued work first.
  void download(void* to_host, const void* from, std::size_t bytes);

  /// Whether the backend runs this descriptor natively; the answer is cached by kind, shapes and params.
  /// `why_not` receives the reason of a no.
  bool supports(const attn_op& op, std::size_t params_bytes, std::string* why_not = nullptr);

  /// Runs an operation, or queues it on a device that the host cannot see into. Descriptor and params are
  /// copied; `name` is for messages. Throws Error(backend) naming the operation if the backend fails, which
  /// is OutOfMemory where memory is the reason.
  void enqueue(const attn_op& op, std::size_t params_bytes, const char* name);
  /// Hands all queued operations to the backend.
  void flush();
  /// Flushes and waits.
  void synchronize();

  const MemoryStatistics& memory() const noexcept { return memory_; }
  void reset_peak() noexcept { memory_.peak_in_use = memory_.in_use; }
  /// Operations that were handed to the backend so far.
  std::uint64_t operations_run() const noexcept { return operations_run_; }

  /// Called after every operation that runs (descriptor and name), for traces and counts; empty to stop. The
  /// device is synchronised before each call.
  void set_observer(std::function<void(const attn_op&, const char* name)> observer) {
    observer_ = std::move(observer);
  }

 private:
  friend class Storage;
  struct QueuedOp {
    attn_op op;
    attn_tensor tensors[ATTN_MAX_TENSORS];
    alignas(8) unsigned char params[128];
    const char* name;
  };

  Device(std::shared_ptr<const Backend> backend, const DeviceOptions& options);
  void release(void* data, std::size_t bytes, std::size_t held) noexcept;
  void run_batch(const attn_op* ops, std::uint32_t count, const char* const* names);
  void need_workspace(std::size_t bytes);
  std::pair<void*, std::size_t> take_cached(std::size_t bytes);
  /// `what` stands before the size in messages.
  void* allocate_from_backend(std::size_t bytes, const char* what);

  std::shared_ptr<const Backend> backend_;
  DeviceOptions options_;
  attn_context* context_ = nullptr;
  std::string name_;
  std::size_t queue_bound_ = 1;
  std::vector<QueuedOp> queue_;
  std::map<std::size_t, std::vector<void*>> free_;  // by size class
  std::unordered_map<std::uint64_t, bool> support_;
  void* workspace_ = nullptr;
  std::size_t workspace_bytes_ = 0;
  MemoryStatistics memory_;
  std::uint64_t operations_run_ = 0;
  std::function<void(const attn_op&, const char*)> observer_;
};

}  // namespace attn
