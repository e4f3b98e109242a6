#include <algorithm>

#include "operations.h"
#include "plugin.h"
#include "support/catch.h"

namespace attn::eigen::test {
namespace {

constexpr auto poison = std::byte{0xff};  // NaN, or -1
constexpr auto guard = std::byte{0xa5};

// The address sanitizer finds more if a tensor ends where its memory does.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t guard_bytes = 0;
#else
constexpr std::size_t guard_bytes = 256;
#endif

Bytes guarded(const Bytes& bytes) {
  Bytes memory(guard_bytes, guard);
  memory.insert(memory.end(), bytes.begin(), bytes.end());
  memory.insert(memory.end(), guard_bytes, guard);
  return memory;
}

bool only_guards(Bytes::const_iterator begin, Bytes::const_iterator end) {
  return std::all_of(begin, end, [](std::byte byte) { return byte == guard; });
}

// Is an element still what it was before, or not a number?
bool has_unwritten(const attn_tensor& descriptor, const Bytes& bytes) {
  const auto any = [&](auto zero, auto unwritten) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof zero) {
      auto value = zero;
      std::memcpy(&value, bytes.data() + i, sizeof value);
      if (unwritten(value)) return true;
    }
    return false;
  };
  if (descriptor.dtype == ATTN_F32) return any(0.0F, [](float value) { return value != value; });
  if (descriptor.dtype == ATTN_F64) return any(0.0, [](double value) { return value != value; });
  return any(std::int32_t{0}, [](std::int32_t value) { return value == -1; });
}

}  // namespace

std::size_t Operation::element_size(const attn_tensor& descriptor) {
  return descriptor.dtype == ATTN_F64 ? 8 : 4;
}

Operation::Tensor& Operation::add(std::int32_t dtype, const Sizes& sizes) {
  Tensor tensor;
  tensor.descriptor.dtype = dtype;
  tensor.descriptor.rank = static_cast<std::int32_t>(sizes.size());
  std::size_t count = 1;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    tensor.descriptor.dims[axis] = sizes[axis];
    count *= static_cast<std::size_t>(sizes[axis]);
  }
  tensor.bytes.assign(count * element_size(tensor.descriptor), poison);
  tensors_.push_back(std::move(tensor));
  return tensors_.back();
}

void Operation::fill(Tensor& tensor, double low, double high) {
  const std::size_t size = element_size(tensor.descriptor);
  for (std::size_t i = 0; i < tensor.bytes.size(); i += size) {
    const double value = low + (high - low) * static_cast<double>(generator_() % 65536) / 65536.0;
    const auto single = static_cast<float>(value);
    std::memcpy(tensor.bytes.data() + i, size == 8 ? static_cast<const void*>(&value) : &single, size);
  }
}

Operation& Operation::in(const Sizes& sizes, double low, double high) {
  fill(add(real_, sizes), low, high);
  ++inputs_;
  return *this;
}

Operation& Operation::ids(const Sizes& sizes, int bound) {
  Tensor& tensor = add(ATTN_I32, sizes);
  for (std::size_t i = 0; i < tensor.bytes.size(); i += 4) {
    const auto id = static_cast<std::int32_t>(generator_() % static_cast<unsigned>(bound));
    std::memcpy(tensor.bytes.data() + i, &id, sizeof id);
  }
  ++inputs_;
  return *this;
}

Operation& Operation::absent() {
  if (tensors_.size() == inputs_) ++inputs_;
  Tensor tensor;
  tensor.descriptor.rank = -1;
  tensors_.push_back(std::move(tensor));
  return *this;
}

Operation& Operation::out(const Sizes& sizes) {
  add(real_, sizes).overwritten = true;
  return *this;
}

Operation& Operation::out_ids(const Sizes& sizes) {
  add(ATTN_I32, sizes).overwritten = true;
  return *this;
}

Operation& Operation::in_out(const Sizes& sizes) {
  fill(add(real_, sizes), 0.5, 1);
  return *this;
}

Operation& Operation::along(int axis) {
  tensors_.back().axis = axis;
  return *this;
}

std::vector<Bytes> Operation::run(int threads) const {
  std::vector<Bytes> memory;
  std::vector<attn_tensor> descriptors;
  for (const Tensor& tensor : tensors_) {
    memory.push_back(guarded(tensor.bytes));
    descriptors.push_back(tensor.descriptor);
    descriptors.back().data = memory.back().data() + guard_bytes;
  }
  const attn_op op{kind_, static_cast<std::uint16_t>(inputs_),
                   static_cast<std::uint16_t>(tensors_.size() - inputs_), descriptors.data(),
                   params_.empty() ? nullptr : params_.data()};
  const attn_options options{sizeof(attn_options), 0, threads, 1, 0};
  attn_context* context = nullptr;
  attn_error error{};
  REQUIRE(plugin::open(&options, &context, &error) == ATTN_OK);
  attn_support support{};
  support.struct_size = sizeof support;
  const attn_status answer = plugin::query(context, &op, &support, &error);
  attn_batch batch{};
  batch.struct_size = sizeof batch;
  batch.count = 1;
  batch.ops = &op;
  const attn_status status = plugin::run(context, &batch, &error);
  plugin::close(context);
  INFO(name_ << ": " << support.why_not << error.message);
  REQUIRE(answer == ATTN_OK);
  REQUIRE(support.supported == 1);
  REQUIRE(status == ATTN_OK);

  std::vector<Bytes> results;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    INFO("tensor " << i);
    const auto begin = memory[i].cbegin() + static_cast<std::ptrdiff_t>(guard_bytes);
    const auto end = memory[i].cend() - static_cast<std::ptrdiff_t>(guard_bytes);
    CHECK(only_guards(memory[i].cbegin(), begin));
    CHECK(only_guards(end, memory[i].cend()));
    Bytes bytes(begin, end);
    if (i < inputs_) {
      CHECK((bytes == tensors_[i].bytes));
      continue;
    }
    CHECK_FALSE(has_unwritten(tensors_[i].descriptor, bytes));
    results.push_back(std::move(bytes));
  }
  return results;
}

Bytes Operation::entry_of(const Tensor& tensor, const Bytes& bytes, std::int64_t index) {
  if (tensor.axis < 0) return bytes;
  const attn_tensor& descriptor = tensor.descriptor;
  std::size_t outer = 1, inner = element_size(descriptor);
  for (int axis = 0; axis < descriptor.rank; ++axis) {
    if (axis < tensor.axis) outer *= static_cast<std::size_t>(descriptor.dims[axis]);
    if (axis > tensor.axis) inner *= static_cast<std::size_t>(descriptor.dims[axis]);
  }
  const auto entries = static_cast<std::size_t>(descriptor.dims[tensor.axis]);
  Bytes part;
  for (std::size_t i = 0; i < outer; ++i) {
    const auto from =
        bytes.begin() + static_cast<std::ptrdiff_t>((i * entries + static_cast<std::size_t>(index)) * inner);
    part.insert(part.end(), from, from + static_cast<std::ptrdiff_t>(inner));
  }
  return part;
}

Operation Operation::entry(std::int64_t index) const {
  Operation alone = *this;
  for (Tensor& tensor : alone.tensors_) {
    if (tensor.axis < 0) continue;
    tensor.bytes = entry_of(tensor, tensor.bytes, index);
    tensor.descriptor.dims[tensor.axis] = 1;
  }
  return alone;
}

std::vector<Bytes> Operation::entry_of(const std::vector<Bytes>& outputs, std::int64_t index) const {
  std::vector<Bytes> parts;
  std::size_t next = 0;
  for (std::size_t i = inputs_; i < tensors_.size(); ++i)
    parts.push_back(entry_of(tensors_[i], outputs[next++], index));
  return parts;
}

}  // namespace attn::eigen::test
