#include "scenario.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/autograd/tape.h"
#include "attn/core/error.h"
#include "attn/ops/ops.h"
#include "attn/runtime/random.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace attn::test {

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all;
  for (auto list : {elementwise_scenarios, product_scenarios, movement_scenarios, attention_scenarios,
                    layer_scenarios, loss_scenarios, in_place_scenarios}) {
    for (Scenario& scenario : list()) all.push_back(std::move(scenario));
  }
  return all;
}

std::shared_ptr<Device> device_if_there(const std::string& backend, std::string* why_not) {
  try {
    return Device::open(backend);
  } catch (const Error& error) {
    const std::string message = error.what();
    // A plugin that is there but broken is not passed over.
    if (!contains(message, "unknown backend") && !contains(message, "has no device")) throw;
    if (why_not != nullptr) *why_not = message;
    return nullptr;
  }
}

std::shared_ptr<Device> reference_device() {
  return Device::open("reference");
}

Tensor integers(const Tensor& like, const std::vector<std::int32_t>& values, const Shape& shape) {
  return Tensor::from<std::int32_t>(like.shared_device(), values, shape);
}

Tensor random_counter(const Tensor& like) {
  return integers(like, {17, -3, 5, 0}, {4});
}

Values input_values(const Scenario& scenario) {
  Values values;
  for (std::size_t i = 0; i < scenario.inputs.size(); ++i) {
    RandomSequence random(11, scenario.name + std::to_string(i));
    const double offset = (2 * static_cast<double>(i) + 1) / 4096;
    auto& list = values.emplace_back(static_cast<std::size_t>(scenario.inputs[i].elements()));
    for (double& value : list) {
      value =
          std::floor((scenario.low + (scenario.high - scenario.low) * random.uniform()) * 256) / 256 + offset;
    }
  }
  return values;
}

std::vector<double> cotangent(const Scenario& scenario, std::size_t output, int use, std::size_t size) {
  RandomSequence random(23 + static_cast<std::uint64_t>(use), scenario.name + "/" + std::to_string(output));
  std::vector<double> values(size);
  for (double& value : values) value = std::floor((2 * random.uniform() - 1) * 256) / 256;
  return values;
}

Evaluation evaluate(const std::shared_ptr<Device>& device, const Scenario& scenario, const Values& values,
                    const EvaluationOptions& options) {
  Tape tape;
  std::vector<Tensor> inputs;
  std::vector<bool> watched;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Tensor value = Tensor::from<double>(device, values[i], scenario.inputs[i], options.type);
    watched.push_back(options.gradients &&
                      (options.only_input < 0 || static_cast<std::size_t>(options.only_input) == i));
    if (!watched.back()) {
      inputs.push_back(value);
    } else if (options.given) {
      inputs.push_back(tape.watch(value, ops::full(value, value.shape(), 77.0)));
    } else {
      inputs.push_back(tape.watch(value));
    }
  }
  Evaluation result;
  Tensor loss;
  for (int use = 0; use < options.times; ++use) {
    const std::vector<Tensor> outputs = scenario.run(inputs);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Tensor& output = outputs[k];
      if (use == 0) {
        result.outputs.push_back(output.to_vector<double>());
        result.recorded.push_back(output.recorder() != nullptr);
      }
      if (output.recorder() == nullptr) continue;
      const auto w = cotangent(scenario, k, use, static_cast<std::size_t>(output.elements()));
      const Tensor share =
          ops::sum(ops::multiply(output, Tensor::from<double>(device, w, output.shape(), options.type)));
      loss = loss.defined() ? ops::add(loss, share) : share;
    }
  }
  if (!options.gradients) return result;
  REQUIRE(loss.defined());
  tape.backward(loss);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    result.gradients.emplace_back();
    if (!watched[i]) continue;
    const Tensor gradient = tape.gradient_of(inputs[i]);
    CHECK(gradient.shape().to_string() == scenario.inputs[i].to_string());
    result.gradients.back() = gradient.to_vector<double>();
  }
  return result;
}

double relative_difference(const std::vector<double>& found, const std::vector<double>& expected) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (found.size() != expected.size()) return infinity;
  double scale = 1.0, difference = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isfinite(found[i]) && std::isfinite(expected[i])) {
      scale = std::max(scale, std::abs(expected[i]));
      difference = std::max(difference, std::abs(found[i] - expected[i]));
    } else if (!(found[i] == expected[i])) {
      return infinity;
    }
  }
  return difference / scale;
}

}  // namespace attn::test
