#include "attn/nn/gru.h"

#include <fmt/format.h>

#include <cmath>

namespace attn {

GRU::GRU(const Scope& scope, std::int64_t input, std::int64_t hidden, std::int64_t layers, double dropout)
    : hidden_(hidden), dropout_(dropout) {
  const Initialization bias = Initialization::uniform(1.0 / std::sqrt(static_cast<double>(hidden)));
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::int64_t in = layer == 0 ? input : hidden;
    const auto name = [layer](const char* what) { return fmt::format("{}_l{}", what, layer); };
    layers_.push_back(
        {scope.parameter(name("weight_ih"), {3 * hidden, in}, Initialization::xavier(in, 3 * hidden)),
         scope.parameter(name("weight_hh"), {3 * hidden, hidden}, Initialization::xavier(hidden, 3 * hidden)),
         scope.parameter(name("bias_ih"), Shape{3 * hidden}, bias),
         scope.parameter(name("bias_hh"), Shape{3 * hidden}, bias)});
  }
}

GRU::Result GRU::operator()(const Tensor& x, const std::vector<Tensor>& initial, Context& context,
                            const Tensor& final_rows) const {
  Result result;
  const std::int64_t steps = x.size(0), batch = x.size(1);
  Tensor input = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (i > 0) input = ops::dropout(input, context.dropout(dropout_));
    const Tensor from_input = ops::linear(input, layer.weight_ih->tensor, layer.bias_ih->tensor);
    const Tensor start =
        initial.empty() ? Tensor::zeros(x.shared_device(), {batch, hidden_}, x.dtype()) : initial[i];
    input = ops::gru_sequence(from_input, start, layer.weight_hh->tensor, layer.bias_hh->tensor);
    if (final_rows.defined()) {
      result.states.push_back(ops::gather_rows(input.reshaped({steps * batch, hidden_}), final_rows));
    } else {
      const Tensor last = steps == 1 ? input : ops::slice_axis(input, 0, steps - 1, 1);
      result.states.push_back(last.reshaped({batch, hidden_}));
    }
  }
  result.outputs = input;
  return result;
}

}  // namespace attn
