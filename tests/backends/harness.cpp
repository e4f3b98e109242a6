#include "harness.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "attn/processor_tiles.h"
#include "support/catch.h"

namespace attn::test {

namespace {

std::size_t element_size(int32_t dtype) {
  switch (dtype) {
    case ATTN_F64:
      return 8;
    case ATTN_BF16:
      return 2;
    case ATTN_I8:
      return 1;
    default:
      return 4;
  }
}

template<typename T>
std::vector<std::byte> encode_as(const Values& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

std::vector<std::byte> encode(const Tensor& tensor) {
  switch (tensor.dtype) {
    case ATTN_F32:
      return encode_as<float>(tensor.values);
    case ATTN_I32:
      return encode_as<int32_t>(tensor.values);
    case ATTN_BF16:
      return encode_as<uint16_t>(tensor.values);
    case ATTN_I8:
      return encode_as<int8_t>(tensor.values);
    default:
      return encode_as<double>(tensor.values);
  }
}

template<typename T>
Values decode_as(const std::vector<std::byte>& bytes) {
  Values values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = value;
  }
  return values;
}

Values decode(int32_t dtype, const std::vector<std::byte>& bytes) {
  switch (dtype) {
    case ATTN_F32:
      return decode_as<float>(bytes);
    case ATTN_I32:
      return decode_as<int32_t>(bytes);
    case ATTN_BF16:
      return decode_as<uint16_t>(bytes);
    case ATTN_I8:
      return decode_as<int8_t>(bytes);
    default:
      return decode_as<double>(bytes);
  }
}

/// Memory of a device for as long as the object lives, with bytes on both sides that nobody may write.
class DeviceMemory {
 public:
  DeviceMemory(const Backend& backend, const Tensor& tensor)
      : backend_(backend), bytes_(tensor.values.size() * element_size(tensor.dtype)) {
    std::vector<std::byte> host(guard_bytes, guard);
    const std::vector<std::byte> encoded = encode(tensor);
    host.insert(host.end(), encoded.begin(), encoded.end());
    host.insert(host.end(), guard_bytes, guard);
    attn_error error{};
    REQUIRE(backend.table().allocate(backend.context(), host.size(), &base_, &error) == ATTN_OK);
    REQUIRE(backend.table().upload(backend.context(), base_, host.data(), host.size(), &error) == ATTN_OK);
  }
  ~DeviceMemory() {
    if (base_ != nullptr) backend_.table().release(backend_.context(), base_);
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : backend_(other.backend_), bytes_(other.bytes_), base_(std::exchange(other.base_, nullptr)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  DeviceMemory& operator=(DeviceMemory&&) = delete;

  void* data() const { return static_cast<std::byte*>(base_) + guard_bytes; }
  /// Fails the test if something beside the tensor was written.
  Values values(int32_t dtype) const {
    std::vector<std::byte> host(bytes_ + 2 * guard_bytes);
    attn_error error{};
    REQUIRE(backend_.table().download(backend_.context(), host.data(), base_, host.size(), &error) ==
            ATTN_OK);
    const auto begin = host.begin() + guard_bytes, end = host.end() - guard_bytes;
    const auto is_guard = [](std::byte byte) { return byte == guard; };
    CHECK(std::all_of(host.begin(), begin, is_guard));
    CHECK(std::all_of(end, host.end(), is_guard));
    return decode(dtype, {begin, end});
  }

 private:
  static constexpr std::ptrdiff_t guard_bytes = 256;  // keeps the alignment that a device wants
  static constexpr auto guard = std::byte{0xA5};
  const Backend& backend_;
  std::size_t bytes_;
  void* base_ = nullptr;
};

/// An operation with its tensors on the device.
class Loaded {
 public:
  Loaded(const Backend& backend, const Operation& operation) : operation_(operation) {
    for (const Tensor& tensor : operation.inputs()) add(backend, tensor);
    for (std::size_t i = 0; i < operation.outputs().size(); ++i) {
      const int alias = operation.aliases()[i];
      if (alias < 0) {
        add(backend, operation.outputs()[i]);
      } else {
        tensors_.push_back(describe(operation.outputs()[i], tensors_[alias].data));
        memory_of_.push_back(memory_of_[alias]);
      }
    }
  }

  attn_op descriptor() const { return operation_.descriptor(tensors_); }
  void download(std::vector<Tensor>& outputs) const {
    for (std::size_t i = 0; i < operation_.outputs().size(); ++i) {
      Tensor tensor = operation_.outputs()[i];
      const std::size_t index = operation_.inputs().size() + i;
      if (tensor.present) tensor.values = memory_[memory_of_[index]].values(tensor.dtype);
      outputs.push_back(std::move(tensor));
    }
  }

 private:
  void add(const Backend& backend, const Tensor& tensor) {
    memory_of_.push_back(memory_.size());
    if (tensor.present) memory_.emplace_back(backend, tensor);
    tensors_.push_back(describe(tensor, tensor.present ? memory_.back().data() : nullptr));
  }

  const Operation& operation_;
  std::vector<DeviceMemory> memory_;
  std::vector<std::size_t> memory_of_;
  std::vector<attn_tensor> tensors_;
};

int64_t count(const Sizes& sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product *= size;
  return product;
}

bool is_close(double actual, double expected, int32_t dtype) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (dtype == ATTN_F32 || dtype == ATTN_F64) {
    const double tolerance = dtype == ATTN_F32 ? 2e-6 : 1e-13;
    return actual == expected || std::abs(actual - expected) <= tolerance * (1 + std::abs(expected));
  }
  return actual == expected;
}

}  // namespace

Tensor absent() {
  return {ATTN_F32, {}, {}, false};
}

Tensor filled(int32_t dtype, Sizes sizes, double value) {
  Values values(static_cast<std::size_t>(count(sizes)), value);
  return {dtype, std::move(sizes), std::move(values)};
}

Tensor i32(Sizes sizes, Values values) {
  return {ATTN_I32, std::move(sizes), std::move(values)};
}
Tensor i32_output(Sizes sizes) {
  return filled(ATTN_I32, std::move(sizes), -77);
}

Tensor Real::operator()(Sizes sizes, Values values) const {
  return {dtype, std::move(sizes), std::move(values)};
}
Tensor Real::output(Sizes sizes) const {
  return filled(dtype, std::move(sizes), std::numeric_limits<double>::quiet_NaN());
}

void check_equal(const Tensor& actual, const Tensor& expected) {
  CHECK(actual.dtype == expected.dtype);
  CHECK(actual.sizes == expected.sizes);
  REQUIRE(actual.values.size() == expected.values.size());
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    if (is_close(actual.values[i], expected.values[i], expected.dtype)) continue;
    std::ostringstream text;
    text.precision(17);
    text << "element " << i << " is " << actual.values[i] << ", expected " << expected.values[i];
    FAIL_CHECK(text.str());
  }
}

Operation& Operation::resize_params(std::size_t bytes) {
  params_.resize(bytes, std::byte{0xA5});
  const auto size = static_cast<uint32_t>(bytes);
  std::memcpy(params_.data(), &size, sizeof size);
  return *this;
}
Operation& Operation::input(Tensor tensor) {
  inputs_.push_back(std::move(tensor));
  return *this;
}
Operation& Operation::output(Tensor tensor) {
  outputs_.push_back(std::move(tensor));
  aliases_.push_back(-1);
  return *this;
}
Operation& Operation::aliased_output(std::size_t input) {
  outputs_.push_back(inputs_[input]);
  aliases_.push_back(static_cast<int>(input));
  return *this;
}

attn_op Operation::descriptor(const std::vector<attn_tensor>& tensors) const {
  return {kind_, static_cast<uint16_t>(inputs_.size()), static_cast<uint16_t>(outputs_.size()),
          tensors.data(), params_data()};
}

attn_tensor describe(const Tensor& tensor, void* data) {
  attn_tensor result{data, tensor.dtype, tensor.present ? static_cast<int32_t>(tensor.sizes.size()) : -1, {}};
  for (std::size_t axis = 0; axis < tensor.sizes.size() && axis < ATTN_MAX_RANK; ++axis) {
    result.dims[axis] = tensor.sizes[axis];
  }
  return result;
}

namespace {

/// A variant for a newer instruction set must not even be loaded.
bool processor_can_run(const std::string& file) {
  const auto ends_with = [&](const std::string& ending) {
    return file.size() >= ending.size() &&
           file.compare(file.size() - ending.size(), ending.size(), ending) == 0;
  };
#if defined(__x86_64__)
  if (ends_with("-v2.so")) return __builtin_cpu_supports("sse4.2") != 0;
  if (ends_with("-v3.so")) return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (ends_with("-v4.so") || ends_with("-amx.so")) {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
           __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
           (ends_with("-v4.so") || attn_processor_tiles_granted() != 0);
  }
  return true;
#else
  return !(ends_with("-v2.so") || ends_with("-v3.so") || ends_with("-v4.so") || ends_with("-amx.so"));
#endif
}

void log_nothing(int32_t, const char*) {}
constexpr attn_host host{sizeof(attn_host), ATTN_ABI_MAJOR, ATTN_ABI_MINOR, log_nothing};

std::vector<Plugin> load_plugins() {
  std::vector<Plugin> loaded;
  std::istringstream files(ATTN_PLUGIN_FILES);
  for (std::string file; std::getline(files, file, ':');) {
    if (!processor_can_run(file)) continue;
    INFO(file);
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* failure = library == nullptr ? dlerror() : "";
    INFO(failure);
    REQUIRE(library != nullptr);
    const auto entry = reinterpret_cast<attn_backend_entry>(dlsym(library, ATTN_BACKEND_ENTRY_NAME));
    REQUIRE(entry != nullptr);
    loaded.push_back({file, entry(&host)});
    REQUIRE(loaded.back().table != nullptr);
  }
  return loaded;
}

}  // namespace

const std::vector<Plugin>& plugins() {
  static const std::vector<Plugin> loaded = load_plugins();
  return loaded;
}

Backend::Backend(const Plugin& plugin) : table_(plugin.table) {
  const attn_options options{sizeof(attn_options), 0, 2, 1, 0};
  attn_error error{};
  const attn_status status = table_->open(&options, &context_, &error);
  INFO(error.message);
  REQUIRE(status == ATTN_OK);
}
Backend::~Backend() {
  table_->close(context_);
}

attn_support Backend::query(const Operation& operation) const {
  std::vector<attn_tensor> tensors;
  for (const Tensor& tensor : operation.inputs()) tensors.push_back(describe(tensor, nullptr));
  for (const Tensor& tensor : operation.outputs()) tensors.push_back(describe(tensor, nullptr));
  const attn_op op = operation.descriptor(tensors);
  attn_support support{};
  support.struct_size = sizeof(attn_support);
  attn_error error{};
  REQUIRE(table_->query(context_, &op, &support, &error) == ATTN_OK);
  return support;
}

attn_error Backend::try_run(const std::vector<Operation>& operations, std::vector<Tensor>* outputs) const {
  std::vector<Loaded> loaded;
  std::vector<attn_op> ops;
  std::size_t workspace_bytes = 0;
  for (const Operation& operation : operations) {
    workspace_bytes = std::max(workspace_bytes, query(operation).workspace_bytes);
    loaded.emplace_back(*this, operation);
  }
  for (const Loaded& operation : loaded) ops.push_back(operation.descriptor());
  const DeviceMemory workspace(*this, filled(ATTN_I8, {static_cast<int64_t>(workspace_bytes)}, 0));

  const attn_batch batch{sizeof(attn_batch), static_cast<uint32_t>(ops.size()),
                         ops.data(),         0,
                         workspace.data(),   workspace_bytes};
  attn_error error{};
  attn_status status = table_->run(context_, &batch, &error);
  if (status == ATTN_OK) status = table_->synchronize(context_, &error);
  CHECK(error.status == status);
  if (outputs != nullptr) {
    for (const Loaded& operation : loaded) operation.download(*outputs);
  }
  return error;
}

std::vector<Tensor> Backend::run(const Operation& operation) const {
  const attn_support support = query(operation);
  INFO(support.why_not);
  REQUIRE(support.supported == 1);
  std::vector<Tensor> outputs;
  const attn_error error = try_run({operation}, &outputs);
  INFO(error.message);
  REQUIRE(error.status == ATTN_OK);
  return outputs;
}

void for_each_backend(const std::function<void(const Backend&)>& test) {
  int tested = 0;
  for (const Plugin& plugin : plugins()) {
    attn_error error{};
    if (plugin.table->device_count(&error) == 0) continue;
    INFO(plugin.file);
    test(Backend(plugin));
    ++tested;
  }
  CHECK(tested > 0);
}

void for_each_backend_and_type(const std::function<void(const Backend&, const Real&)>& test) {
  for_each_backend([&](const Backend& backend) {
    for (const int32_t dtype : {ATTN_F32, ATTN_F64}) {
      INFO((dtype == ATTN_F32 ? "f32" : "f64"));
      test(backend, Real{dtype});
    }
  });
}

}  // namespace attn::test
