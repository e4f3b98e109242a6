#include "attn/experiment/dry_run.h"

#include <chrono>

#include "attn/experiment/setup.h"

namespace attn {

DryRun dry_run(const ExperimentConfig& config) {
  constexpr std::int64_t measured_updates = 3;
  const PreparedData data = prepare_data(config.data, config.seed);
  const TranslationSystem system = build_system(config, data, "");
  DryRun result;
  result.parameters = system.model->parameters().count();
  result.training_pairs = static_cast<std::int64_t>(data.train.encoded.size());
  result.updates_per_epoch = updates_per_epoch(config, data.train.encoded);
  result.target_tokens = data.train.encoded.target_tokens();
  result.source_vocabulary = data.text.source_vocabulary.size();
  result.target_vocabulary = data.text.target_vocabulary.size();
  result.findings = data.findings;

  const TrainerConfig settings = trainer_config(config, result.updates_per_epoch);
  Trainer trainer(*system.model, data.train.encoded, settings);
  const BatchPlan plan = BatchSampler(data.train.encoded, settings.batches, settings.seed).epoch(0);
  trainer.update(plan.batch(0));
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < measured_updates; ++i)
    trainer.update(plan.batch(static_cast<std::size_t>(i) % plan.size()));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.peak_bytes = system.model->device()->memory().peak_in_use;
  result.seconds_per_update = elapsed.count() / static_cast<double>(measured_updates);
  result.estimated_seconds =
      result.seconds_per_update * static_cast<double>(planned_updates(settings, result.updates_per_epoch));
  return result;
}

}  // namespace attn
