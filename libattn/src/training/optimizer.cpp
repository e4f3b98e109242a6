#include "attn/training/optimizer.h"

#include <array>
#include <cmath>

#include "attn/ops/ops.h"

namespace attn {

Optimizer::Optimizer(ParameterStore& parameters, const OptimizerConfig& config)
    : parameters_(parameters), config_(config), control_(parameters.device(), Shape{4}, parameters.dtype()) {
  const auto zeros = [&] {
    return Tensor::zeros(parameters.device(), parameters.flat().shape(), parameters.dtype());
  };
  const bool adam = config.kind != OptimizerConfig::Kind::sgd;
  if (adam || config.momentum != 0.0) m_ = zeros();
  if (adam) v_ = zeros();
}

double Optimizer::gradient_norm() const {
  return std::sqrt(ops::squared_norm({&parameters_.flat_gradients(), 1}).item());
}

void Optimizer::step(double learning_rate, double gradient_norm) {
  ++steps_;
  const auto t = static_cast<double>(steps_);
  const bool clipped = config_.clip_norm > 0.0 && gradient_norm > config_.clip_norm;
  const std::array<double, 4> control{learning_rate, 1.0 - std::pow(config_.beta1, t),
                                      1.0 - std::pow(config_.beta2, t),
                                      clipped ? config_.clip_norm / gradient_norm : 1.0};
  control_.assign<double>(control);
  if (config_.kind == OptimizerConfig::Kind::sgd) {
    ops::sgd(parameters_.flat(), m_, parameters_.flat_gradients(), control_, config_.momentum,
             config_.weight_decay);
    return;
  }
  ops::adam(parameters_.flat(), m_, v_, parameters_.flat_gradients(), control_,
            {config_.beta1, config_.beta2, config_.epsilon, config_.weight_decay,
             config_.kind == OptimizerConfig::Kind::adamw});
}

}  // namespace attn
