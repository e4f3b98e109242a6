#include "case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "attn/ops/ops.h"

namespace attn::conformance {
namespace {

template<typename T>
std::vector<std::byte> encode_as(std::span<const double> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

template<typename T>
std::vector<double> decode_as(std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
  return values;
}

bool is_real(DType type) {
  return type == DType::f32 || type == DType::f64;
}

Tensor upload(const std::shared_ptr<Device>& device, const CaseTensor& tensor) {
  if (!tensor.present) return {};
  Tensor result(device, tensor.shape, tensor.type);
  CaseTensor filled = tensor;
  filled.values.resize(elements_of(tensor), std::numeric_limits<double>::quiet_NaN());
  if (!is_real(tensor.type)) {
    for (double& value : filled.values) value = std::isnan(value) ? -77 : value;
  }
  const auto bytes = encode(filled);
  device->upload(result.data(), bytes.data(), bytes.size());
  return result;
}

// What apply_operation() does where a backend leaves the operation to the host.
ops::Tensors run_decomposed(ops::Call call, std::span<const ops::Into> into) {
  if (call.operation->accumulates) call.params.set_accumulate(0);
  ops::Tensors outputs = call.operation->decomposition(call, into);
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (!call.wants(i)) continue;
    const Tensor result = outputs[i].reshaped(into[i].target.shape());
    ops::copy_into(into[i].target, into[i].accumulate ? ops::add(into[i].target, result) : result);
    outputs[i] = into[i].target;
  }
  return outputs;
}

}  // namespace

std::size_t elements_of(const CaseTensor& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements());
}

std::vector<std::byte> encode(const CaseTensor& tensor) {
  switch (tensor.type) {
    case DType::f32:
      return encode_as<float>(tensor.values);
    case DType::f64:
      return encode_as<double>(tensor.values);
    case DType::i32:
      return encode_as<std::int32_t>(tensor.values);
    case DType::bf16:
      return encode_as<std::uint16_t>(tensor.values);
    case DType::i8:
      return encode_as<std::int8_t>(tensor.values);
  }
  return {};
}

std::vector<double> decode(DType type, std::span<const std::byte> bytes) {
  switch (type) {
    case DType::f32:
      return decode_as<float>(bytes);
    case DType::f64:
      return decode_as<double>(bytes);
    case DType::i32:
      return decode_as<std::int32_t>(bytes);
    case DType::bf16:
      return decode_as<std::uint16_t>(bytes);
    case DType::i8:
      return decode_as<std::int8_t>(bytes);
  }
  return {};
}

std::vector<CaseTensor> evaluate_case(const std::shared_ptr<Device>& device, const Case& one,
                                      bool decompose) {
  ops::Call call;
  call.operation = ops::find_operation(one.kind);
  for (const CaseTensor& input : one.inputs) call.inputs.push_back(upload(device, input));
  call.params = one.params;
  call.wanted = 0;
  StaticVector<ops::Into, ATTN_MAX_TENSORS> into;
  for (std::size_t i = 0; i < one.outputs.size(); ++i) {
    const CaseTensor& output = one.outputs[i];
    CaseTensor start = output;
    if (!output.in_out) start.values.clear();
    if (output.present) call.wanted |= 1u << i;
    into.push_back({upload(device, start), ((one.accumulate >> i) & 1u) != 0, output.present});
  }
  const std::span<const ops::Into> targets{into.data(), into.size()};
  const ops::Tensors found = decompose && call.operation->decomposition != nullptr
                                 ? run_decomposed(call, targets)
                                 : ops::apply_operation(call, targets);
  std::vector<CaseTensor> outputs = one.outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].present) continue;
    std::vector<std::byte> bytes(found[i].bytes());
    device->download(bytes.data(), found[i].data(), bytes.size());
    outputs[i].values = decode(outputs[i].type, bytes);
  }
  return outputs;
}

Case in_f64(Case one) {
  for (auto* list : {&one.inputs, &one.outputs}) {
    for (CaseTensor& tensor : *list) {
      if (tensor.type == DType::f32) tensor.type = DType::f64;
    }
  }
  return one;
}

// ---- Builder

Builder::Builder(std::uint32_t kind, std::string name, std::uint64_t seed, DType real,
                 std::shared_ptr<Device> reference)
    : seed_(seed), random_(seed, name), reference_(std::move(reference)) {
  case_.kind = kind;
  case_.name = std::move(name);
  case_.real = real;
}

Builder& Builder::given(CaseTensor tensor) {
  if (tensor.present && is_real(tensor.type)) {
    if (tensor.type == DType::f32)
      for (double& value : tensor.values) value = static_cast<float>(value);
  }
  tensor.in_out = false;
  tensor.alias = -1;
  case_.inputs.push_back(std::move(tensor));
  return *this;
}

Builder& Builder::typed(DType type, const Shape& shape, std::vector<double> values) {
  return given({type, shape, std::move(values)});
}

Builder& Builder::in(const Shape& shape, std::vector<double> values) {
  case_.uses_real = true;
  return typed(case_.real, shape, std::move(values));
}

Builder& Builder::in(const Shape& shape, double low, double high) {
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  // no more than 22 bits, so that f32 holds them exactly
  for (double& value : values) value = low + std::floor((high - low) * random_.uniform() * 4096) / 4096;
  return in(shape, std::move(values));
}

Builder& Builder::integers(const Shape& shape, std::vector<double> values) {
  return typed(DType::i32, shape, std::move(values));
}

Builder& Builder::integers(const Shape& shape, std::int64_t low, std::int64_t high) {
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (double& value : values) {
    value =
        static_cast<double>(low) + static_cast<double>(random_.below(static_cast<std::uint64_t>(high - low)));
  }
  return integers(shape, std::move(values));
}

Builder& Builder::absent() {
  CaseTensor tensor;
  tensor.present = false;
  case_.inputs.push_back(std::move(tensor));
  return *this;
}

Builder& Builder::random(double rate) {
  if (rate == 0) return absent();
  return integers({4}, std::vector<double>{17, -3, static_cast<double>(random_.below(1000)), 0});
}

Builder& Builder::out(DType type, const Shape& shape) {
  case_.outputs.push_back({type, shape, {}});
  return *this;
}

Builder& Builder::out(const Shape& shape) {
  case_.uses_real = true;
  return out(case_.real, shape);
}

Builder& Builder::in_out(const Shape& shape, double low, double high) {
  in(shape, low, high);
  CaseTensor tensor = std::move(case_.inputs.back());
  case_.inputs.pop_back();
  tensor.in_out = true;
  case_.outputs.push_back(std::move(tensor));
  return *this;
}

Builder& Builder::alias(std::size_t input) {
  CaseTensor tensor = case_.inputs[input];
  tensor.values.clear();
  tensor.alias = static_cast<int>(input);
  case_.outputs.push_back(std::move(tensor));
  return *this;
}

Builder& Builder::no_output() {
  CaseTensor tensor;
  tensor.present = false;
  case_.outputs.push_back(std::move(tensor));
  return *this;
}

Builder& Builder::gradient(const Shape& shape, std::uint32_t wanted, std::uint32_t accumulate) {
  const auto index = case_.outputs.size();
  if (((wanted >> index) & 1u) == 0) return no_output();
  if (((accumulate >> index) & 1u) == 0) return out(shape);
  case_.accumulate |= 1u << index;
  case_.params.set_accumulate(case_.accumulate);
  return in_out(shape);
}

Builder& Builder::exact() {
  case_.exact = true;
  return *this;
}

Builder& Builder::magnitude(double value) {
  case_.magnitude = value;
  return *this;
}

Builder Builder::forward(std::uint32_t kind) const {
  // a name of its own, so that the gradient of a result is not the beginning of an input
  return {kind, case_.name + ", forward", seed_, case_.real, reference_};
}

std::vector<CaseTensor> Builder::outputs() const {
  std::vector<CaseTensor> results = evaluate_case(reference_, in_f64(case_));
  for (std::size_t i = 0; i < results.size(); ++i) results[i].type = case_.outputs[i].type;
  return results;
}

Case Builder::take() {
  return std::move(case_);
}

// ---- Recipes

void Recipes::add(std::uint32_t kind, const std::string& description, std::function<void(Builder&)> fill) {
  all_.push_back({kind, description, std::move(fill)});
}

std::int64_t Recipes::size(std::int64_t most) {
  constexpr std::int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 64, 65, 127, 129};
  const auto fitting = std::upper_bound(std::begin(sizes), std::end(sizes), most) - std::begin(sizes);
  return sizes[below(fitting)];
}

Shape Recipes::shape(int rank, std::int64_t most) {
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t next = size(std::max<std::int64_t>(most, 1));
    shape = shape.appended(next);
    most /= next;
  }
  return shape;
}

Recipes all_recipes(std::uint64_t seed, bool quick) {
  Recipes recipes(seed, quick);
  for (const auto add : {add_elementwise_recipes, add_product_recipes, add_softmax_recipes,
                         add_movement_recipes, add_row_recipes, add_linear_recipes, add_attention_recipes,
                         add_norm_recipes, add_sequence_recipes, add_loss_recipes, add_optimizer_recipes}) {
    add(recipes);
  }
  return recipes;
}

}  // namespace attn::conformance
