#include "attn/nn/gru.h"
#include "support/golden_module.h"

namespace {

using namespace attn;
using namespace attn::test;

struct GruCase {
  std::string name;
  std::int64_t layers;
  bool zero_state;
};
const std::vector<GruCase> gru_cases = {
    {"gru_1layer", 1, false}, {"gru_2layer", 2, false}, {"gru_2layer_h0zero", 2, true}};

constexpr std::int64_t steps = 4, batch = 2, inputs = 3, hidden = 5;

std::vector<std::string> parameter_names(std::int64_t layers) {
  std::vector<std::string> names;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (const std::string what : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
      names.push_back(what + "_l" + std::to_string(layer));
  }
  return names;
}

// The states of all layers in a dataset [layers, batch, hidden], one tensor a layer.
std::vector<std::vector<double>> by_layer(const GoldenModule& run, const std::string& dataset) {
  const std::vector<double> values = run.golden().values(dataset);
  std::vector<std::vector<double>> result;
  for (auto at = values.begin(); at != values.end(); at += batch * hidden)
    result.emplace_back(at, at + batch * hidden);
  return result;
}

void load_all(GoldenModule& run, std::int64_t layers) {
  run.start();
  for (const std::string& name : parameter_names(layers)) run.load(name, name);
}

}  // namespace

TEST_CASE("a stack of GRUs reproduces the reference, gradients included") {
  for (const Setting& setting : settings()) {
    for (const GruCase& gru_case : gru_cases) {
      INFO(gru_case.name);
      GoldenModule run(gru_case.name, setting);
      const GRU gru(run.scope(), inputs, hidden, gru_case.layers, 0.3);  // no dropout outside training
      load_all(run, gru_case.layers);
      const Tensor x = run.watch("x");
      std::vector<Tensor> initial;
      for (const auto& state : by_layer(run, "h0"))
        initial.push_back(run.watch(run.tensor(state, {batch, hidden})));
      Context context;
      const GRU::Result result = gru(x, gru_case.zero_state ? std::vector<Tensor>{} : initial, context);
      run.check(result.outputs, "out");
      const auto expected = by_layer(run, "h_n"), cotangents = by_layer(run, "cot_h_n");
      REQUIRE(result.states.size() == expected.size());
      Tensor loss = ops::sum(ops::multiply(result.outputs, run.input("cot_out")));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        run.check(result.states[i].to_vector<double>(), expected[i], "h_n");
        loss = ops::add(
            loss, ops::sum(ops::multiply(result.states[i], run.tensor(cotangents[i], {batch, hidden}))));
      }
      run.backward(loss);
      run.check_gradient(x, "grad_x");
      for (const std::string& name : parameter_names(gru_case.layers))
        run.check_gradient_of(name, "grad_" + name);
      if (gru_case.zero_state) continue;
      const auto gradients = by_layer(run, "grad_h0");
      for (std::size_t i = 0; i < gradients.size(); ++i)
        run.check(run.gradient(initial[i]), gradients[i], "grad_h0");
    }
  }
}

TEST_CASE("a GRU fed step by step gives the rows of the whole sequence") {
  for (const Setting& setting : settings()) {
    GoldenModule run("gru_2layer_h0zero", setting);
    const GRU gru(run.scope(), inputs, hidden, 2, 0.0);
    load_all(run, 2);
    const Tensor x = run.input("x");
    Context context;
    std::vector<Tensor> states;
    std::vector<double> outputs;
    for (std::int64_t t = 0; t < steps; ++t) {
      GRU::Result result = gru(x.rows(t, 1), states, context);
      states = result.states;
      const auto row = result.outputs.to_vector<double>();
      outputs.insert(outputs.end(), row.begin(), row.end());
    }
    run.check(outputs, run.golden().values("out"), "out");
  }
}

TEST_CASE("the states of a GRU can be taken after another step for every sentence") {
  for (const Setting& setting : settings()) {
    GoldenModule run("gru_2layer_h0zero", setting);
    const GRU gru(run.scope(), inputs, hidden, 2, 0.0);
    load_all(run, 2);
    const Tensor x = run.input("x");
    Context context;
    // Sentence 0 ends at step 1, sentence 1 at step 3.
    const Tensor rows = Tensor::from<std::int32_t>(setting.device, std::vector<std::int32_t>{2, 7}, {2});
    const GRU::Result ragged = gru(x, {}, context, {rows, {}});
    const GRU::Result two_steps = gru(x.rows(0, 2), {}, context), all = gru(x, {}, context);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const auto found = ragged.states[layer].to_vector<double>();
      auto expected = two_steps.states[layer].to_vector<double>();
      const auto last = all.states[layer].to_vector<double>();
      std::copy(last.begin() + hidden, last.end(), expected.begin() + hidden);
      run.check(found, expected, "states");
    }
  }
}
