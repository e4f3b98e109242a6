#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/ops.h"

namespace attn {

/// Which attention of a model a map of weights comes from.
enum class AttentionKind { encoder_self, decoder_self, cross, rnn_cross };

/// "encoder_self", "decoder_self", "cross", "rnn_cross": the names of the attention archive.
constexpr const char* name_of(AttentionKind kind) noexcept {
  switch (kind) {
    case AttentionKind::encoder_self:
      return "encoder_self";
    case AttentionKind::decoder_self:
      return "decoder_self";
    case AttentionKind::cross:
      return "cross";
    case AttentionKind::rnn_cross:
      return "rnn_cross";
  }
  return "?";
}

/// Receives weights [batch, heads, queries, keys], after the softmax and before dropout. Bahdanau attention
/// calls once for each decoding step, with one query.
using AttentionObserver = std::function<void(AttentionKind kind, std::int64_t layer, const Tensor& weights)>;

/// Receives what a part of a model has computed, named by its place ("encoder.blocks.0"), as the model lays
/// it out. Teacher forcing reports; decoding step by step need not.
using ActivationObserver = std::function<void(const std::string& name, const Tensor& value)>;

/// How one forward pass runs: whether dropout is on and where its random numbers come from, and who watches
/// the weights.
class Context {
 public:
  /// Inference: no dropout.
  Context() = default;
  /// Training: `random` is i32 [4] (seed low, seed high, step low, step high) and the same tensor for all
  /// steps.
  explicit Context(Tensor random) : random_(std::move(random)) {}

  bool training() const noexcept { return random_.defined(); }
  /// Dropout for the next use in this pass; every call names another stream.
  ops::Dropout dropout(double rate) {
    const std::uint32_t stream = next_stream_++;
    return training() && rate > 0.0 ? ops::Dropout{rate, random_, stream} : ops::Dropout{};
  }

  void observe(AttentionObserver observer) { observer_ = std::move(observer); }
  bool observed() const noexcept { return observer_ != nullptr; }
  void report(AttentionKind kind, std::int64_t layer, const Tensor& weights) const {
    if (observer_) observer_(kind, layer, weights);
  }

  /// Asks one attention for weights that gradients flow through, of one head or the mean of all. They are
  /// computed beside the fused operation.
  void request_weights(AttentionKind kind, std::int64_t layer, std::optional<std::int64_t> head) {
    requested_ = Request{kind, layer, head};
  }
  bool requested(AttentionKind kind, std::int64_t layer) const noexcept {
    return requested_ && requested_->kind == kind && requested_->layer == layer;
  }
  std::optional<std::int64_t> requested_head() const noexcept { return requested_->head; }
  /// Weights [batch, queries, keys] of the requested attention; Bahdanau attention gives them a query at a
  /// time.
  void give_weights(Tensor weights) { given_weights_.push_back(std::move(weights)); }
  const std::vector<Tensor>& given_weights() const noexcept { return given_weights_; }

  void observe_activations(ActivationObserver observer) { activation_observer_ = std::move(observer); }
  /// `index` is that of one of several like parts, which comes after the name.
  void activation(const char* name, const Tensor& value, std::int64_t index = -1) const {
    if (!activation_observer_) return;
    std::string place(name);
    if (index >= 0) place.append(1, '.').append(std::to_string(index));
    activation_observer_(place, value);
  }

 private:
  struct Request {
    AttentionKind kind;
    std::int64_t layer;
    std::optional<std::int64_t> head;
  };

  Tensor random_;
  std::uint32_t next_stream_ = 0;
  std::optional<Request> requested_;
  std::vector<Tensor> given_weights_;
  AttentionObserver observer_;
  ActivationObserver activation_observer_;
};

}  // namespace attn
