#include "attn/nn/layers.h"

#include <cmath>

namespace attn {
namespace {

double reciprocal_root(std::int64_t size) {
  return 1.0 / std::sqrt(static_cast<double>(size));
}

Tensor value_or_absent(const ParameterHandle& parameter) {
  return parameter != nullptr ? parameter->tensor : Tensor{};
}

}  // namespace

Linear::Linear(const Scope& scope, std::int64_t in, std::int64_t out, bool bias)
    : weight_(scope.parameter("weight", {out, in}, Initialization::xavier(in, out))) {
  if (bias) bias_ = scope.parameter("bias", Shape{out}, Initialization::uniform(reciprocal_root(in)));
}

Tensor Linear::operator()(const Tensor& x, attn_activation activation) const {
  return ops::linear(x, weight_->tensor, value_or_absent(bias_), activation);
}

LayerNorm::LayerNorm(const Scope& scope, std::int64_t width, double epsilon)
    : gain_(scope.parameter("gain", Shape{width}, Initialization::ones())),
      bias_(scope.parameter("bias", Shape{width}, Initialization::zeros())),
      epsilon_(epsilon) {}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return ops::layer_norm(x, gain_->tensor, bias_->tensor, epsilon_).output;
}

ops::LayerNormResult LayerNorm::of_sum(const Tensor& residual, const Tensor& x,
                                       const ops::Dropout& dropout) const {
  return ops::layer_norm(x, gain_->tensor, bias_->tensor, epsilon_, residual, dropout);
}

BatchNorm::BatchNorm(const Scope& scope, std::int64_t channels, double epsilon, double momentum)
    : gain_(scope.parameter("gain", Shape{channels}, Initialization::ones())),
      bias_(scope.parameter("bias", Shape{channels}, Initialization::zeros())),
      running_mean_(scope.parameter("running_mean", Shape{channels}, Initialization::zeros(), false)),
      running_variance_(scope.parameter("running_variance", Shape{channels}, Initialization::ones(), false)),
      epsilon_(epsilon),
      momentum_(momentum) {}

Tensor BatchNorm::operator()(const Tensor& x, const Context& context) const {
  const std::int64_t channels = x.size(-1), rows = x.shape().leading();
  const Tensor flat = x.reshaped({rows, channels});
  if (context.training()) {
    const ops::BatchNormResult batch = ops::batch_norm(flat, gain_->tensor, bias_->tensor, epsilon_);
    update_running(batch, rows);
    return batch.output.reshaped(x.shape());
  }
  const Tensor scale =
      ops::multiply(gain_->tensor, ops::rsqrt(ops::affine(running_variance_->tensor, 1.0, epsilon_)));
  const Tensor normalised = ops::multiply(ops::subtract(flat, running_mean_->tensor), scale);
  return ops::add(normalised, bias_->tensor).reshaped(x.shape());
}

void BatchNorm::update_running(const ops::BatchNormResult& batch, std::int64_t rows) const {
  const double unbiased = rows > 1 ? static_cast<double>(rows) / static_cast<double>(rows - 1) : 1.0;
  const auto update = [this](const Tensor& running, const Tensor& fresh, double factor) {
    ops::copy_into(running, ops::add(ops::affine(running, 1.0 - momentum_, 0.0),
                                     ops::affine(fresh, momentum_ * factor, 0.0)));
  };
  update(running_mean_->tensor, batch.mean, 1.0);
  update(running_variance_->tensor, batch.variance, unbiased);
}

PositionWiseFFN::PositionWiseFFN(const Scope& scope, std::int64_t width, std::int64_t hidden,
                                 std::int64_t out, double dropout)
    : dense1_(scope / "dense1", width, hidden), dense2_(scope / "dense2", hidden, out), dropout_(dropout) {}

Tensor PositionWiseFFN::operator()(const Tensor& x, Context& context) const {
  const Tensor hidden = ops::dropout(dense1_(x, ATTN_ACTIVATION_RELU), context.dropout(dropout_));
  return dense2_(hidden);
}

Conv1d::Conv1d(const Scope& scope, std::int64_t in, std::int64_t out, const ops::Window& window, bool bias)
    : weight_(scope.parameter("weight", {out, window.kernel, in},
                              Initialization::xavier(in * window.kernel, out))),
      window_(window) {
  if (bias)
    bias_ = scope.parameter("bias", Shape{out}, Initialization::uniform(reciprocal_root(in * window.kernel)));
}

Tensor Conv1d::operator()(const Tensor& x) const {
  return ops::conv_1d(x, weight_->tensor, value_or_absent(bias_), window_);
}

}  // namespace attn
