#include "scenario.h"
#include "support/catch.h"

namespace {

using namespace attn;
using namespace attn::test;

void check_same(const std::shared_ptr<Device>& expected_of, const std::shared_ptr<Device>& found_of,
                const Scenario& scenario, DType type, double tolerance) {
  INFO(scenario.name << " in " << name_of(type));
  const Values values = input_values(scenario);
  EvaluationOptions options{.type = type, .times = 2, .gradients = scenario.differentiable};
  const auto compare = [&] {
    const Evaluation expected = evaluate(expected_of, scenario, values, options);
    const Evaluation found = evaluate(found_of, scenario, values, options);
    REQUIRE(found.outputs.size() == expected.outputs.size());
    for (std::size_t k = 0; k < expected.outputs.size(); ++k) {
      INFO("output " << k);
      CHECK(relative_difference(found.outputs[k], expected.outputs[k]) < tolerance);
    }
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
      INFO("gradient of input " << i << ", watched alone: " << options.only_input);
      CHECK(relative_difference(found.gradients[i], expected.gradients[i]) < tolerance);
    }
  };
  compare();
  if (!scenario.differentiable) return;
  options.given = true;
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    options.only_input = i;
    compare();
  }
}

void check_backend(const std::string& backend) {
  std::string why_not;
  const auto found = device_if_there(backend, &why_not);
  if (!found) {
    WARN("not tested: " << why_not);
    return;
  }
  const auto expected = reference_device();
  for (const Scenario& scenario : all_scenarios()) {
    check_same(expected, found, scenario, DType::f64, 1e-12);
    check_same(expected, found, scenario, DType::f32, 1e-5);
  }
}

}  // namespace

TEST_CASE("every operation gives the same on the eigen backend as its decomposition on the reference") {
  check_backend("eigen");
}

TEST_CASE("every operation gives the same on the torch backend as its decomposition on the reference") {
  check_backend("torch");
}

TEST_CASE("every operation gives the same on the cuda backend as its decomposition on the reference") {
  check_backend("cuda");
}

TEST_CASE("operations in f32 agree with f64") {
  const auto device = reference_device();
  for (const Scenario& scenario : all_scenarios()) {
    INFO(scenario.name);
    const Values values = input_values(scenario);
    const Evaluation expected = evaluate(device, scenario, values, {.gradients = scenario.differentiable});
    const Evaluation found =
        evaluate(device, scenario, values, {.type = DType::f32, .gradients = scenario.differentiable});
    for (std::size_t k = 0; k < expected.outputs.size(); ++k) {
      CHECK(relative_difference(found.outputs[k], expected.outputs[k]) < 1e-5);
    }
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
      CHECK(relative_difference(found.gradients[i], expected.gradients[i]) < 2e-5);
    }
  }
}
