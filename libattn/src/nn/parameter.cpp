#include "attn/nn/parameter.h"

#include <algorithm>
#include <cmath>

#include "attn/core/error.h"
#include "attn/runtime/random.h"

namespace attn {
namespace {

// Parameters begin at multiples of 64 bytes, so that a kernel sees the same alignment wherever one stands.
constexpr std::int64_t alignment_in_elements = 16;

std::vector<double> first_values(const Parameter& parameter, std::uint64_t seed) {
  const auto count = parameter.shape.elements();
  std::vector<double> values(static_cast<std::size_t>(count), 0.0);
  RandomSequence random(seed, parameter.path);
  switch (parameter.initialization.kind) {
    case Initialization::Kind::ones:
      std::fill(values.begin(), values.end(), 1.0);
      break;
    case Initialization::Kind::uniform:
      values = uniform_values(random, count, parameter.initialization.spread);
      break;
    case Initialization::Kind::normal:
      values = normal_values(random, count, parameter.initialization.spread);
      break;
    case Initialization::Kind::zeros:
      break;
  }
  return values;
}

}  // namespace

Initialization Initialization::xavier(std::int64_t fan_in, std::int64_t fan_out) {
  return uniform(std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)));
}

ParameterHandle ParameterStore::add(const std::string& path, const Shape& shape,
                                    const Initialization& initialization, bool trainable) {
  if (flat_.defined()) fail(ExitCode::internal, "parameter '{}' is declared after the model was built", path);
  if (find(path) != nullptr) fail(ExitCode::internal, "two parameters are named '{}'", path);
  auto parameter = std::make_shared<Parameter>(Parameter{path, shape, initialization, trainable, {}, {}});
  parameters_.push_back(parameter);
  return parameter;
}

void ParameterStore::materialise(std::optional<std::uint64_t> seed) {
  std::int64_t end = 0;
  count_ = 0;
  offsets_.clear();
  for (const ParameterHandle& parameter : parameters_) {
    offsets_.push_back(parameter->trainable ? end : -1);
    if (!parameter->trainable) continue;
    const std::int64_t elements = parameter->shape.elements();
    count_ += elements;
    end += (elements + alignment_in_elements - 1) / alignment_in_elements * alignment_in_elements;
  }
  flat_ = Tensor::zeros(device_, Shape{end}, type_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& parameter = *parameters_[i];
    parameter.tensor = parameter.trainable ? flat_.view(offsets_[i], parameter.shape)
                                           : Tensor::zeros(device_, parameter.shape, type_);
    if (seed) parameter.tensor.assign<double>(first_values(parameter, *seed));
  }
}

void ParameterStore::train_with(Tape& tape) {
  if (!gradients_.defined()) gradients_ = Tensor::zeros(device_, flat_.shape(), type_);
  for (const ParameterHandle& parameter : parameters_) {
    if (!parameter->trainable) continue;
    parameter->gradient = part(gradients_, *parameter);
    parameter->tensor = tape.watch(parameter->tensor.detached(), parameter->gradient);
  }
}

void ParameterStore::stop_training() {
  for (const ParameterHandle& parameter : parameters_) parameter->tensor = parameter->tensor.detached();
}

ParameterHandle ParameterStore::find(std::string_view path) const {
  const auto found =
      std::find_if(parameters_.begin(), parameters_.end(), [&](const auto& p) { return p->path == path; });
  return found != parameters_.end() ? *found : nullptr;
}

Tensor ParameterStore::part(const Tensor& flat, const Parameter& parameter) const {
  return flat.view(offset_of(parameter), parameter.shape);
}

std::int64_t ParameterStore::offset_of(const Parameter& parameter) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].get() == &parameter && parameter.trainable) return offsets_[i];
  }
  fail(ExitCode::internal, "'{}' is no trainable parameter of this model", parameter.path);
}

}  // namespace attn
