// Bidirectional stacks and the LSTM against PyTorch; the GRU in one direction is in test_gru.cpp.
#include <cmath>

#include "attn/nn/recurrent.h"
#include "recurrent_values.h"
#include "support/golden_module.h"

namespace {

using namespace attn;
using namespace attn::test;

constexpr std::int64_t steps = 4, batch = 2, inputs = 3, hidden = 2, layers = 2;

// f(scale * j + shift) for all elements of a shape.
template<typename Function>
Tensor numbered(const Setting& setting, const Shape& shape, Function f, double scale, double shift = 0.0,
                double factor = 1.0) {
  std::vector<double> values;
  for (std::int64_t j = 0; j < shape.elements(); ++j)
    values.push_back(factor * f(scale * static_cast<double>(j) + shift));
  return Tensor::from<double>(setting.device, values, shape, setting.type);
}
double sine(double x) {
  return std::sin(x);
}
double cosine(double x) {
  return std::cos(x);
}

// Sentences of 4 and of 2 tokens.
SentenceRows two_sentences(const Setting& setting) {
  return {Tensor::from<std::int32_t>(setting.device, std::vector<std::int32_t>{6, 3}, {2}),
          Tensor::from<std::int32_t>(setting.device, std::vector<std::int32_t>{6, 3, 4, 1, 2, 5, 0, 7}, {8})};
}

// A tensor [steps, batch, width] with zeros after the second sentence's end.
std::vector<double> without_padding(std::vector<double> values) {
  const std::size_t width = values.size() / (steps * batch);
  for (const std::size_t row : {5u, 7u})
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(row * width), width, 0.0);
  return values;
}

std::vector<double> joined(const std::vector<Tensor>& tensors) {
  std::vector<double> all;
  for (const Tensor& tensor : tensors) {
    const auto values = tensor.to_vector<double>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

struct Stack {
  Stack(const Setting& setting, RecurrentCell cell, bool bidirectional)
      : store(setting.device, setting.type),
        stack(Scope(store),
              {cell, inputs, hidden, layers, 0.3, bidirectional}) {  // no dropout outside training
    store.materialise(1);
    double number = 0.0;
    for (const ParameterHandle& parameter : store.all()) {
      parameter->tensor.assign<double>(
          numbered(setting, parameter->shape, sine, 0.37, number++, 0.5).to_vector<double>());
    }
    store.train_with(tape);
  }

  Tape tape;
  ParameterStore store;
  RecurrentStack stack;
};

// The sum of the tensors, laid one after another, times f(j).
template<typename Function>
Tensor weighted(const Setting& setting, const std::vector<Tensor>& tensors, Function f) {
  Tensor sum;
  double at = 0.0;
  for (const Tensor& tensor : tensors) {
    const Tensor part = ops::sum(ops::multiply(tensor, numbered(setting, tensor.shape(), f, 1.0, at)));
    at += static_cast<double>(tensor.elements());
    sum = sum.defined() ? ops::add(sum, part) : part;
  }
  return sum;
}

}  // namespace

TEST_CASE(
    "LSTMs and bidirectional stacks give PyTorch's outputs, states and gradients for packed sentences") {
  for (const Setting& setting : settings()) {
    for (const RecurrentValues& expected : recurrent_values) {
      INFO(setting.name << (expected.cell == RecurrentCell::gru ? ", GRU" : ", LSTM")
                        << (expected.bidirectional ? ", both directions" : ""));
      Stack run(setting, expected.cell, expected.bidirectional);
      const Tensor x = run.tape.watch(numbered(setting, {steps, batch, inputs}, cosine, 0.9));
      Context context;
      const RecurrentResult result = run.stack(x, {}, context, two_sentences(setting));
      CHECK(relative_difference(without_padding(result.outputs.to_vector<double>()), expected.outputs) <
            setting.tolerance);
      CHECK(relative_difference(joined(result.states), expected.states) < setting.tolerance);
      CHECK(relative_difference(joined(result.cells), expected.cells) < setting.tolerance);
      const auto weights =
          without_padding(numbered(setting, result.outputs.shape(), sine, 0.5).to_vector<double>());
      Tensor loss =
          ops::sum(ops::multiply(result.outputs, Tensor::from<double>(setting.device, weights,
                                                                      result.outputs.shape(), setting.type)));
      loss = ops::add(loss, weighted(setting, result.states, cosine));
      if (!result.cells.empty()) loss = ops::add(loss, weighted(setting, result.cells, sine));
      run.tape.backward(loss);
      CHECK(relative_difference(run.tape.gradient_of(x).to_vector<double>(), expected.x_gradient) <
            setting.tolerance);
      const auto gradient = [&](const char* path) {
        return run.store.find(path)->gradient.to_vector<double>();
      };
      CHECK(relative_difference(gradient("weight_hh_l1"), expected.weight_hh_l1_gradient) <
            setting.tolerance);
      CHECK(relative_difference(gradient("bias_hh_l0"), expected.bias_hh_l0_gradient) < setting.tolerance);
    }
  }
}

TEST_CASE("an LSTM fed step by step gives the rows of the whole sequence") {
  for (const Setting& setting : settings()) {
    INFO(setting.name);
    const Stack run(setting, RecurrentCell::lstm, false);
    const Tensor x = numbered(setting, {steps, batch, inputs}, cosine, 0.9);
    Context context;
    const RecurrentResult whole = run.stack(x, {}, context);
    RecurrentState state;
    std::vector<Tensor> outputs;
    for (std::int64_t t = 0; t < steps; ++t) {
      const RecurrentResult result = run.stack(x.rows(t, 1), state, context);
      state = result.state();
      outputs.push_back(result.outputs);
    }
    CHECK(relative_difference(joined(outputs), whole.outputs.to_vector<double>()) < setting.tolerance);
    CHECK(relative_difference(joined(state.hidden), joined(whole.states)) < setting.tolerance);
    CHECK(relative_difference(joined(state.cells), joined(whole.cells)) < setting.tolerance);
  }
}

TEST_CASE("a step of an LSTM is that of its equations") {
  // One unit, all weights 1, biases 0.5 and 0.25: every gate is of x + h + 0.75.
  for (const Setting& setting : settings()) {
    INFO(setting.name);
    ParameterStore store(setting.device, setting.type);
    const RecurrentStack stack(Scope(store), {RecurrentCell::lstm, 1, 1, 1, 0.0, false});
    store.materialise(1);
    const auto set = [&](const char* path, double value) {
      store.find(path)->tensor.assign<double>(std::vector<double>(4, value));
    };
    set("weight_ih_l0", 1.0);
    set("weight_hh_l0", 1.0);
    set("bias_ih_l0", 0.5);
    set("bias_hh_l0", 0.25);
    const auto one = [&](double value) {
      return std::vector<Tensor>{
          Tensor::from<double>(setting.device, std::vector<double>{value}, {1, 1}, setting.type)};
    };
    Context context;
    const Tensor x = Tensor::from<double>(setting.device, std::vector<double>{0.3}, {1, 1, 1}, setting.type);
    const RecurrentResult result = stack(x, {one(-0.2), one(0.6)}, context);
    const double gate = 1.0 / (1.0 + std::exp(-0.85));
    const double cell = gate * 0.6 + gate * std::tanh(0.85);
    CHECK(result.cells[0].item() == Approx(cell).epsilon(1e-6));
    CHECK(result.states[0].item() == Approx(gate * std::tanh(cell)).epsilon(1e-6));
  }
}

TEST_CASE("a bidirectional stack without the rows of reversed sentences is an error") {
  const Setting setting = settings().front();
  const Stack run(setting, RecurrentCell::gru, true);
  Context context;
  CHECK_THROWS_AS(run.stack(numbered(setting, {steps, batch, inputs}, cosine, 0.9), {}, context), Error);
}
