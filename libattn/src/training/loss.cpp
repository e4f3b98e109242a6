#include "attn/training/loss.h"

#include <vector>

#include "attn/ops/ops.h"
#include "attn/text/vocabulary.h"

namespace attn {
namespace {

// Labels in the order of the logits, -1 for padding.
std::vector<std::int32_t> ordered_labels(const Batch& batch, TokenOrder order) {
  std::vector<std::int32_t> labels(batch.labels.size(), -1);
  for (std::int64_t b = 0; b < batch.size; ++b) {
    for (std::int64_t t = 0; t < batch.target_valid_lengths[static_cast<std::size_t>(b)]; ++t) {
      const std::int64_t row =
          order == TokenOrder::batch_major ? b * batch.target_steps + t : t * batch.size + b;
      labels[static_cast<std::size_t>(row)] =
          batch.labels[static_cast<std::size_t>(b * batch.target_steps + t)];
    }
  }
  return labels;
}

}  // namespace

TokenBatch source_of(const Batch& batch) {
  return {batch.size, batch.source_steps, batch.source, batch.source_valid_lengths};
}

TokenBatch decoder_input_of(const Batch& batch) {
  return {batch.size, batch.target_steps, batch.decoder_input, batch.target_valid_lengths};
}

double loss_divisor(const LossConfig& config, std::int64_t tokens, std::int64_t steps) {
  return static_cast<double>(config.mode == LossConfig::Mode::book ? steps : tokens);
}

BatchLoss batch_loss(const TranslationModel::Logits& logits, const Batch& batch, const LossConfig& config,
                     std::optional<double> divisor) {
  const std::vector<std::int32_t> labels = ordered_labels(batch, logits.order);
  const Tensor on_device =
      Tensor::from<std::int32_t>(logits.values.shared_device(), std::span<const std::int32_t>(labels),
                                 Shape{static_cast<std::int64_t>(labels.size())});
  const Tensor losses = ops::cross_entropy(logits.values, on_device,
                                           {config.smoothing, config.smoothing_kind, Vocabulary::pad});
  const Tensor summed = ops::sum(losses);
  const double by = divisor.value_or(loss_divisor(config, batch.target_tokens, batch.target_steps));
  return {ops::affine(summed, 1.0 / by, 0.0), summed, batch.target_tokens, batch.target_steps};
}

}  // namespace attn
