#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/models/translation_model.h"
#include "attn/text/batches.h"

namespace attn {

class GuidedAlignment;

struct LossConfig {
  enum class Mode {
    token,  ///< the mean over the target tokens of the batch
    book    ///< the book's: mean over all steps, padding included, summed over the sentences
  };
  Mode mode = Mode::token;
  double smoothing = 0.0;
  attn_smoothing_kind smoothing_kind = ATTN_SMOOTH_UNIFORM;
  std::shared_ptr<const GuidedAlignment> guidance;  ///< adds its loss in training; may be null
};

/// The loss of one batch.
struct BatchLoss {
  Tensor objective;         ///< scalar, what is differentiated
  Tensor summed;            ///< scalar, the sum over the target tokens, in nats; padding never counts
  std::int64_t tokens = 0;  ///< target tokens
  std::int64_t steps = 0;   ///< columns of the target, padding included
};

/// Views of a batch for a model.
TokenBatch source_of(const Batch& batch);
TokenBatch decoder_input_of(const Batch& batch);

/// What the summed loss of pairs with so many target tokens and columns is divided by.
double loss_divisor(const LossConfig& config, std::int64_t tokens, std::int64_t steps);

/// Cross entropy of a model's logits against the batch's labels. `divisor` makes the objective of a batch
/// that is a part of something larger; without it, it is the batch's own.
BatchLoss batch_loss(const TranslationModel::Logits& logits, const Batch& batch, const LossConfig& config,
                     std::optional<double> divisor = std::nullopt);

/// Summed losses of several batches, and the figures made of them.
struct LossTotals {
  double nats = 0.0;  ///< over all target tokens
  double book = 0.0;  ///< sum over batches of the book's loss: nats of the batch / steps of the batch
  std::int64_t tokens = 0;
  std::vector<std::size_t> skipped_lines = {};  ///< of sentences that did not fit into memory

  void add(double batch_nats, const BatchLoss& loss) {
    nats += batch_nats;
    book += batch_nats / static_cast<double>(loss.steps);
    tokens += loss.tokens;
  }
  /// Nats per target token.
  double per_token() const { return tokens > 0 ? nats / static_cast<double>(tokens) : 0.0; }
  /// The figure that the book prints: its loss is averaged over all steps and then divided by the tokens,
  /// which gives about 1/steps of per_token().
  double book_figure() const { return tokens > 0 ? book / static_cast<double>(tokens) : 0.0; }
};

}  // namespace attn
