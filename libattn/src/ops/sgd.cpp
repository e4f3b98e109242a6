#include "internal.h"

namespace attn::ops {
namespace {

Tensors sgd_decomposed(const Call& call, std::span<const Into> into) {
  const auto& params = call.params.as<attn_sgd_params>();
  const Tensor& control = call.input(1);
  const Tensor parameter = into[0].target.detached();
  Tensor step = multiply(call.input(0), control.view(3, Shape{}));
  if (params.weight_decay != 0.0) step = add(step, affine(parameter, params.weight_decay, 0.0));
  Tensor velocity;
  if (call.wants(1)) {
    velocity = add(affine(into[1].target.detached(), params.momentum, 0.0), step);
    step = velocity;
  }
  return {subtract(parameter, multiply(control.view(0, Shape{}), step)), velocity};
}

}  // namespace

const Operation sgd_operation{
    .kind = ATTN_OP_SGD,
    .name = "sgd",
    .flops = [](const Call& call, const TensorSpecs&) { return 4 * as_double(call.input(0).elements()); },
    .decomposition = sgd_decomposed,
    .in_out = 3u,
};

void sgd(const Tensor& parameter, const Tensor& velocity, const Tensor& gradient, const Tensor& control,
         double momentum, double weight_decay) {
  require_shape("sgd", "gradient", gradient, parameter.shape());
  require_shape("sgd", "control", control, Shape{4});
  require(velocity.defined() || momentum == 0.0, "sgd: momentum {} needs a velocity", momentum);
  if (velocity.defined()) require_shape("sgd", "velocity", velocity, parameter.shape());
  // An absent target still has a place in the list, and is then not wanted.
  const std::array<Into, 2> targets{Into{parameter}, Into{velocity, false, velocity.defined()}};
  apply_operation(Call{&sgd_operation,
                       {gradient.detached(), control.detached()},
                       attn_sgd_params{0, 0, momentum, weight_decay},
                       3u},
                  targets);
}

}  // namespace attn::ops
