#include "attn/nn/recurrent.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "attn/core/error.h"

namespace attn {
namespace {

std::int64_t gates_of(RecurrentCell cell) {
  return cell == RecurrentCell::gru ? 3 : 4;
}

// Rows of [steps, batch, width] in another order, in its shape.
Tensor reordered(const Tensor& x, const Tensor& rows) {
  return ops::gather_rows(x.reshaped({x.size(0) * x.size(1), x.size(2)}), rows).reshaped(x.shape());
}

// Of a sequence [steps, batch, width], what stands at the given rows, or at the last step.
Tensor state_at(const Tensor& sequence, const Tensor& rows) {
  const std::int64_t steps = sequence.size(0), batch = sequence.size(1), width = sequence.size(2);
  if (rows.defined()) return ops::gather_rows(sequence.reshaped({steps * batch, width}), rows);
  const Tensor last = steps == 1 ? sequence : ops::slice_axis(sequence, 0, steps - 1, 1);
  return last.reshaped({batch, width});
}

Tensor side_by_side(const Tensor& a, const Tensor& b) {
  return ops::concatenate(std::array{a, b}, -1);
}

}  // namespace

RecurrentStack::RecurrentStack(const Scope& scope, const Options& options) : options_(options) {
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    layers_.push_back({declare(scope, layer, ""), {}});
    if (options.bidirectional) layers_.back().backward = declare(scope, layer, "_reverse");
  }
}

RecurrentStack::Direction RecurrentStack::declare(const Scope& scope, std::int64_t layer,
                                                  const char* suffix) const {
  const std::int64_t hidden = options_.hidden, rows = gates_of(options_.cell) * hidden;
  const std::int64_t in = layer == 0 ? options_.input : width();
  const Initialization bias = Initialization::uniform(1.0 / std::sqrt(static_cast<double>(hidden)));
  const auto name = [&](const char* what) { return fmt::format("{}_l{}{}", what, layer, suffix); };
  return {scope.parameter(name("weight_ih"), {rows, in}, Initialization::xavier(in, rows)),
          scope.parameter(name("weight_hh"), {rows, hidden}, Initialization::xavier(hidden, rows)),
          scope.parameter(name("bias_ih"), Shape{rows}, bias),
          scope.parameter(name("bias_hh"), Shape{rows}, bias)};
}

RecurrentStack::Read RecurrentStack::read(const Direction& direction, const Tensor& x, const Tensor& hidden,
                                          const Tensor& cell, const Tensor& last) const {
  const Tensor from_input = ops::linear(x, direction.weight_ih->tensor, direction.bias_ih->tensor);
  const auto start = [&](const Tensor& given) {
    return given.defined() ? given
                           : Tensor::zeros(x.shared_device(), {x.size(1), options_.hidden}, x.dtype());
  };
  if (options_.cell == RecurrentCell::gru) {
    const Tensor outputs =
        ops::gru_sequence(from_input, start(hidden), direction.weight_hh->tensor, direction.bias_hh->tensor);
    return {outputs, state_at(outputs, last), {}};
  }
  const LstmSequence sequence = lstm_sequence(from_input, start(hidden), start(cell),
                                              direction.weight_hh->tensor, direction.bias_hh->tensor);
  // The last cell is at hand; to choose by sentence, all have to lie in one tensor.
  const Tensor cells = last.defined() ? ops::gather_rows(ops::concatenate_all(sequence.cells, 0), last)
                                      : sequence.cells.back();
  return {sequence.states, state_at(sequence.states, last), cells};
}

RecurrentStack::Read RecurrentStack::read_both(const Layer& layer, const Tensor& x,
                                               const SentenceRows& rows) const {
  const Read forward = read(layer.forward, x, {}, {}, rows.last);
  const Read backward = read(*layer.backward, reordered(x, rows.reversed), {}, {}, rows.last);
  return {side_by_side(forward.outputs, reordered(backward.outputs, rows.reversed)),
          side_by_side(forward.state, backward.state),
          forward.cell.defined() ? side_by_side(forward.cell, backward.cell) : Tensor{}};
}

RecurrentResult RecurrentStack::operator()(const Tensor& x, const RecurrentState& initial, Context& context,
                                           const SentenceRows& rows) const {
  if (options_.bidirectional && (!rows.reversed.defined() || !initial.hidden.empty()))
    fail(ExitCode::internal, "a bidirectional stack needs the rows of reversed sentences and no states");
  RecurrentResult result;
  Tensor input = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (i > 0) input = ops::dropout(input, context.dropout(options_.dropout));
    const auto given = [i](const std::vector<Tensor>& states) {
      return states.empty() ? Tensor{} : states[i];
    };
    const Layer& layer = layers_[i];
    Read layer_read =
        layer.backward ? read_both(layer, input, rows)
                       : read(layer.forward, input, given(initial.hidden), given(initial.cells), rows.last);
    input = std::move(layer_read.outputs);
    result.states.push_back(std::move(layer_read.state));
    if (layer_read.cell.defined()) result.cells.push_back(std::move(layer_read.cell));
  }
  result.outputs = input;
  return result;
}

LstmSequence lstm_sequence(const Tensor& input_gates, const Tensor& initial_state, const Tensor& initial_cell,
                           const Tensor& weight, const Tensor& bias) {
  const std::int64_t steps = input_gates.size(0), batch = input_gates.size(1), hidden = weight.size(1);
  LstmSequence result;
  std::vector<Tensor> states;
  Tensor state = initial_state, cell = initial_cell;
  for (std::int64_t t = 0; t < steps; ++t) {
    const Tensor from_input = steps == 1 ? input_gates : ops::slice_axis(input_gates, 0, t, 1);
    const Tensor gates = ops::add(from_input.reshaped({batch, 4 * hidden}), ops::linear(state, weight, bias));
    const Tensor keep = ops::sigmoid(ops::slice_axis(gates, -1, 0, 2 * hidden));
    const Tensor input = ops::slice_axis(keep, -1, 0, hidden);
    const Tensor forget = ops::slice_axis(keep, -1, hidden, hidden);
    const Tensor fresh = ops::tanh(ops::slice_axis(gates, -1, 2 * hidden, hidden));
    const Tensor output = ops::sigmoid(ops::slice_axis(gates, -1, 3 * hidden, hidden));
    cell = ops::add(ops::multiply(forget, cell), ops::multiply(input, fresh));
    state = ops::multiply(output, ops::tanh(cell));
    result.cells.push_back(cell);
    states.push_back(state);
  }
  result.states = ops::concatenate_all(states, 0).reshaped({steps, batch, hidden});
  return result;
}

}  // namespace attn
