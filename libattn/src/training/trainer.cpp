#include "attn/training/trainer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "attn/core/error.h"
#include "gradient_pass.h"

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

bool all_finite(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_vector<double>();
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

// Halves what does not fit into memory.
void add_loss(const TranslationModel& model, const EncodedCorpus& corpus,
              std::span<const std::size_t> indices, LossTotals& totals) {
  const Batch batch = corpus.make_batch(indices);
  try {
    Context context;
    const BatchLoss loss =
        batch_loss(model.forward(source_of(batch), decoder_input_of(batch), context), batch, {});
    totals.add(loss.summed.item(), loss);
    return;
  } catch (const OutOfMemory&) {
    model.device()->synchronize();
    model.device()->release_cache();
  }
  if (indices.size() == 1) {
    totals.skipped_lines.push_back(batch.lines.front());
    return;
  }
  const std::size_t half = indices.size() / 2;
  add_loss(model, corpus, indices.first(half), totals);
  add_loss(model, corpus, indices.subspan(half), totals);
}

}  // namespace

Trainer::Trainer(TranslationModel& model, const EncodedCorpus& corpus, const TrainerConfig& config)
    : model_(model),
      corpus_(corpus),
      config_(config),
      sampler_(corpus, config.batches, config.seed),
      optimizer_(model.parameters(), config.optimizer) {
  if (config.average_decay > 0.0) average_.emplace(model.parameters(), config.average_decay);
  model_.parameters().train_with(tape_);
  gradients_ = std::make_unique<GradientPass>(model_, corpus_, config_.loss, config_.seed, tape_);
}

Trainer::~Trainer() {
  model_.parameters().stop_training();
}

UpdateReport Trainer::update(const BatchPlan& plan, std::size_t first, std::size_t count) {
  const std::int64_t number = progress_.update + 1;
  std::vector<std::span<const std::size_t>> batches;
  for (std::size_t k = first; k < first + count; ++k) batches.push_back(plan.indices(k));
  const GradientTotals totals = gradients_->run(batches, number);
  const double norm = optimizer_.gradient_norm();
  if (!std::isfinite(totals.nats) || !std::isfinite(norm)) {
    std::vector<std::size_t> lines;
    for (const auto& indices : batches) {
      for (const std::size_t index : indices) lines.push_back(corpus_.line(index));
    }
    fail_not_finite(lines, totals.nats, norm);
  }
  const double rate = learning_rate_at(config_.schedule, number);
  if (totals.tokens > 0) {
    optimizer_.step(rate, norm);
    if (average_) average_->update(number);
  }

  progress_.update = number;
  progress_.tokens_seen += totals.tokens;
  progress_.epoch_nats += totals.nats;
  progress_.epoch_book += totals.nats / static_cast<double>(totals.steps);
  progress_.epoch_tokens += totals.tokens;
  progress_.split_batches += totals.splits;
  progress_.skipped_sentences += static_cast<std::int64_t>(totals.skipped_lines.size());
  return {progress_.epoch + 1,
          0,
          0,
          number,
          totals.nats / static_cast<double>(std::max<std::int64_t>(1, totals.tokens)),
          norm,
          rate,
          totals.tokens,
          totals.splits,
          totals.split_lines,
          totals.skipped_lines};
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

void Trainer::fail_not_finite(const std::vector<std::size_t>& lines, double loss, double norm) const {
  std::string where = first_not_finite();
  if (where.empty()) {
    where = std::isfinite(loss) ? "none, the squared norm of the gradients overflows"
                                : "none of the parameters and gradients, the loss itself overflows";
  }
  fail(ExitCode::config,
       "update {}: the loss is {} and the gradient norm {}; the first tensor that is not finite: {}; "
       "lines of the batch: {}; lower training.learning_rate, set training.clip_norm, or look at these lines",
       progress_.update + 1, std::isnan(loss) ? std::abs(loss) : loss,
       std::isnan(norm) ? std::abs(norm) : norm, where, fmt::join(lines, ", "));
}

bool Trainer::at_end() const {
  return progress_.epoch >= config_.epochs ||
         (config_.max_updates > 0 && progress_.update >= config_.max_updates);
}

bool Trainer::out_of_patience() const {
  return config_.patience > 0 && progress_.epochs_without_improvement >= config_.patience;
}

// Of the epoch as far as it is.
EpochReport Trainer::report_of(std::int64_t batches, std::int64_t tokens, double seconds) const {
  const LossTotals totals{progress_.epoch_nats, progress_.epoch_book, progress_.epoch_tokens, {}};
  EpochReport report{progress_.epoch + 1,
                     progress_.update,
                     totals.per_token(),
                     totals.book_figure(),
                     last_.gradient_norm,
                     last_.learning_rate,
                     tokens,
                     seconds};
  report.epochs_done = static_cast<double>(progress_.epoch) +
                       static_cast<double>(progress_.batch) / static_cast<double>(batches);
  return report;
}

// Where max_updates or patience end an epoch before its last batch, the epoch is reported but stays
// unfinished, so that going on with a larger limit continues it.
Trainer::Step Trainer::run_epoch(const TrainerHooks& hooks, EpochReport& report) {
  const BatchPlan plan = sampler_.epoch(static_cast<std::uint64_t>(progress_.epoch));
  const auto batches = static_cast<std::int64_t>(plan.size());
  const std::int64_t tokens_before = progress_.epoch_tokens;
  std::chrono::duration<double> elapsed{0.0};
  const auto report_now = [&] {
    return report_of(batches, progress_.epoch_tokens - tokens_before, elapsed.count());
  };
  Step step = Step::done;
  for (bool moved = false; progress_.batch < batches; moved = true) {
    // A run that is resumed may have stopped between an update and its validation.
    if (progress_.batch > 0) {
      report = report_now();
      report.inside = true;
      if (validation_scheduled(report) && validate(hooks, report)) step = Step::out_of_patience;
      if (moved && hooks.update_done) hooks.update_done(progress_);
    }
    if (step == Step::out_of_patience || at_end()) break;
    const Clock::time_point start = Clock::now();
    const std::int64_t count = std::min(config_.accumulate, batches - progress_.batch);
    last_ = update(plan, static_cast<std::size_t>(progress_.batch), static_cast<std::size_t>(count));
    elapsed += Clock::now() - start;
    last_.batch = progress_.batch += count;
    last_.batches = batches;
    if (hooks.after_update) hooks.after_update(last_);
    if (hooks.stop_requested && hooks.stop_requested()) return Step::interrupted;
  }
  report = report_now();
  if (progress_.batch < batches) return step;
  ++progress_.epoch;
  progress_.batch = 0;
  progress_.epoch_nats = progress_.epoch_book = 0.0;
  progress_.epoch_tokens = 0;
  return step;
}

bool Trainer::validation_scheduled(const EpochReport& report) const {
  if (config_.validate_every_updates > 0) return report.update % config_.validate_every_updates == 0;
  return !report.inside && config_.validate_every > 0 && progress_.epoch == report.epoch &&
         report.epoch % config_.validate_every == 0;
}

// True if training should stop early. The validation at the end of training that falls inside an epoch may
// find the best parameters, but does not count against the patience: an unlimited run would not have done it.
bool Trainer::validate(const TrainerHooks& hooks, const EpochReport& report) {
  const bool by_updates = config_.validate_every_updates > 0;
  const bool scheduled = validation_scheduled(report);
  const bool due = scheduled || (at_end() && (by_updates || config_.validate_every > 0));
  if (!hooks.validate || !due || progress_.validated_update == report.update) return false;
  const bool counts = by_updates ? scheduled : progress_.epoch == report.epoch;
  tape_.set_recording(false);
  if (average_) average_->exchange();
  const bool stop = judge(hooks, report, hooks.validate(report).metric, counts);
  if (average_) average_->exchange();
  tape_.set_recording(true);
  return stop;
}

bool Trainer::judge(const TrainerHooks& hooks, const EpochReport& report, double metric, bool counts) {
  progress_.validated_update = report.update;
  progress_.last_metric = metric;
  const bool better = std::isfinite(metric) &&
                      (!progress_.has_best || (config_.larger_is_better ? metric > progress_.best_metric
                                                                        : metric < progress_.best_metric));
  if (better) {
    progress_.has_best = true;
    progress_.best_metric = metric;
    progress_.best_epoch = report.epoch;
    progress_.epochs_without_improvement = 0;
    if (hooks.improved) hooks.improved(progress_);
  } else if (counts) {
    ++progress_.epochs_without_improvement;
  }
  if (hooks.validated) hooks.validated(progress_);
  return !better && counts && out_of_patience();
}

Trainer::Outcome Trainer::run(const TrainerHooks& hooks) {
  if (out_of_patience()) return Outcome::stopped_early;  // it continues a run that had stopped early
  while (!at_end()) {
    EpochReport report{};
    const Step step = run_epoch(hooks, report);
    if (step == Step::interrupted) return Outcome::interrupted;
    if (hooks.after_epoch) hooks.after_epoch(report);
    const bool stop = step == Step::out_of_patience || validate(hooks, report);
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
  for (std::size_t k = 0; k < plan.size(); ++k) add_loss(model, corpus, plan.indices(k), totals);
  return totals;
}

}  // namespace attn
