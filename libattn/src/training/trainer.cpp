#include "attn/training/trainer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "attn/core/error.h"

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

bool all_finite(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_vector<double>();
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

}  // namespace

Trainer::Trainer(TranslationModel& model, const EncodedCorpus& corpus, const TrainerConfig& config)
    : model_(model),
      config_(config),
      sampler_(corpus, config.batches, config.seed),
      optimizer_(model.parameters(), config.optimizer),
      random_(model.device(), Shape{4}, DType::i32) {
  model_.parameters().train_with(tape_);
}

Trainer::~Trainer() {
  model_.parameters().stop_training();
}

UpdateReport Trainer::update(const Batch& batch) {
  const std::int64_t number = progress_.update + 1;
  const std::array<std::int32_t, 4> random{
      static_cast<std::int32_t>(config_.seed & 0xFFFFFFFFu), static_cast<std::int32_t>(config_.seed >> 32),
      static_cast<std::int32_t>(number & 0xFFFFFFFF), static_cast<std::int32_t>(number >> 32)};
  random_.assign<std::int32_t>(random);

  Context context(random_);
  const BatchLoss loss =
      batch_loss(model_.forward(source_of(batch), decoder_input_of(batch), context), batch, config_.loss);
  tape_.backward(loss.objective);
  const double nats = loss.summed.item(), norm = optimizer_.gradient_norm();
  if (!std::isfinite(nats) || !std::isfinite(norm)) fail_not_finite(batch, nats, norm);
  const double rate = learning_rate_at(config_.schedule, number);
  optimizer_.step(rate, norm);

  progress_.update = number;
  progress_.tokens_seen += loss.tokens;
  progress_.epoch_nats += nats;
  progress_.epoch_book += nats / static_cast<double>(loss.steps);
  progress_.epoch_tokens += loss.tokens;
  return {progress_.epoch + 1,
          0,
          0,
          number,
          nats / static_cast<double>(std::max<std::int64_t>(1, loss.tokens)),
          norm,
          rate,
          loss.tokens};
}

// A parameter is the cause where there is one; gradients then follow from it.
std::string Trainer::first_not_finite() const {
  for (const ParameterHandle& parameter : model_.parameters().all()) {
    if (!all_finite(parameter->tensor)) return fmt::format("parameter '{}'", parameter->path);
  }
  for (const ParameterHandle& parameter : model_.parameters().all()) {
    if (parameter->trainable && !all_finite(parameter->gradient))
      return fmt::format("the gradient of '{}'", parameter->path);
  }
  return {};
}

void Trainer::fail_not_finite(const Batch& batch, double loss, double norm) const {
  std::string where = first_not_finite();
  if (where.empty()) {
    where = std::isfinite(loss) ? "none, the squared norm of the gradients overflows"
                                : "none of the parameters and gradients, the loss itself overflows";
  }
  fail(ExitCode::config,
       "update {}: the loss is {} and the gradient norm {}; the first tensor that is not finite: {}; "
       "lines of the batch: {}; lower training.learning_rate, set training.clip_norm, or look at these lines",
       progress_.update + 1, std::isnan(loss) ? std::abs(loss) : loss,
       std::isnan(norm) ? std::abs(norm) : norm, where, fmt::join(batch.lines, ", "));
}

bool Trainer::at_end() const {
  return progress_.epoch >= config_.epochs ||
         (config_.max_updates > 0 && progress_.update >= config_.max_updates);
}

bool Trainer::out_of_patience() const {
  return config_.patience > 0 && progress_.epochs_without_improvement >= config_.patience;
}

// False if it was interrupted. Where max_updates ends an epoch before its last batch, the epoch is reported
// but stays unfinished, so that going on with a larger limit continues it.
bool Trainer::run_epoch(const TrainerHooks& hooks, EpochReport& report) {
  const BatchPlan plan = sampler_.epoch(static_cast<std::uint64_t>(progress_.epoch));
  const Clock::time_point start = Clock::now();
  const auto batches = static_cast<std::int64_t>(plan.size());
  const std::int64_t tokens_before = progress_.epoch_tokens;
  while (progress_.batch < batches && !at_end()) {
    last_ = update(plan.batch(static_cast<std::size_t>(progress_.batch)));
    last_.batch = ++progress_.batch;
    last_.batches = batches;
    if (hooks.after_update) hooks.after_update(last_);
    if (hooks.stop_requested && hooks.stop_requested()) return false;
  }
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  const LossTotals totals{progress_.epoch_nats, progress_.epoch_book, progress_.epoch_tokens};
  report = {progress_.epoch + 1,
            progress_.update,
            totals.per_token(),
            totals.book_figure(),
            last_.gradient_norm,
            last_.learning_rate,
            progress_.epoch_tokens - tokens_before,
            elapsed.count()};
  if (progress_.batch < batches) return true;
  ++progress_.epoch;
  progress_.batch = 0;
  progress_.epoch_nats = progress_.epoch_book = 0.0;
  progress_.epoch_tokens = 0;
  return true;
}

// True if training should stop early. The validation at the end of training that falls inside an epoch may
// find the best parameters, but does not count against the patience: an unlimited run would not have done it.
bool Trainer::validate(const TrainerHooks& hooks, const EpochReport& report) {
  const bool whole_epoch = progress_.epoch == report.epoch;
  const bool due =
      config_.validate_every > 0 && ((whole_epoch && report.epoch % config_.validate_every == 0) || at_end());
  if (!hooks.validate || !due) return false;
  tape_.set_recording(false);
  const double metric = hooks.validate(report).metric;
  tape_.set_recording(true);
  const bool better = std::isfinite(metric) &&
                      (!progress_.has_best || (config_.larger_is_better ? metric > progress_.best_metric
                                                                        : metric < progress_.best_metric));
  if (!better) {
    if (whole_epoch) ++progress_.epochs_without_improvement;
    return whole_epoch && out_of_patience();
  }
  progress_.has_best = true;
  progress_.best_metric = metric;
  progress_.best_epoch = report.epoch;
  progress_.epochs_without_improvement = 0;
  if (hooks.improved) hooks.improved(progress_);
  return false;
}

Trainer::Outcome Trainer::run(const TrainerHooks& hooks) {
  if (out_of_patience()) return Outcome::stopped_early;  // it continues a run that had stopped early
  while (!at_end()) {
    EpochReport report{};
    if (!run_epoch(hooks, report)) return Outcome::interrupted;
    if (hooks.after_epoch) hooks.after_epoch(report);
    const bool stop = validate(hooks, report);
    if (hooks.epoch_done) hooks.epoch_done(progress_, stop || at_end());
    if (stop) return Outcome::stopped_early;
    if (hooks.stop_requested && hooks.stop_requested()) return Outcome::interrupted;
  }
  return Outcome::finished;
}

LossTotals evaluate_loss(const TranslationModel& model, const EncodedCorpus& corpus,
                         const BatchOptions& batches) {
  BatchOptions in_order = batches;
  in_order.shuffle = false;
  const BatchPlan plan = BatchSampler(corpus, in_order, 0).epoch(0);
  LossTotals totals;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    const Batch batch = plan.batch(k);
    Context context;
    const BatchLoss loss =
        batch_loss(model.forward(source_of(batch), decoder_input_of(batch), context), batch, {});
    totals.add(loss.summed.item(), loss);
  }
  return totals;
}

}  // namespace attn
