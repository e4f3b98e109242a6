#include "internal.h"

namespace attn::ops {
namespace {

Tensor activate(const Tensor& x, int activation) {
  switch (activation) {
    case ATTN_ACTIVATION_RELU:
      return relu(x);
    case ATTN_ACTIVATION_TANH:
      return tanh(x);
    case ATTN_ACTIVATION_SIGMOID:
      return sigmoid(x);
    default:
      return x;
  }
}

// dy/d(pre-activation), from the output alone.
Tensor before_activation(const Tensor& dy, const Tensor& y, int activation) {
  switch (activation) {
    case ATTN_ACTIVATION_RELU:
      return multiply(dy, greater(y, full(y, {}, 0.0)));
    case ATTN_ACTIVATION_TANH:
      return multiply(dy, affine(square(y), -1.0, 1.0));
    case ATTN_ACTIVATION_SIGMOID:
      return multiply(dy, multiply(y, affine(y, -1.0, 1.0)));
    default:
      return dy;
  }
}

TensorSpecs linear_shapes(const Call& call) {
  const Tensor &x = call.input(0), &weight = call.input(1);
  require_rank("linear", "weight", weight, 2);
  require(x.rank() >= 1 && x.size(-1) == weight.size(1), "linear: x is {}, expected [..., {}] for weight {}",
          x.shape(), weight.size(1), weight.shape());
  if (call.has(2)) require_shape("linear", "bias", call.input(2), Shape{weight.size(0)});
  return {{x.shape().with(-1, weight.size(0)), x.dtype()}};
}

Tensors linear_decomposed(const Call& call, std::span<const Into>) {
  const Tensor &x = call.input(0), &weight = call.input(1);
  Tensor y = matmul(x.reshaped({x.shape().leading(), weight.size(1)}), weight, {.transpose_b = true});
  if (call.has(2)) y = add(y, call.input(2));
  return {activate(y, call.params.as<attn_linear_params>().activation)
              .reshaped(x.shape().with(-1, weight.size(0)))};
}

TensorSpecs linear_gradient_shapes(const Call& call) {
  const Tensor &x = call.input(0), &weight = call.input(1);
  return {{x.shape(), x.dtype()}, {weight.shape(), x.dtype()}, {Shape{weight.size(0)}, x.dtype()}};
}

// With da the gradient before the activation: dx = da weight, dweight = da^T x, dbias = sum(da)
Tensors linear_gradient_decomposed(const Call& call, std::span<const Into>) {
  const Tensor &x = call.input(0), &weight = call.input(1), &dy = call.input(3);
  const Shape rows{x.shape().leading(), weight.size(0)};
  const Tensor y = call.has(2) ? call.input(2).reshaped(rows) : Tensor{};
  const Tensor da = before_activation(dy.reshaped(rows), y, call.params.as<attn_linear_params>().activation);
  const std::array<int, 1> first{0};
  Tensors results{{}, {}, {}};
  if (call.wants(0)) results[0] = matmul(da, weight).reshaped(x.shape());
  if (call.wants(1)) results[1] = matmul(da, x.reshaped({rows[0], weight.size(1)}), {.transpose_a = true});
  if (call.wants(2)) results[2] = sum(da, first);
  return results;
}

}  // namespace

// y = activation(x weight^T + bias)
const Operation linear_operation{
    .kind = ATTN_OP_LINEAR,
    .name = "linear",
    .shapes = linear_shapes,
    .gradient =
        [](Gradient& g) {
          const auto params = g.params<attn_linear_params>();
          const Tensor y = params.activation == ATTN_ACTIVATION_NONE ? Tensor{} : g.output(0);
          const std::array<Into, 3> into{g.into(0), g.into(1), g.into(2)};
          apply_operation(Call{&linear_gradient_operation, {g.input(0), g.input(1), y, g.of(0)}, params, 7u},
                          into);
        },
    .flops =
        [](const Call& call, const TensorSpecs& out) {
          return elements_of(out) * (2 * as_double(call.input(1).size(1)) + (call.has(2) ? 1 : 0));
        },
    .decomposition = linear_decomposed,
};

const Operation linear_gradient_operation{
    .kind = ATTN_OP_LINEAR_GRADIENT,
    .name = "linear_gradient",
    .shapes = linear_gradient_shapes,
    .flops =
        [](const Call& call, const TensorSpecs&) {
          const double products = call.wants(0) + call.wants(1);
          return as_double(call.input(3).elements()) *
                 (2 * products * as_double(call.input(1).size(1)) + call.wants(2));
        },
    .decomposition = linear_gradient_decomposed,
    .accumulates = true,
};

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, attn_activation activation) {
  return apply_one(linear_operation, {x, weight, bias}, attn_linear_params{0, 0, activation, 0});
}

}  // namespace attn::ops
