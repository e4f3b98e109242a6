#include "internal.h"

namespace attn::ops {
namespace {

// x as [rows, width], where width is the number of elements of gain.
Tensor as_rows(const Tensor& x, std::int64_t width) {
  return x.reshaped({width == 0 ? 0 : x.elements() / width, width});
}

TensorSpecs layer_norm_shapes(const Call& call) {
  const Tensor &x = call.input(0), &gain = call.input(1);
  const int axes = gain.rank();
  require(axes >= 1 && axes <= x.rank() &&
              Shape(x.shape().dims().last(static_cast<std::size_t>(axes))) == gain.shape(),
          "layer_norm: gain is {}, expected the last dimensions of x {}", gain.shape(), x.shape());
  require_shape("layer_norm", "bias", call.input(2), gain.shape());
  if (call.has(3)) require_shape("layer_norm", "residual", call.input(3), x.shape());
  const Shape leading = x.shape().without_last(axes);
  return {{x.shape(), x.dtype()}, {leading, x.dtype()}, {leading, x.dtype()}, {x.shape(), x.dtype()}};
}

Tensors layer_norm_decomposed(const Call& call, std::span<const Into>) {
  const auto& params = call.params.as<attn_layer_norm_params>();
  const Tensor &x = call.input(0), &gain = call.input(1);
  const std::int64_t width = gain.elements();
  Tensor total = dropout(x, {params.dropout_rate, call.input(4), params.stream});
  if (call.has(3)) total = add(call.input(3), total);
  const Tensor rows = as_rows(total, width);
  const Tensor mean = reduce_last(rows, true, true);
  const Tensor centered = subtract(rows, mean);
  const Tensor reciprocal_std = rsqrt(affine(reduce_last(square(centered), true, true), 1.0, params.epsilon));
  const Tensor y = add(multiply(multiply(centered, reciprocal_std), gain.reshaped({width})),
                       call.input(2).reshaped({width}));
  const Shape leading = x.shape().without_last(gain.rank());
  return {y.reshaped(x.shape()), mean.reshaped(leading), reciprocal_std.reshaped(leading), total};
}

TensorSpecs layer_norm_gradient_shapes(const Call& call) {
  const Tensor &total = call.input(0), &gain = call.input(1);
  return {{total.shape(), total.dtype()},
          {gain.shape(), total.dtype()},
          {gain.shape(), total.dtype()},
          {total.shape(), total.dtype()}};
}

// n = (sum - mean) reciprocal_std, dn = dy gain:  dsum = reciprocal_std (dn - mean(dn) - n mean(dn n)),
// dgain = sum(dy n), dbias = sum(dy), dresidual = dsum, dx = dropout(dsum)
Tensors layer_norm_gradient_decomposed(const Call& call, std::span<const Into>) {
  const auto& params = call.params.as<attn_layer_norm_params>();
  const Tensor &total = call.input(0), &gain = call.input(1);
  const std::int64_t width = gain.elements();
  const Tensor rows = as_rows(total, width), dy = as_rows(call.input(4), width);
  const Shape column{rows.size(0), 1};
  const Tensor reciprocal_std = call.input(3).reshaped(column);
  const Tensor n = multiply(subtract(rows, call.input(2).reshaped(column)), reciprocal_std);
  const Tensor dn = multiply(dy, gain.reshaped({width}));
  const Tensor along = multiply(n, reduce_last(multiply(dn, n), true, true));
  Tensor d_total = multiply(reciprocal_std, subtract(subtract(dn, reduce_last(dn, true, true)), along))
                       .reshaped(total.shape());
  if (call.has(5)) d_total = add(d_total, call.input(5));
  const std::array<int, 1> over_rows{0};
  Tensors results{{}, {}, {}, {}};
  if (call.wants(0)) results[0] = dropout(d_total, {params.dropout_rate, call.input(6), params.stream});
  if (call.wants(1)) results[1] = sum(multiply(dy, n), over_rows).reshaped(gain.shape());
  if (call.wants(2)) results[2] = sum(dy, over_rows).reshaped(gain.shape());
  if (call.wants(3)) results[3] = d_total;
  return results;
}

void layer_norm_gradient(Gradient& g) {
  const auto params = g.params<attn_layer_norm_params>();
  const Tensor total = g.output(3);
  const std::array<Into, 4> into{g.into(0), g.into(1), g.into(2), g.into(3)};
  apply_operation(Call{&layer_norm_gradient_operation,
                       {total.defined() ? total : g.input(0), g.input(1), g.output(1), g.output(2),
                        g.of_or_zeros(0), total.defined() ? g.of(3) : Tensor{}, g.input(4)},
                       params,
                       15u},
                  into);
}

}  // namespace

// Everything about residual + dropout + norm, one operation: sum = residual + dropout(x), y = gain n + bias.
const Operation layer_norm_operation{
    .kind = ATTN_OP_LAYER_NORM,
    .name = "layer_norm",
    .shapes = layer_norm_shapes,
    .gradient = layer_norm_gradient,
    .flops = [](const Call&, const TensorSpecs& out) { return 8 * elements_of(out); },
    .decomposition = layer_norm_decomposed,
};

const Operation layer_norm_gradient_operation{
    .kind = ATTN_OP_LAYER_NORM_GRADIENT,
    .name = "layer_norm_gradient",
    .shapes = layer_norm_gradient_shapes,
    .flops = [](const Call&, const TensorSpecs& out) { return 14 * elements_of(out); },
    .decomposition = layer_norm_gradient_decomposed,
    .accumulates = true,
};

LayerNormResult layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double epsilon,
                           const Tensor& residual, const Dropout& dropout) {
  require_random("layer_norm", dropout);
  const bool keeps_sum = residual.defined() || dropout.rate > 0.0;
  const attn_layer_norm_params params{0, 0, dropout.stream, 0, epsilon, dropout.rate};
  Tensors outputs = apply_operation(
      Call{&layer_norm_operation, {x, gain, bias, residual, dropout.random}, params, keeps_sum ? 15u : 7u});
  return {outputs[0], keeps_sum ? outputs[3] : x};
}

}  // namespace attn::ops
