#include "attn/experiment/dry_run.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <system_error>

#include "attn/experiment/setup.h"
#include "evaluate.h"

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A plan of one batch.
BatchPlan only(const EncodedCorpus& corpus, const BatchPlan& plan, std::size_t k) {
  const auto indices = plan.indices(k);
  return {corpus, {indices.begin(), indices.end()}, {{0, indices.size()}}};
}

// Sentences that take longest in a batch: source and target columns.
std::size_t steps(const BatchPlan& plan, std::size_t k) {
  return plan.positions(k) / plan.indices(k).size();
}

// Of all batches, the one with most positions, and the one with the longest sentences: which of them needs
// more memory depends on the model.
std::vector<std::size_t> largest_batches(const BatchPlan& plan) {
  std::size_t most = 0, longest = 0;
  for (std::size_t k = 1; k < plan.size(); ++k) {
    if (plan.positions(k) > plan.positions(most)) most = k;
    if (steps(plan, k) > steps(plan, longest)) longest = k;
  }
  return most == longest ? std::vector{most} : std::vector{most, longest};
}

// Batches of every size, by rising positions.
std::vector<std::size_t> typical_batches(const BatchPlan& plan) {
  constexpr std::size_t count = 5;
  std::vector<std::size_t> order(plan.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return plan.positions(a) < plan.positions(b); });
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t k = order[(2 * i + 1) * order.size() / (2 * count)];
    if (chosen.empty() || chosen.back() != k) chosen.push_back(k);
  }
  return chosen;
}

/// Seconds of a batch as a line over its positions.
struct Fit {
  double constant = 0.0, slope = 0.0;

  double at(double positions) const { return constant + slope * positions; }
};

Fit fit(const std::vector<std::pair<double, double>>& points) {
  const auto n = static_cast<double>(points.size());
  double x_mean = 0.0, y_mean = 0.0, xy = 0.0, xx = 0.0;
  for (const auto& [x, y] : points) {
    x_mean += x / n;
    y_mean += y / n;
  }
  for (const auto& [x, y] : points) {
    xy += (x - x_mean) * (y - y_mean);
    xx += (x - x_mean) * (x - x_mean);
  }
  const double slope = xx > 0 ? std::max(0.0, xy / xx) : 0.0;
  const double constant = y_mean - slope * x_mean;
  // Small batches are not free: then time goes with the positions.
  if (constant < 0) return {0.0, y_mean / x_mean};
  return {constant, slope};
}

void measure_updates(const ExperimentConfig& config, const PreparedData& data, TranslationSystem& system,
                     DryRun& result) {
  constexpr double most_seconds = 60;
  const EncodedCorpus& corpus = data.train.encoded;
  const TrainerConfig settings = trainer_config(config, result.updates_per_epoch);
  const BatchPlan plan = BatchSampler(corpus, settings.batches, settings.seed).epoch(0);
  result.padding = plan.padding();
  Trainer trainer(*system.model, corpus, settings);
  std::vector<std::pair<double, double>> points;
  const Clock::time_point start = Clock::now();
  const auto measure = [&](std::size_t k) {
    const BatchPlan batch = only(corpus, plan, k);
    const Batch shape = batch.batch(0);
    // The first use of a shape asks the backend for memory, the second does not.
    const int repetitions = seconds_since(start) < most_seconds ? 2 : 1;
    double seconds = 0.0;
    for (int i = 0; i < repetitions; ++i) {
      const Clock::time_point begin = Clock::now();
      trainer.update(batch, 0, 1);
      seconds = seconds_since(begin);
    }
    result.measurements.push_back({shape.size, shape.source_steps, shape.target_steps, seconds});
    points.emplace_back(static_cast<double>(plan.positions(k)), seconds);
  };
  for (const std::size_t k : largest_batches(plan)) measure(k);
  result.peak_bytes = system.model->device()->memory().peak_in_use;
  for (const std::size_t k : typical_batches(plan)) measure(k);
  result.peak_bytes = std::max(result.peak_bytes, system.model->device()->memory().peak_in_use);

  const Fit line = fit(points);
  for (std::size_t k = 0; k < plan.size(); ++k)
    result.seconds_per_epoch += line.at(static_cast<double>(plan.positions(k)));
  result.seconds_per_update = result.seconds_per_epoch / static_cast<double>(result.updates_per_epoch);
  result.planned_updates = planned_updates(settings, result.updates_per_epoch);
}

// Some pairs, spread over the corpus.
std::vector<std::size_t> spread(std::size_t size, std::size_t count) {
  std::vector<std::size_t> indices;
  count = std::min(size, count);
  for (std::size_t i = 0; i < count; ++i) indices.push_back(i * size / count);
  return indices;
}

// An untrained model does not know when to stop, so translations get the length of the references.
double measure_translation(const ExperimentConfig& config, const PreparedCorpus& held_out,
                           const TranslationSystem& system) {
  constexpr std::size_t sentences = 32;
  const auto indices = spread(held_out.corpus.pairs.size(), sentences);
  std::vector<std::string> sources;
  std::int64_t tokens = 0;
  for (const std::size_t index : indices) {
    sources.push_back(held_out.corpus.pairs[index].source);
    tokens += held_out.encoded.length(index).target;
  }
  const auto count = static_cast<std::int64_t>(indices.size());
  const Clock::time_point start = Clock::now();
  translate_all(system, sources, config.validation.beam, (tokens + count - 1) / count);
  return seconds_since(start) * static_cast<double>(held_out.corpus.pairs.size()) /
         static_cast<double>(count);
}

double measure_loss(const ExperimentConfig& config, const PreparedCorpus& held_out,
                    const TranslationSystem& system) {
  constexpr std::size_t sentences = 256;
  EncodedCorpus part;
  for (const std::size_t index : spread(held_out.encoded.size(), sentences)) {
    EncodedPair pair = held_out.encoded.pair(index);
    pair.source.pop_back();  // comes again with add()
    pair.target.pop_back();
    part.add(std::move(pair.source), std::move(pair.target), pair.line);
  }
  const Clock::time_point start = Clock::now();
  evaluate_loss(*system.model, part, trainer_config(config, 1).batches);
  return seconds_since(start) * static_cast<double>(held_out.encoded.size()) /
         static_cast<double>(part.size());
}

std::int64_t validations_of(const ExperimentConfig& config, const DryRun& result) {
  const ValidationConfig& validation = config.validation;
  if (validation.every_updates > 0) return result.planned_updates / validation.every_updates;
  if (validation.every_epochs == 0) return 0;
  const std::int64_t epochs = (result.planned_updates + result.updates_per_epoch - 1) /
                              std::max<std::int64_t>(1, result.updates_per_epoch);
  return (epochs + validation.every_epochs - 1) / validation.every_epochs;
}

std::uint64_t checkpoint_bytes(const ExperimentConfig& config, const PreparedData& data,
                               const TranslationSystem& system) {
  const OptimizerConfig& optimizer = config.training.optimizer;
  const bool adam = optimizer.kind != OptimizerConfig::Kind::sgd;
  std::uint64_t copies = 1 + (adam ? 2 : optimizer.momentum > 0 ? 1 : 0);
  if (config.training.ema_decay > 0) ++copies;
  const auto parameters = static_cast<std::uint64_t>(system.model->parameters().count());
  std::uint64_t bytes = copies * parameters * (config.backend.dtype == DType::f64 ? 8 : 4);
  for (const Tokenizer* tokenizer : {&data.text.source_tokenizer, &data.text.target_tokenizer})
    bytes += tokenizer->resource().size();
  for (const Vocabulary* vocabulary : {&data.text.source_vocabulary, &data.text.target_vocabulary}) {
    for (const std::string& token : vocabulary->ordinary_tokens()) bytes += token.size() + 1;
  }
  return bytes;
}

// The numbered ones and another while it is written, the best, those kept for their validation, an average.
std::int64_t checkpoints_of(const ExperimentConfig& config, bool validates) {
  const CheckpointConfig& checkpoints = config.checkpoints;
  const std::int64_t best = validates ? 1 + checkpoints.keep_best : 0;
  return checkpoints.keep_last + 1 + best + (checkpoints.average > 0 ? 1 : 0);
}

std::uint64_t free_bytes(std::filesystem::path folder) {
  std::error_code error;
  folder = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  const auto space = std::filesystem::space(folder, error);
  return error ? 0 : space.available;
}

}  // namespace

DryRun dry_run(const ExperimentConfig& config) {
  PreparedData data = prepare_data(config);
  TranslationSystem system = build_system(config, data, "");
  DryRun result;
  result.parameters = system.model->parameters().count();
  result.training_pairs = static_cast<std::int64_t>(data.train.encoded.size());
  result.updates_per_epoch = updates_per_epoch(config, data.train.encoded);
  result.target_tokens = data.train.encoded.target_tokens();
  result.source_vocabulary = data.text.source_vocabulary.size();
  result.target_vocabulary = data.text.target_vocabulary.size();
  result.lint = std::move(data.lint);
  // First: during training the model belongs to the trainer's tape.
  const bool validates =
      !data.valid.empty() && (config.validation.every_epochs > 0 || config.validation.every_updates > 0);
  if (validates) {
    result.seconds_per_validation = measure_loss(config, data.valid, system);
    if (config.validation.bleu)
      result.seconds_per_validation += measure_translation(config, data.valid, system);
  }
  measure_updates(config, data, system, result);
  if (validates) result.validations = validations_of(config, result);
  result.estimated_seconds = result.seconds_per_update * static_cast<double>(result.planned_updates) +
                             result.seconds_per_validation * static_cast<double>(result.validations);
  result.checkpoint_bytes = checkpoint_bytes(config, data, system);
  result.checkpoints = checkpoints_of(config, validates);
  result.free_bytes = free_bytes(config.run_root);
  return result;
}

}  // namespace attn
