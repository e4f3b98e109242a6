#pragma once
#include <cstdint>

#include "attn/nn/context.h"
#include "attn/nn/parameter.h"

/// The plain layers: linear, normalisation, position-wise feed-forward, convolution.
namespace attn {

/// y = activation(x weight^T + bias): [..., in] -> [..., out].
class Linear {
 public:
  /// Weight [out, in] starts with Xavier's uniform values, bias [out] uniform within 1/sqrt(in).
  Linear(const Scope& scope, std::int64_t in, std::int64_t out, bool bias = true);

  Tensor operator()(const Tensor& x, attn_activation activation = ATTN_ACTIVATION_NONE) const;

 private:
  ParameterHandle weight_, bias_;
};

/// Layer normalisation over the last axis (Ba, Kiros & Hinton, 2016).
class LayerNorm {
 public:
  LayerNorm(const Scope& scope, std::int64_t width, double epsilon = 1e-5);

  Tensor operator()(const Tensor& x) const;
  /// The norm of residual + dropout(x), and that sum itself, in one operation.
  ops::LayerNormResult of_sum(const Tensor& residual, const Tensor& x, const ops::Dropout& dropout) const;

 private:
  ParameterHandle gain_, bias_;
  double epsilon_;
};

/// Residual connection followed by layer normalisation (post-norm): norm(x + dropout(sublayer)), for x and
/// sublayer [batch, steps, width]. Vaswani et al., 2017, section 5.4; D2L, "Residual Connection and Layer
/// Normalization".
class AddNorm {
 public:
  AddNorm(const Scope& scope, std::int64_t width, double dropout) : norm_(scope, width), dropout_(dropout) {}

  Tensor operator()(const Tensor& x, const Tensor& sublayer, Context& context) const {
    return norm_.of_sum(x, sublayer, context.dropout(dropout_)).output;
  }

 private:
  LayerNorm norm_;
  double dropout_;
};

/// Batch normalisation of [rows, channels] or [batch, steps, channels] over all but the last axis (Ioffe &
/// Szegedy, 2015). In training the statistics are those of the batch, and running averages of them (of the
/// unbiased variance, as in PyTorch) are kept for inference.
class BatchNorm {
 public:
  BatchNorm(const Scope& scope, std::int64_t channels, double epsilon = 1e-5, double momentum = 0.1);

  Tensor operator()(const Tensor& x, const Context& context) const;

 private:
  void update_running(const ops::BatchNormResult& batch, std::int64_t rows) const;

  ParameterHandle gain_, bias_, running_mean_, running_variance_;
  double epsilon_, momentum_;
};

/// relu(x W1^T + b1) W2^T + b2, the same for every position (Vaswani et al., 2017, section 3.3).
class PositionWiseFFN {
 public:
  /// `dropout` acts on the hidden units; the paper and the book have none there.
  PositionWiseFFN(const Scope& scope, std::int64_t width, std::int64_t hidden, std::int64_t out,
                  double dropout = 0.0);

  Tensor operator()(const Tensor& x, Context& context) const;

 private:
  Linear dense1_, dense2_;
  double dropout_;
};

/// 1-D convolution (cross-correlation) over steps: [batch, steps, in] -> [batch, steps_out, out].
class Conv1d {
 public:
  /// Weight [out, kernel, in].
  Conv1d(const Scope& scope, std::int64_t in, std::int64_t out, const ops::Window& window, bool bias = true);

  Tensor operator()(const Tensor& x) const;

 private:
  ParameterHandle weight_, bias_;
  ops::Window window_;
};

}  // namespace attn
