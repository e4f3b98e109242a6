#include "attn/conformance/scenario.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/autograd/tape.h"
#include "attn/core/error.h"
#include "attn/ops/ops.h"
#include "attn/runtime/random.h"

namespace attn::conformance {

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all;
  for (auto list : {elementwise_scenarios, product_scenarios, movement_scenarios, attention_scenarios,
                    layer_scenarios, loss_scenarios, in_place_scenarios}) {
    for (Scenario& scenario : list()) all.push_back(std::move(scenario));
  }
  return all;
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
  if (!loss.defined()) fail(ExitCode::internal, "{}: no output is recorded", scenario.name);
  tape.backward(loss);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    result.gradients.emplace_back();
    if (!watched[i]) continue;
    const Tensor gradient = tape.gradient_of(inputs[i]);
    if (gradient.shape() != scenario.inputs[i])
      fail(ExitCode::internal, "{}: the gradient of input {} is {}", scenario.name, i, gradient.shape());
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

namespace {

constexpr double difference_step = 1e-5;

double loss_of(const std::shared_ptr<Device>& device, const Scenario& scenario, const Values& values,
               int times, const std::vector<bool>& counted) {
  const Evaluation found = evaluate(device, scenario, values, {.gradients = false});
  double loss = 0;
  for (int use = 0; use < times; ++use) {
    for (std::size_t k = 0; k < found.outputs.size(); ++k) {
      if (!counted[k]) continue;
      const auto w = cotangent(scenario, k, use, found.outputs[k].size());
      for (std::size_t i = 0; i < w.size(); ++i) loss += w[i] * found.outputs[k][i];
    }
  }
  return loss;
}

}  // namespace

Values central_differences(const std::shared_ptr<Device>& device, const Scenario& scenario, int times,
                           const std::vector<bool>& counted) {
  Values result, values = input_values(scenario);
  for (auto& input : values) {
    auto& differences = result.emplace_back();
    for (double& element : input) {
      const double before = element;
      element = before + difference_step;
      const double above = loss_of(device, scenario, values, times, counted);
      element = before - difference_step;
      const double below = loss_of(device, scenario, values, times, counted);
      element = before;
      differences.push_back((above - below) / (2 * difference_step));
    }
  }
  return result;
}

std::vector<double> directional_differences(const std::shared_ptr<Device>& device, const Scenario& scenario,
                                            int times, const std::vector<bool>& counted,
                                            const Values& directions) {
  std::vector<double> result;
  const Values values = input_values(scenario);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto moved = [&](double step) {
      Values at = values;
      for (std::size_t k = 0; k < at[i].size(); ++k) at[i][k] += step * directions[i][k];
      return loss_of(device, scenario, at, times, counted);
    };
    result.push_back((moved(difference_step) - moved(-difference_step)) / (2 * difference_step));
  }
  return result;
}

}  // namespace attn::conformance
