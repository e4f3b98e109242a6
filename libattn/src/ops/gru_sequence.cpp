#include <vector>

#include "internal.h"

namespace attn::ops {
namespace {

struct Gates {
  Tensor reset, update, fresh, hidden_part;  // hidden_part is the recurrent share of the new gate
};

// Columns index * hidden .. of [batch, count * hidden].
Tensor gate(const Tensor& gates, std::int64_t hidden, std::int64_t index) {
  return slice_axis(gates, -1, index * hidden, hidden);
}

// Step t of [steps, batch, width], as [batch, width].
Tensor step(const Tensor& sequence, std::int64_t t) {
  return sequence.rows(t, 1).reshaped({sequence.size(1), sequence.size(2)});
}

// Tensors of equal shape [batch, width] under each other, [steps, batch, width].
Tensor stack(const std::vector<Tensor>& steps, const Tensor& like, const Shape& shape) {
  Tensor result(like.shared_device(), shape, like.dtype());
  for (std::size_t t = 0; t < steps.size(); ++t)
    copy_into(result.rows(static_cast<std::int64_t>(t), 1), steps[t]);
  return result;
}

TensorSpecs gru_shapes(const Call& call) {
  const Tensor &input = call.input(0), &initial = call.input(1), &weight = call.input(2);
  require_rank("gru_sequence", "weight", weight, 2);
  const std::int64_t hidden = weight.size(1);
  require_shape("gru_sequence", "weight", weight, {3 * hidden, hidden});
  require_rank("gru_sequence", "input_gates", input, 3);
  require_shape("gru_sequence", "input_gates", input, {input.size(0), input.size(1), 3 * hidden});
  require_shape("gru_sequence", "initial_state", initial, {input.size(1), hidden});
  if (call.has(3)) require_shape("gru_sequence", "bias", call.input(3), {3 * hidden});
  return {{{input.size(0), input.size(1), hidden}, input.dtype()},
          {{input.size(0), input.size(1), 4 * hidden}, input.dtype()}};
}

Tensors gru_decomposed(const Call& call, std::span<const Into>) {
  const Tensor &input = call.input(0), &weight = call.input(2);
  const std::int64_t steps = input.size(0), batch = input.size(1), hidden = weight.size(1);
  std::vector<Tensor> states, gates;
  Tensor state = call.input(1);
  for (std::int64_t t = 0; t < steps; ++t) {
    const Tensor from_input = step(input, t);
    Tensor from_state = matmul(state, weight, {.transpose_b = true});
    if (call.has(3)) from_state = add(from_state, call.input(3));
    const Tensor reset = sigmoid(add(gate(from_input, hidden, 0), gate(from_state, hidden, 0)));
    const Tensor update = sigmoid(add(gate(from_input, hidden, 1), gate(from_state, hidden, 1)));
    const Tensor hidden_part = gate(from_state, hidden, 2);
    const Tensor fresh = tanh(add(gate(from_input, hidden, 2), multiply(reset, hidden_part)));
    state = add(multiply(affine(update, -1.0, 1.0), fresh), multiply(update, state));
    states.push_back(state);
    gates.push_back(concatenate(std::array{reset, update, fresh, hidden_part}, 1));
  }
  return {stack(states, input, {steps, batch, hidden}), stack(gates, input, {steps, batch, 4 * hidden})};
}

TensorSpecs gru_gradient_shapes(const Call& call) {
  const Tensor &initial = call.input(0), &weight = call.input(1), &states = call.input(2);
  const std::int64_t hidden = weight.size(1);
  const DType type = states.dtype();
  return {{{states.size(0), states.size(1), 3 * hidden}, type},
          {initial.shape(), type},
          {weight.shape(), type},
          {{3 * hidden}, type}};
}

// Backward through time. With dh the gradient of h' = (1-z) n + z h:
//   da_n = dh (1-z) (1-n^2),  da_z = dh (h-n) z (1-z),  da_r = da_n u_n r (1-r),  du = (da_r, da_z, da_n r),
//   dh += dh z + du weight
Tensors gru_gradient_decomposed(const Call& call, std::span<const Into>) {
  const Tensor &initial = call.input(0), &weight = call.input(1), &states = call.input(2),
               &gates = call.input(3), &d_states = call.input(4);
  const std::int64_t steps = states.size(0), batch = states.size(1), hidden = weight.size(1);
  std::vector<Tensor> d_input(static_cast<std::size_t>(steps));
  Tensor d_state = full(initial, initial.shape(), 0.0), d_weight = full(weight, weight.shape(), 0.0),
         d_bias = full(weight, {3 * hidden}, 0.0);
  const std::array<int, 1> over_batch{0};
  for (std::int64_t t = steps - 1; t >= 0; --t) {
    const Tensor all = step(gates, t);
    const Gates at{gate(all, hidden, 0), gate(all, hidden, 1), gate(all, hidden, 2), gate(all, hidden, 3)};
    const Tensor before = t == 0 ? initial : step(states, t - 1);
    const Tensor dh = add(d_state, step(d_states, t));
    const Tensor keep = affine(at.update, -1.0, 1.0);
    const Tensor d_fresh = multiply(multiply(dh, keep), affine(square(at.fresh), -1.0, 1.0));
    const Tensor d_update = multiply(multiply(dh, subtract(before, at.fresh)), multiply(at.update, keep));
    const Tensor d_reset =
        multiply(multiply(d_fresh, at.hidden_part), multiply(at.reset, affine(at.reset, -1.0, 1.0)));
    const Tensor d_recurrent = concatenate(std::array{d_reset, d_update, multiply(d_fresh, at.reset)}, 1);
    d_input[static_cast<std::size_t>(t)] = concatenate(std::array{d_reset, d_update, d_fresh}, 1);
    d_state = add(multiply(dh, at.update), matmul(d_recurrent, weight));
    d_weight = add(d_weight, matmul(d_recurrent, before, {.transpose_a = true}));
    d_bias = add(d_bias, sum(d_recurrent, over_batch));
  }
  return {stack(d_input, states, {steps, batch, 3 * hidden}), d_state, d_weight, d_bias};
}

void gru_gradient(Gradient& g) {
  if (!g.of(0).defined()) return;
  const std::array<Into, 4> into{g.into(0), g.into(1), g.into(2), g.into(3)};
  apply_operation(Call{&gru_sequence_gradient_operation,
                       {g.input(1), g.input(2), g.output(0), g.output(1), g.of(0)},
                       attn_gradient_params{},
                       15u},
                  into);
}

double gru_flops(double steps_and_batch, double hidden) {
  return steps_and_batch * hidden * (6 * hidden + 14);
}

}  // namespace

// r = sigmoid(a_r + u_r), z = sigmoid(a_z + u_z), n = tanh(a_n + r u_n), h' = (1-z) n + z h, where a are the
// gates from the input and u = h weight^T + bias.
const Operation gru_sequence_operation{
    .kind = ATTN_OP_GRU_SEQUENCE,
    .name = "gru_sequence",
    .shapes = gru_shapes,
    .gradient = gru_gradient,
    .flops =
        [](const Call&, const TensorSpecs& out) {
          return gru_flops(as_double(out[0].shape.leading()), as_double(out[0].shape.back()));
        },
    .decomposition = gru_decomposed,
};

const Operation gru_sequence_gradient_operation{
    .kind = ATTN_OP_GRU_SEQUENCE_GRADIENT,
    .name = "gru_sequence_gradient",
    .shapes = gru_gradient_shapes,
    .flops =
        [](const Call& call, const TensorSpecs&) {
          const Tensor& states = call.input(2);
          return 2 * gru_flops(as_double(states.shape().leading()), as_double(states.size(-1)));
        },
    .decomposition = gru_gradient_decomposed,
    .accumulates = true,
};

Tensor gru_sequence(const Tensor& input_gates, const Tensor& initial_state, const Tensor& weight,
                    const Tensor& bias) {
  return apply_operation(
      Call{&gru_sequence_operation, {input_gates, initial_state, weight, bias}, {}, 3u})[0];
}

}  // namespace attn::ops
