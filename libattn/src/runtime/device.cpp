#include "attn/runtime/device.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "attn/core/error.h"

namespace attn {
namespace {

// Operations a device that the host cannot see into gets at once.
constexpr std::size_t device_queue_bound = 32;
// Batches of ever new shapes would leave ever more buffers of sizes that are hardly asked for again. The
// cache is given back once it holds this much beyond twice what was ever in use at a time.
constexpr std::size_t cache_slack = std::size_t{256} << 20;
// From this size on a larger buffer may serve.
constexpr std::size_t wasteful_size = std::size_t{1} << 18;

// Sizes are rounded up to eighths of a power of two, so that a batch with a slightly longer sentence reuses
// the buffers of the one before it, at no more than 12.5 % of waste.
std::size_t size_class(std::size_t bytes) {
  constexpr std::size_t smallest = 256;
  if (bytes <= smallest) return smallest;
  const std::size_t step = std::max<std::size_t>(std::bit_floor(bytes - 1) / 8, 64);
  return (bytes + step - 1) / step * step;
}

// New large buffers on a CPU are rounded up to 1 or 1.5 times a power of two: what grows step by step, as the
// keys and values of a decoder do, then fills a few buffers and not one of each size. Memory that is not
// touched costs nothing there.
std::size_t roomy_class(std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(std::bit_floor(bytes - 1) / 2, 1);
  return (bytes + step - 1) / step * step;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

// Kind, types, shapes and params: all that a query depends on.
std::uint64_t descriptor_hash(const attn_op& op, std::size_t params_bytes) {
  std::uint64_t hash = mix(op.kind, (std::uint64_t{op.input_count} << 32) | op.output_count);
  const int count = op.input_count + op.output_count;
  for (int i = 0; i < count; ++i) {
    const attn_tensor& tensor = op.tensors[i];
    hash = mix(hash, (static_cast<std::uint64_t>(static_cast<std::uint32_t>(tensor.dtype)) << 32) |
                         static_cast<std::uint32_t>(tensor.rank));
    for (int axis = 0; axis < tensor.rank; ++axis)
      hash = mix(hash, static_cast<std::uint64_t>(tensor.dims[axis]));
  }
  const auto* bytes = static_cast<const unsigned char*>(op.params);
  for (std::size_t at = 0; at < params_bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min<std::size_t>(8, params_bytes - at));
    hash = mix(hash, word);
  }
  return hash;
}

[[noreturn]] void fail_backend(const Backend& backend, const char* what, attn_status status,
                               const attn_error& error) {
  const std::string message =
      fmt::format("backend '{}': {}: {} (status {})", backend.name(), what,
                  error.message[0] != '\0' ? error.message : "no reason given", static_cast<int>(status));
  if (status == ATTN_OUT_OF_MEMORY) throw OutOfMemory(message);
  throw Error(ExitCode::backend, message);
}

attn_error no_error() {
  return attn_error{ATTN_OK, -1, {}};
}

void release_all(const attn_backend& table, attn_context* context, std::span<void* const> buffers) noexcept {
  for (void* data : buffers) table.release(context, data);
}

}  // namespace

Storage::~Storage() {
  device_->release(data_, bytes_, held_);
}

std::shared_ptr<Device> Device::open(std::shared_ptr<const Backend> backend, const DeviceOptions& options) {
  return std::shared_ptr<Device>(new Device(std::move(backend), options));
}

std::shared_ptr<Device> Device::open(std::string_view backend, const DeviceOptions& options) {
  return open(find_backend(backend), options);
}

Device::Device(std::shared_ptr<const Backend> backend, const DeviceOptions& options)
    : backend_(std::move(backend)), options_(options) {
  std::string why_not;
  const int count = backend_->device_count(&why_not);
  if (count <= 0) fail(ExitCode::backend, "backend '{}' has no device here: {}", backend_->name(), why_not);
  if (options.device < 0 || options.device >= count) {
    fail(ExitCode::backend, "backend '{}' has no device {}; it has {} (from 0)", backend_->name(),
         options.device, count);
  }
  attn_error error = no_error();
  attn_device_info information{};
  information.struct_size = sizeof information;
  attn_status status = backend_->table().device_info(options.device, &information, &error);
  if (status != ATTN_OK) fail_backend(*backend_, "device information", status, error);
  name_ = information.name;
  queue_bound_ = information.host_accessible != 0 ? 1 : device_queue_bound;
  queue_.reserve(queue_bound_);

  attn_options raw{};
  raw.struct_size = sizeof raw;
  raw.device = options.device;
  raw.threads = options.threads;
  raw.deterministic = options.deterministic ? 1 : 0;
  raw.allow_tf32 = options.allow_tf32 ? 1 : 0;
  status = backend_->table().open(&raw, &context_, &error);
  if (status != ATTN_OK) fail_backend(*backend_, "opening the device", status, error);
}

Device::~Device() {
  // No tensor is left to see what queued operations would compute, and no caller to tell that they failed.
  queue_.clear();
  for (const auto& [bytes, buffers] : free_) release_all(backend_->table(), context_, buffers);
  if (workspace_ != nullptr) backend_->table().release(context_, workspace_);
  backend_->table().close(context_);
}

// The buffer of this class that was given back last, else of the next class that wastes at most half of a
// large buffer: the operating system clears new memory, which costs more than a few operations on it.
std::pair<void*, std::size_t> Device::take_cached(std::size_t bytes) {
  const std::size_t most = bytes < wasteful_size ? bytes : 2 * bytes;
  for (auto place = free_.lower_bound(bytes); place != free_.end() && place->first <= most; ++place) {
    if (place->second.empty()) continue;
    void* data = place->second.back();
    place->second.pop_back();
    return {data, place->first};
  }
  return {nullptr, bytes};
}

std::shared_ptr<Storage> Device::allocate(std::size_t bytes) {
  const std::size_t rounded = size_class(bytes);
  auto [data, held] = take_cached(rounded);
  if (data == nullptr && host_accessible() && options_.memory_limit == 0 && rounded >= wasteful_size) {
    held = roomy_class(rounded);
    if (memory_.reserved + held > 2 * memory_.peak_in_use + cache_slack) release_cache();
    attn_error error = no_error();
    if (backend_->table().allocate(context_, held, &data, &error) != ATTN_OK) data = nullptr;
    memory_.allocations += data != nullptr ? 1 : 0;
    memory_.reserved += data != nullptr ? held : 0;
  }
  if (data == nullptr) {
    held = rounded;
    data = allocate_from_backend(held, "");
    ++memory_.allocations;
    memory_.reserved += held;
  }
  memory_.in_use += rounded;
  memory_.peak_in_use = std::max(memory_.peak_in_use, memory_.in_use);
  return std::make_shared<Storage>(shared_from_this(), data, rounded, held);
}

void Device::release(void* data, std::size_t bytes, std::size_t held) noexcept {
  memory_.in_use -= bytes;
  free_[held].push_back(data);
}

void* Device::allocate_from_backend(std::size_t bytes, const char* what) {
  const auto within_limit = [&] {
    return options_.memory_limit == 0 || memory_.reserved + workspace_bytes_ + bytes <= options_.memory_limit;
  };
  const auto message = [&](const std::string& reason) {
    return fmt::format("backend '{}' cannot allocate {}{} bytes (in use {}, reserved {}): {}",
                       backend_->name(), what, bytes, memory_.in_use, memory_.reserved, reason);
  };
  if (!within_limit() || memory_.reserved + bytes > 2 * memory_.peak_in_use + cache_slack) release_cache();
  if (!within_limit()) {
    throw OutOfMemory(message(
        fmt::format("the limit of {} bytes is reached; raise backend.memory_limit, or make batches smaller",
                    options_.memory_limit)));
  }
  void* data = nullptr;
  attn_error error = no_error();
  attn_status status = backend_->table().allocate(context_, bytes, &data, &error);
  if (status == ATTN_OUT_OF_MEMORY) {
    release_cache();
    status = backend_->table().allocate(context_, bytes, &data, &error);
  }
  if (status == ATTN_OUT_OF_MEMORY) throw OutOfMemory(message(error.message));
  if (status != ATTN_OK) throw Error(ExitCode::backend, message(error.message));
  return data;
}

void Device::release_cache() {
  if (!queue_.empty()) flush();
  for (auto& [bytes, buffers] : free_) {
    release_all(backend_->table(), context_, buffers);
    memory_.reserved -= bytes * buffers.size();
    buffers.clear();
  }
}

void Device::upload(void* to, const void* from_host, std::size_t bytes) {
  if (bytes == 0) return;
  flush();
  attn_error error = no_error();
  const attn_status status = backend_->table().upload(context_, to, from_host, bytes, &error);
  if (status != ATTN_OK) fail_backend(*backend_, "upload", status, error);
}

void Device::download(void* to_host, const void* from, std::size_t bytes) {
  flush();
  if (bytes == 0) return;
  attn_error error = no_error();
  const attn_status status = backend_->table().download(context_, to_host, from, bytes, &error);
  if (status != ATTN_OK) fail_backend(*backend_, "download", status, error);
}

bool Device::supports(const attn_op& op, std::size_t params_bytes, std::string* why_not) {
  const std::uint64_t key = descriptor_hash(op, params_bytes);
  if (const auto known = support_.find(key);
      known != support_.end() && (known->second || why_not == nullptr)) {
    return known->second;
  }
  attn_support support{};
  support.struct_size = sizeof support;
  attn_error error = no_error();
  const attn_status status = backend_->table().query(context_, &op, &support, &error);
  if (status != ATTN_OK) fail_backend(*backend_, "query", status, error);
  if (support.supported != 0)
    need_workspace(support.workspace_bytes);
  else if (why_not != nullptr)
    *why_not = support.why_not;
  support_[key] = support.supported != 0;
  return support.supported != 0;
}

void Device::need_workspace(std::size_t bytes) {
  if (bytes <= workspace_bytes_) return;
  flush();
  if (workspace_ != nullptr) {
    synchronize();
    backend_->table().release(context_, workspace_);
    workspace_ = nullptr;
    workspace_bytes_ = 0;
  }
  try {
    workspace_ = allocate_from_backend(bytes, "a workspace of ");
  } catch (const Error&) {
    support_.clear();  // the operations that count on the former workspace have to ask again
    throw;
  }
  workspace_bytes_ = bytes;
}

void Device::enqueue(const attn_op& op, std::size_t params_bytes, const char* name) {
  ++operations_run_;
  if (queue_bound_ == 1) {
    run_batch(&op, 1, &name);
    if (observer_) observer_(op, name);
    return;
  }
  QueuedOp& queued = queue_.emplace_back();
  queued.op = op;
  std::copy_n(op.tensors, op.input_count + op.output_count, queued.tensors);
  if (params_bytes > 0) std::memcpy(queued.params, op.params, params_bytes);
  queued.name = name;
  queued.op.tensors = queued.tensors;
  queued.op.params = op.params != nullptr ? queued.params : nullptr;
  if (queue_.size() >= queue_bound_ || observer_) flush();
  if (observer_) {
    synchronize();
    observer_(op, name);
  }
}

void Device::flush() {
  if (queue_.empty()) return;
  std::vector<attn_op> ops;
  std::vector<const char*> names;
  for (const QueuedOp& queued : queue_) {
    ops.push_back(queued.op);
    names.push_back(queued.name);
  }
  // Emptied only afterwards: the descriptors point into it.
  try {
    run_batch(ops.data(), static_cast<std::uint32_t>(ops.size()), names.data());
  } catch (...) {
    queue_.clear();
    throw;
  }
  queue_.clear();
}

void Device::run_batch(const attn_op* ops, std::uint32_t count, const char* const* names) {
  attn_batch batch{};
  batch.struct_size = sizeof batch;
  batch.count = count;
  batch.ops = ops;
  batch.workspace = workspace_;
  batch.workspace_bytes = workspace_bytes_;
  attn_error error = no_error();
  const attn_status status = backend_->table().run(context_, &batch, &error);
  if (status == ATTN_OK) return;
  const bool known = error.op_index >= 0 && static_cast<std::uint32_t>(error.op_index) < count;
  fail_backend(*backend_, known ? names[error.op_index] : names[0], status, error);
}

void Device::synchronize() {
  flush();
  attn_error error = no_error();
  const attn_status status = backend_->table().synchronize(context_, &error);
  if (status != ATTN_OK) fail_backend(*backend_, "synchronize", status, error);
}

}  // namespace attn
