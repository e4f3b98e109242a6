#include "internal.h"

namespace attn::ops {
namespace {

// Element `index` of the control tensor, as a scalar.
Tensor control_value(const Tensor& control, std::int64_t index) {
  return control.view(index, Shape{});
}

Tensors adam_decomposed(const Call& call, std::span<const Into> into) {
  const auto& params = call.params.as<attn_adam_params>();
  const Tensor& control = call.input(1);
  const Tensor rate = control_value(control, 0);
  Tensor parameter = into[0].target.detached();
  Tensor gradient = multiply(call.input(0), control_value(control, 3));
  if (params.weight_decay != 0.0) {
    if (params.decoupled != 0)
      parameter = multiply(parameter, affine(rate, -params.weight_decay, 1.0));
    else
      gradient = add(gradient, affine(parameter, params.weight_decay, 0.0));
  }
  const Tensor m =
      add(affine(into[1].target.detached(), params.beta1, 0.0), affine(gradient, 1.0 - params.beta1, 0.0));
  const Tensor v = add(affine(into[2].target.detached(), params.beta2, 0.0),
                       affine(square(gradient), 1.0 - params.beta2, 0.0));
  const Tensor m_hat = divide(m, control_value(control, 1)), v_hat = divide(v, control_value(control, 2));
  return {subtract(parameter, multiply(rate, divide(m_hat, affine(sqrt(v_hat), 1.0, params.epsilon)))), m, v};
}

}  // namespace

const Operation adam_operation{
    .kind = ATTN_OP_ADAM,
    .name = "adam",
    .flops = [](const Call& call, const TensorSpecs&) { return 14 * as_double(call.input(0).elements()); },
    .decomposition = adam_decomposed,
    .in_out = 7u,
};

void adam(const Tensor& parameter, const Tensor& m, const Tensor& v, const Tensor& gradient,
          const Tensor& control, const AdamOptions& options) {
  for (const Tensor* state : {&m, &v, &gradient}) require_shape("adam", "state", *state, parameter.shape());
  require_shape("adam", "control", control, Shape{4});
  const std::array<Into, 3> targets{Into{parameter}, Into{m}, Into{v}};
  const attn_adam_params params{
      0, options.decoupled, options.beta1, options.beta2, options.epsilon, options.weight_decay};
  apply_operation(Call{&adam_operation, {gradient.detached(), control.detached()}, params, 7u}, targets);
}

}  // namespace attn::ops
