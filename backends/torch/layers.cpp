// Linear maps, normalisation, recurrence and convolution, with their gradients.
#include "kernels.h"

namespace attn::libtorch {

// ---- linear

void linear(const Call& call) {
  const at::Tensor x = call.in_rows(0), weight = call.in(1);
  const at::Tensor y = call.out_rows(0);
  const bool has_bias = call.has_input(2);
  if (has_bias) y.copy_(call.in(2).expand_as(y));
  multiply(y, x, weight.t(), has_bias ? 1.0 : 0.0);
  switch (call.params<attn_linear_params>().activation) {
    case ATTN_ACTIVATION_RELU:
      y.clamp_min_(0);
      break;
    case ATTN_ACTIVATION_TANH:
      y.tanh_();
      break;
    case ATTN_ACTIVATION_SIGMOID:
      y.sigmoid_();
      break;
    default:
      break;
  }
}

namespace {

/// The gradient before the activation, from that behind it.
at::Tensor through_activation(const Call& call) {
  const at::Tensor d_y = call.in_rows(3);
  switch (call.params<attn_linear_params>().activation) {
    case ATTN_ACTIVATION_RELU:
      return at::threshold_backward(d_y, call.in_rows(2), 0);
    case ATTN_ACTIVATION_TANH:
      return at::tanh_backward(d_y, call.in_rows(2));
    case ATTN_ACTIVATION_SIGMOID:
      return at::sigmoid_backward(d_y, call.in_rows(2));
    default:
      return d_y;
  }
}

}  // namespace

void linear_gradient(const Call& call) {
  const at::Tensor d_y = through_activation(call);
  if (call.has_output(0)) call.store_product(0, d_y, call.in(1));
  if (call.has_output(1)) call.store_product(1, d_y.t(), call.in_rows(0));
  if (call.has_output(2)) call.store(2, d_y.sum(0));
}

// ---- normalisation

void layer_norm(const Call& call) {
  const auto params = call.params<attn_layer_norm_params>();
  const int64_t width = elements(call.input(1)), count = elements(call.input(0)) / width;
  const Dropout dropout(call, 4, params.stream, params.dropout_rate, {count, width});
  at::Tensor sum = dropout(call.in(0, {count, width}));
  if (call.has_input(3)) sum = sum + call.in(3, {count, width});
  if (call.has_output(3)) call.out(3, {count, width}).copy_(sum);
  const auto [y, mean, reciprocal_std] =
      at::native_layer_norm(sum, {width}, call.in(1, {width}), call.in(2, {width}), params.epsilon);
  call.out(0, {count, width}).copy_(y);
  call.out(1, {count}).copy_(mean.view({count}));
  call.out(2, {count}).copy_(reciprocal_std.view({count}));
}

void layer_norm_gradient(const Call& call) {
  const auto params = call.params<attn_layer_norm_params>();
  const int64_t width = elements(call.input(1)), count = elements(call.input(0)) / width;
  const at::Tensor sum = call.in(0, {count, width}), mean = call.in(2, {count, 1});
  const at::Tensor reciprocal_std = call.in(3, {count, 1}), d_y = call.in(4, {count, width});
  // LibTorch adds these two up in as many parts as there are threads
  if (call.has_output(1)) call.store(1, (sum - mean).mul_(reciprocal_std).mul_(d_y).sum(0));
  if (call.has_output(2)) call.store(2, d_y.sum(0));
  if (!call.has_output(0) && !call.has_output(3)) return;
  const at::Tensor gain = call.in(1, {width});
  const auto gradients = at::native_layer_norm_backward(d_y, sum, {width}, mean, reciprocal_std, gain, gain,
                                                        {true, false, false});
  at::Tensor d_sum = std::get<0>(gradients);
  if (call.has_input(5)) d_sum.add_(call.in(5, {count, width}));
  if (call.has_output(3)) call.store(3, d_sum);
  if (!call.has_output(0)) return;
  const Dropout dropout(call, 6, params.stream, params.dropout_rate, {count, width});
  call.store(0, dropout(d_sum));
}

void batch_norm(const Call& call) {
  const double epsilon = call.params<attn_batch_norm_params>().epsilon;
  const at::Tensor x = call.in(0), mean = call.out(1), variance = call.out(2);
  const std::vector<int64_t> over_rows{0};
  const auto moments = at::var_mean(x, at::IntArrayRef(over_rows), /*unbiased=*/false);
  variance.copy_(std::get<0>(moments));
  mean.copy_(std::get<1>(moments));
  const at::Tensor factor = (variance + epsilon).sqrt_().reciprocal_().mul_(call.in(1));
  call.out(0).copy_((x - mean).mul_(factor).add_(call.in(2)));
}

void batch_norm_gradient(const Call& call) {
  const double epsilon = call.params<attn_batch_norm_params>().epsilon;
  const at::Tensor x = call.in(0), d_y = call.in(4);
  const at::Tensor reciprocal_std = (call.in(3) + epsilon).sqrt_().reciprocal_();
  const at::Tensor normalised = (x - call.in(2)).mul_(reciprocal_std);
  const at::Tensor d_bias = d_y.sum(0), d_gain = (d_y * normalised).sum(0);
  if (call.has_output(1)) call.store(1, d_gain);
  if (call.has_output(2)) call.store(2, d_bias);
  if (!call.has_output(0)) return;
  const double share = 1.0 / static_cast<double>(x.size(0));
  at::Tensor d_x = normalised.mul(d_gain * -share).sub_(d_bias * share).add_(d_y);
  call.store(0, d_x.mul_(reciprocal_std * call.in(1)));
}

// ---- gated recurrent units

void gru_sequence(const Call& call) {
  const at::Tensor input_gates = call.in(0), weight = call.in(2).t();
  const at::Tensor states = call.out(0), gates = call.out(1);
  const int64_t steps = states.size(0), hidden = states.size(2);
  at::Tensor state = call.in(1);
  at::Tensor products = at::empty({state.size(0), 3 * hidden}, state.options());
  for (int64_t step = 0; step < steps; ++step) {
    if (call.has_input(3)) {
      at::addmm_out(products, call.in(3), state, weight);
    } else {
      at::mm_out(products, state, weight);
    }
    const at::Tensor given = input_gates.select(0, step), kept = gates.select(0, step);
    at::Tensor reset_and_update = kept.narrow(1, 0, 2 * hidden), fresh = kept.narrow(1, 2 * hidden, hidden);
    at::add_out(reset_and_update, given.narrow(1, 0, 2 * hidden), products.narrow(1, 0, 2 * hidden));
    reset_and_update.sigmoid_();
    const at::Tensor product = products.narrow(1, 2 * hidden, hidden);
    kept.narrow(1, 3 * hidden, hidden).copy_(product);
    at::addcmul_out(fresh, given.narrow(1, 2 * hidden, hidden), kept.narrow(1, 0, hidden), product);
    fresh.tanh_();
    at::Tensor next = states.select(0, step);
    at::lerp_out(next, fresh, state, kept.narrow(1, hidden, hidden));  // n + z (h - n)
    state = next;
  }
}

void gru_sequence_gradient(const Call& call) {
  const at::Tensor initial = call.in(0), weight = call.in(1), states = call.in(2), d_states = call.in(4);
  const int64_t steps = states.size(0), batch = states.size(1), hidden = states.size(2);
  const at::Tensor gates = call.in(3, {steps, batch, 4, hidden});
  const at::Tensor reset = gates.select(2, 0), update = gates.select(2, 1), fresh = gates.select(2, 2);
  const at::Tensor previous = at::cat({initial.unsqueeze(0), states.narrow(0, 0, steps - 1)}, 0);

  // For each state what its gradient is multiplied with to reach u_r, u_z and u_n, all steps at once.
  const at::Tensor to_products = at::empty({steps, batch, 3, hidden}, states.options());
  const at::Tensor to_fresh = (1 - update).mul_(1 - fresh * fresh);  // to a_n
  to_products.select(2, 0).copy_(to_fresh * gates.select(2, 3) * (reset * (1 - reset)));
  to_products.select(2, 1).copy_((previous - fresh).mul_(update * (1 - update)));
  to_products.select(2, 2).copy_(to_fresh * reset);

  const at::Tensor d_products = to_products;  // becomes it step by step
  at::Tensor d_inputs_fresh = to_fresh, d_state = at::zeros_like(initial);
  for (int64_t step = steps - 1; step >= 0; --step) {
    d_state.add_(d_states.select(0, step));
    d_products.select(0, step).mul_(d_state.unsqueeze(1));
    d_inputs_fresh.select(0, step).mul_(d_state);
    d_state.mul_(update.select(0, step));
    d_state.addmm_(d_products.select(0, step).view({batch, 3 * hidden}), weight);
  }

  const at::Tensor flat = d_products.view({steps * batch, 3 * hidden});
  if (call.has_output(1)) call.store(1, d_state);
  if (call.has_output(2)) call.store_product(2, flat.t(), previous.view({steps * batch, hidden}));
  if (call.has_output(3)) call.store(3, flat.sum(0));
  if (!call.has_output(0)) return;
  d_products.select(2, 2).copy_(d_inputs_fresh);  // a_n reaches n past the reset gate
  call.store(0, d_products);
}

// ---- convolution: a product with the windows of x

namespace {

at::Tensor windows_of(const at::Tensor& x, int64_t positions, const attn_window_params& params) {
  const at::Tensor windows = at::empty({x.size(0), positions, params.kernel, x.size(2)}, x.options());
  unfold(x, windows, params);
  return windows.view({x.size(0) * positions, params.kernel * x.size(2)});
}

}  // namespace

void conv_1d(const Call& call) {
  const auto params = call.params<attn_window_params>();
  const at::Tensor x = call.in(0);
  const attn_tensor& shape = call.input(1);
  const at::Tensor weight = call.in(1, {shape.dims[0], shape.dims[1] * shape.dims[2]}).t();
  const at::Tensor windows = windows_of(x, call.output(0).dims[1], params);
  const at::Tensor y = call.out_rows(0);
  const bool has_bias = call.has_input(2);
  if (has_bias) y.copy_(call.in(2).expand_as(y));
  multiply(y, windows, weight, has_bias ? 1.0 : 0.0);
}

void conv_1d_gradient(const Call& call) {
  const auto params = call.params<attn_window_params>();
  const at::Tensor x = call.in(0), d_y = call.in_rows(2);
  const int64_t positions = call.input(2).dims[1];
  if (call.has_output(1)) call.store_product(1, d_y.t(), windows_of(x, positions, params));
  if (call.has_output(2)) call.store(2, d_y.sum(0));
  if (!call.has_output(0)) return;
  const at::Tensor d_x = call.out(0);
  if (!call.accumulates(0)) d_x.zero_();
  const at::Tensor weight = call.in(1, {d_y.size(1), params.kernel * x.size(2)});
  const at::Tensor d_windows = at::empty({d_y.size(0), weight.size(1)}, d_y.options());
  multiply(d_windows, d_y, weight);
  fold_into(d_x, d_windows.view({x.size(0), positions, params.kernel, x.size(2)}), params);
}

}  // namespace attn::libtorch
