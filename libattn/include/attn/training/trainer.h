#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/text/batches.h"
#include "attn/training/loss.h"
#include "attn/training/moving_average.h"
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
  std::int64_t max_updates = 0;  ///< 0: no limit
  /// Batches an update. Its gradient is that of one batch of all their pairs; the last update of an epoch may
  /// have fewer.
  std::int64_t accumulate = 1;
  double average_decay = 0.0;               ///< of a moving average of the parameters; 0: none
  std::int64_t validate_every = 1;          ///< epochs; 0: never
  std::int64_t validate_every_updates = 0;  ///< instead of by epochs if above 0
  std::int64_t patience = 0;      ///< validations without improvement before stopping; 0: never stops early
  bool larger_is_better = false;  ///< of the validation's metric
};

/// What a validation found.
struct Validation {
  double metric = 0.0;  ///< decides on the best checkpoint and on stopping
};

/// One update, for progress display.
struct UpdateReport {
  std::int64_t epoch, batch, batches;  ///< epoch from 1, batches of it done, batches in it
  std::int64_t update;
  double loss;  ///< nats per target token of this update
  double gradient_norm, learning_rate;
  std::int64_t tokens;                          ///< target tokens of this update
  std::int64_t splits = 0;                      ///< how often a batch did not fit into memory and was halved
  std::vector<std::size_t> split_lines = {};    ///< lines of the batches that did not fit
  std::vector<std::size_t> skipped_lines = {};  ///< lines of sentences that do not fit even on their own
};

/// One epoch, or the part of it up to a validation inside, for the log and for metrics.
struct EpochReport {
  std::int64_t epoch, update;
  double loss;                          ///< nats per target token
  double book_loss;                     ///< the figure that the book prints, see LossTotals
  double gradient_norm, learning_rate;  ///< of the last update
  std::int64_t tokens;
  double seconds;            ///< of updates, without validation
  double epochs_done = 0.0;  ///< as a fraction: 1.5 in the middle of the second
  bool inside = false;       ///< a validation by updates; the epoch goes on
};

/// What happens around the updates; each may be empty.
struct TrainerHooks {
  std::function<bool()> stop_requested;  ///< asked after every update
  std::function<void(const UpdateReport&)> after_update;
  std::function<void(const EpochReport&)> after_epoch;
  /// From here to `validated` the model has the values of the moving average, if there is one.
  std::function<Validation(const EpochReport&)> validate;
  std::function<void(const TrainingProgress&)> improved;   ///< the validation was the best so far
  std::function<void(const TrainingProgress&)> validated;  ///< after every validation, and after `improved`
  /// After an update inside an epoch, and the validation after it if there is one.
  std::function<void(const TrainingProgress&)> update_done;
  std::function<void(const TrainingProgress&, bool last)>
      epoch_done;  ///< after the validation; `last`: training ends here
};

class GradientPass;

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

  /// One update on batches [first, first + count) of a plan, as run() does it. A batch that does not fit into
  /// the device's memory is halved, down to single sentences, and its parts are accumulated: the gradient is
  /// the same up to rounding, dropout is drawn anew. A sentence that does not fit on its own is left out.
  /// Throws what run() throws.
  UpdateReport update(const BatchPlan& plan, std::size_t first, std::size_t count = 1);

  Optimizer& optimizer() noexcept { return optimizer_; }
  /// Null without TrainerConfig::average_decay.
  MovingAverage* average() noexcept { return average_ ? &*average_ : nullptr; }
  TrainingProgress& progress() noexcept { return progress_; }

 private:
  enum class Step { done, interrupted, out_of_patience };
  Step run_epoch(const TrainerHooks& hooks, EpochReport& report);
  bool validate(const TrainerHooks& hooks, const EpochReport& report);
  bool judge(const TrainerHooks& hooks, const EpochReport& report, double metric, bool counts);
  bool validation_scheduled(const EpochReport& report) const;
  EpochReport report_of(std::int64_t batches, std::int64_t tokens, double seconds) const;
  bool at_end() const;
  bool out_of_patience() const;
  std::string first_not_finite() const;
  [[noreturn]] void fail_not_finite(const std::vector<std::size_t>& lines, double loss, double norm) const;

  TranslationModel& model_;
  const EncodedCorpus& corpus_;
  TrainerConfig config_;
  BatchSampler sampler_;
  Optimizer optimizer_;
  std::optional<MovingAverage> average_;
  Tape tape_;
  std::unique_ptr<GradientPass> gradients_;
  TrainingProgress progress_;
  UpdateReport last_{};
};

/// Losses of a corpus without dropout and label smoothing, in batches of `batches` (not shuffled). A batch
/// that does not fit into memory is halved; a single sentence that does not is left out and named.
LossTotals evaluate_loss(const TranslationModel& model, const EncodedCorpus& corpus,
                         const BatchOptions& batches);

}  // namespace attn
