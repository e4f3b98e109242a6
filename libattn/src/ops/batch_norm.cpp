#include "internal.h"

namespace attn::ops {
namespace {

TensorSpecs batch_norm_shapes(const Call& call) {
  const Tensor& x = call.input(0);
  require_rank("batch_norm", "x", x, 2);
  const Shape channels{x.size(1)};
  require_shape("batch_norm", "gain", call.input(1), channels);
  require_shape("batch_norm", "bias", call.input(2), channels);
  return {{x.shape(), x.dtype()}, {channels, x.dtype()}, {channels, x.dtype()}};
}

Tensor normalised(const Tensor& x, const Tensor& mean, const Tensor& variance, double epsilon) {
  return multiply(subtract(x, mean), rsqrt(affine(variance, 1.0, epsilon)));
}

Tensors batch_norm_decomposed(const Call& call, std::span<const Into>) {
  const Tensor& x = call.input(0);
  const std::array<int, 1> over_rows{0};
  const Tensor mean_of_batch = mean(x, over_rows);
  const Tensor variance = mean(square(subtract(x, mean_of_batch)), over_rows);
  const Tensor n = normalised(x, mean_of_batch, variance, call.params.as<attn_batch_norm_params>().epsilon);
  return {add(multiply(n, call.input(1)), call.input(2)), mean_of_batch, variance};
}

TensorSpecs batch_norm_gradient_shapes(const Call& call) {
  const Tensor &x = call.input(0), &gain = call.input(1);
  return {{x.shape(), x.dtype()}, {gain.shape(), x.dtype()}, {gain.shape(), x.dtype()}};
}

// n = (x - mean) / sqrt(variance + epsilon):  dgain = sum(dy n), dbias = sum(dy),
// dx = gain / sqrt(variance + epsilon) (dy - mean(dy) - n mean(dy n)), the means over the rows
Tensors batch_norm_gradient_decomposed(const Call& call, std::span<const Into>) {
  const Tensor &x = call.input(0), &gain = call.input(1), &variance = call.input(3), &dy = call.input(4);
  const double epsilon = call.params.as<attn_batch_norm_params>().epsilon;
  const std::array<int, 1> over_rows{0};
  const Tensor n = normalised(x, call.input(2), variance, epsilon);
  const Tensor d_gain = sum(multiply(dy, n), over_rows), d_bias = sum(dy, over_rows);
  Tensors results{{}, {}, {}};
  if (call.wants(0)) {
    const double share = x.size(0) == 0 ? 0.0 : 1.0 / as_double(x.size(0));
    const Tensor correction = add(affine(d_bias, share, 0.0), multiply(n, affine(d_gain, share, 0.0)));
    results[0] = multiply(multiply(gain, rsqrt(affine(variance, 1.0, epsilon))), subtract(dy, correction));
  }
  if (call.wants(1)) results[1] = d_gain;
  if (call.wants(2)) results[2] = d_bias;
  return results;
}

}  // namespace

// y = gain (x - mean) / sqrt(variance + epsilon) + bias, mean and biased variance over the rows.
const Operation batch_norm_operation{
    .kind = ATTN_OP_BATCH_NORM,
    .name = "batch_norm",
    .shapes = batch_norm_shapes,
    .gradient =
        [](Gradient& g) {
          if (!g.of(0).defined()) return;
          const std::array<Into, 3> into{g.into(0), g.into(1), g.into(2)};
          apply_operation(Call{&batch_norm_gradient_operation,
                               {g.input(0), g.input(1), g.output(1), g.output(2), g.of(0)},
                               g.params<attn_batch_norm_params>(),
                               7u},
                          into);
        },
    .flops = [](const Call&, const TensorSpecs& out) { return 8 * elements_of(out); },
    .decomposition = batch_norm_decomposed,
};

const Operation batch_norm_gradient_operation{
    .kind = ATTN_OP_BATCH_NORM_GRADIENT,
    .name = "batch_norm_gradient",
    .shapes = batch_norm_gradient_shapes,
    .flops = [](const Call&, const TensorSpecs& out) { return 14 * elements_of(out); },
    .decomposition = batch_norm_gradient_decomposed,
    .accumulates = true,
};

BatchNormResult batch_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double epsilon) {
  Tensors outputs = apply_operation(
      Call{&batch_norm_operation, {x, gain, bias}, attn_batch_norm_params{0, 0, epsilon}, 7u});
  return {outputs[0], outputs[1].detached(), outputs[2].detached()};
}

}  // namespace attn::ops
