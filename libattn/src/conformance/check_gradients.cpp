#include <algorithm>
#include <cmath>

#include "attn/conformance/scenario.h"
#include "check_cases.h"

namespace attn::conformance {
namespace {

constexpr double of_differences = 1e-7;  // central differences in f64 are no better
constexpr double of_same = 1e-12;        // of two ways to the same gradient in f64
constexpr int times = 2;                 // the second use adds to the gradients of the first

// Relative to the largest element or 1, as relative_difference().
double allowed(DType type) {
  return type == DType::f64 ? 1e-12 : 2e-5;
}

void expect_close(const std::string& what, const std::vector<double>& found,
                  const std::vector<double>& expected, double bound) {
  const double difference = relative_difference(found, expected);
  if (difference <= bound) return;
  std::size_t worst = 0;
  double most = -1;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    const double here = std::abs(found[i] - expected[i]);
    if (here > most || std::isnan(here)) {
      most = here;
      worst = i;
    }
  }
  throw Fault(
      "gradient",
      fmt::format("{}: element {} is {:.9g}, expected {:.9g} (relative difference {:.3g}, allowed {:.3g})",
                  what, worst, found.empty() ? 0 : found[worst], expected.empty() ? 0 : expected[worst],
                  difference, bound));
}

void check_agreement(const Workbench& bench, const Scenario& scenario, DType type) {
  const Values values = input_values(scenario);
  const EvaluationOptions options{.type = type, .times = times, .gradients = scenario.differentiable};
  const Evaluation expected = evaluate(bench.reference, scenario, values, options);
  const Evaluation found = evaluate(bench.device, scenario, values, options);
  for (std::size_t k = 0; k < expected.outputs.size(); ++k)
    expect_close(fmt::format("output {} in {}", k, name_of(type)), found.outputs[k], expected.outputs[k],
                 allowed(type));
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    expect_close(fmt::format("gradient of input {} in {}", i, name_of(type)), found.gradients[i],
                 expected.gradients[i], allowed(type));
  }
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Along one direction whose parts are all different: two evaluations an input.
void check_along_direction(const Workbench& bench, const Scenario& scenario, const Evaluation& found) {
  Values directions;
  for (std::size_t i = 0; i < scenario.inputs.size(); ++i)
    directions.push_back(
        cotangent(scenario, 100 + i, 0, static_cast<std::size_t>(scenario.inputs[i].elements())));
  const auto expected = directional_differences(bench.device, scenario, times, found.recorded, directions);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_close(fmt::format("gradient of input {} along a direction", i),
                 {dot(found.gradients[i], directions[i])}, {expected[i]}, of_differences);
  }
}

void check_differences(const Workbench& bench, const Scenario& scenario) {
  const Values values = input_values(scenario);
  const Evaluation found = evaluate(bench.device, scenario, values, {.times = times});
  if (bench.options.quick) {
    check_along_direction(bench, scenario, found);
  } else {
    const Values expected = central_differences(bench.device, scenario, times, found.recorded);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_close(fmt::format("gradient of input {} against differences", i), found.gradients[i],
                   expected[i], of_differences);
  }
  const Evaluation given = evaluate(bench.device, scenario, values, {.times = times, .given = true});
  for (std::size_t i = 0; i < values.size(); ++i) {
    expect_close(fmt::format("gradient of input {} in a given tensor", i), given.gradients[i],
                 found.gradients[i], of_same);
    const Evaluation alone =
        evaluate(bench.device, scenario, values, {.times = times, .only_input = static_cast<int>(i)});
    expect_close(fmt::format("gradient of input {} alone", i), alone.gradients[i], found.gradients[i],
                 of_same);
  }
}

}  // namespace

void check_gradients(const Workbench& bench) {
  for (const Scenario& scenario : all_scenarios()) {
    check_aspect(bench, "gradient", scenario.name, [&] {
      for (const DType type : {DType::f64, DType::f32}) check_agreement(bench, scenario, type);
      if (scenario.differentiable) check_differences(bench, scenario);
    });
  }
}

}  // namespace attn::conformance
