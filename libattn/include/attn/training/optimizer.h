#pragma once
#include <cstdint>

#include "attn/nn/parameter.h"

namespace attn {

struct OptimizerConfig {
  enum class Kind { sgd, adam, adamw };
  Kind kind = Kind::adam;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double momentum = 0.0;      ///< of sgd
  double weight_decay = 0.0;  ///< adam and sgd: added to the gradient; adamw: decoupled
  double clip_norm = 0.0;     ///< largest norm of all gradients together; 0: no clipping
};

/// Changes the trainable parameters of a store by their gradients. All parameters lie in one flat tensor, so
/// a step is one operation.
class Optimizer {
 public:
  Optimizer(ParameterStore& parameters, const OptimizerConfig& config);

  /// The norm of all gradients together. Waits for the device.
  double gradient_norm() const;
  /// One update; `gradient_norm` is what gradient_norm() returned, for the clipping: g *= clip_norm / norm if
  /// the norm is larger (D2L, "Gradient Clipping").
  void step(double learning_rate, double gradient_norm);

  std::int64_t steps() const noexcept { return steps_; }
  const OptimizerConfig& config() const noexcept { return config_; }
  /// First and second moments (Adam) or the velocity (SGD with momentum, then `v` is absent), laid out like
  /// ParameterStore::flat().
  const Tensor& m() const noexcept { return m_; }
  const Tensor& v() const noexcept { return v_; }
  /// Continues from a saved state, whose moments have been written into m() and v().
  void restore_steps(std::int64_t steps) noexcept { steps_ = steps; }

 private:
  ParameterStore& parameters_;
  OptimizerConfig config_;
  Tensor m_, v_, control_;
  std::int64_t steps_ = 0;
};

}  // namespace attn
