#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "attn/text/batches.h"
#include "attn/training/loss.h"
#include "attn/training/optimizer.h"
#include "attn/training/progress.h"
#include "attn/training/schedule.h"

namespace attn {

struct TrainerConfig {
  LossConfig loss;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  BatchOptions batches;
  std::uint64_t seed = 1;  ///< of dropout and of the order of the batches
  std::int64_t epochs = 1;
  std::int64_t max_updates = 0;     ///< 0: no limit
  std::int64_t validate_every = 1;  ///< epochs; 0: never
  std::int64_t patience = 0;        ///< validations without improvement before stopping; 0: never stops early
  bool larger_is_better = false;    ///< of the validation's metric
};

/// What a validation found.
struct Validation {
  double metric = 0.0;  ///< decides on the best checkpoint and on stopping
};

/// One update, for progress display.
struct UpdateReport {
  std::int64_t epoch, batch, batches;  ///< epoch from 1, batches of it done, batches in it
  std::int64_t update;
  double loss;  ///< nats per target token of this batch
  double gradient_norm, learning_rate;
  std::int64_t tokens;  ///< target tokens of this batch
};

/// One epoch, for the log and for metrics.
struct EpochReport {
  std::int64_t epoch, update;
  double loss;                          ///< nats per target token
  double book_loss;                     ///< the figure that the book prints, see LossTotals
  double gradient_norm, learning_rate;  ///< of the last update
  std::int64_t tokens;
  double seconds;  ///< of updates, without validation
};

/// What happens around the updates; each may be empty.
struct TrainerHooks {
  std::function<bool()> stop_requested;  ///< asked after every update
  std::function<void(const UpdateReport&)> after_update;
  std::function<void(const EpochReport&)> after_epoch;
  std::function<Validation(const EpochReport&)> validate;
  std::function<void(const TrainingProgress&)> improved;  ///< the validation was the best so far
  std::function<void(const TrainingProgress&, bool last)>
      epoch_done;  ///< after the validation; `last`: training ends here
};

/// Runs updates until the configured end, early stopping, or a request to stop.
class Trainer {
 public:
  enum class Outcome { finished, stopped_early, interrupted };

  /// `model` and `corpus` outlive the trainer.
  Trainer(TranslationModel& model, const EncodedCorpus& corpus, const TrainerConfig& config);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  Trainer(Trainer&&) = delete;
  Trainer& operator=(Trainer&&) = delete;

  /// Continues from `progress` (its default is the beginning). Where max_updates ends an epoch before its
  /// last batch, the hooks are called as at the end of an epoch, but the epoch stays unfinished in
  /// `progress`. Throws Error(config) when the loss or a gradient is no longer finite: the message names the
  /// update, the first such tensor, and the lines of the batch.
  Outcome run(const TrainerHooks& hooks);

  /// One update on one batch, as run() does it.
  UpdateReport update(const Batch& batch);

  Optimizer& optimizer() noexcept { return optimizer_; }
  TrainingProgress& progress() noexcept { return progress_; }

 private:
  bool run_epoch(const TrainerHooks& hooks, EpochReport& report);
  bool validate(const TrainerHooks& hooks, const EpochReport& report);
  bool at_end() const;
  bool out_of_patience() const;
  std::string first_not_finite() const;
  [[noreturn]] void fail_not_finite(const Batch& batch, double loss, double norm) const;

  TranslationModel& model_;
  TrainerConfig config_;
  BatchSampler sampler_;
  Optimizer optimizer_;
  Tape tape_;
  Tensor random_;
  TrainingProgress progress_;
  UpdateReport last_{};
};

/// Losses of a corpus without dropout and label smoothing, in batches of `batches` (not shuffled).
LossTotals evaluate_loss(const TranslationModel& model, const EncodedCorpus& corpus,
                         const BatchOptions& batches);

}  // namespace attn
