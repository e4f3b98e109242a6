#include "scenario.h"
#include "support/catch.h"

namespace {

using namespace attn;
using namespace attn::test;

constexpr double tolerance = 1e-7;  // of a central difference in f64

void check_gradients(const std::shared_ptr<Device>& device, const Scenario& scenario) {
  INFO(scenario.name);
  const Values values = input_values(scenario);
  constexpr int times = 2;  // the second use adds to the gradients of the first
  const Evaluation found = evaluate(device, scenario, values, {.times = times});
  const Evaluation given = evaluate(device, scenario, values, {.times = times, .given = true});
  const Values expected = central_differences(device, scenario, times, found.recorded);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("input " << i);
    CHECK(relative_difference(found.gradients[i], expected[i]) < tolerance);
    CHECK(relative_difference(given.gradients[i], found.gradients[i]) < 1e-13);
    const Evaluation alone =
        evaluate(device, scenario, values, {.times = times, .only_input = static_cast<int>(i)});
    CHECK(relative_difference(alone.gradients[i], found.gradients[i]) < 1e-13);
  }
}

void check_all(const std::vector<Scenario>& scenarios) {
  const auto device = reference_device();
  for (const Scenario& scenario : scenarios) {
    if (scenario.differentiable) check_gradients(device, scenario);
  }
}

}  // namespace

TEST_CASE("gradients of elementwise operations agree with central differences") {
  check_all(elementwise_scenarios());
}

TEST_CASE("gradients of products and reductions agree with central differences") {
  check_all(product_scenarios());
}

TEST_CASE("gradients of operations that move data agree with central differences") {
  check_all(movement_scenarios());
}

TEST_CASE("gradients of attention agree with central differences") {
  check_all(attention_scenarios());
}

TEST_CASE("gradients of layers agree with central differences") {
  check_all(layer_scenarios());
}

TEST_CASE("gradients of losses agree with central differences") {
  check_all(loss_scenarios());
}

TEST_CASE("the gradient check notices a wrong gradient") {
  const auto device = reference_device();
  const Scenario scenario = layer_scenarios().front();
  Evaluation found = evaluate(device, scenario, input_values(scenario), {});
  const Values expected = central_differences(device, scenario, 1, found.recorded);
  CHECK(relative_difference(found.gradients[0], expected[0]) < tolerance);
  found.gradients[0][1] += 1e-5;
  CHECK(relative_difference(found.gradients[0], expected[0]) > tolerance);
}
