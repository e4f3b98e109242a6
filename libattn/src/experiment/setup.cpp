#include "attn/experiment/setup.h"

#include <algorithm>

#include "attn/experiment/training_run.h"
#include "training_keys.h"

namespace attn {

TrainerConfig trainer_config(const ExperimentConfig& config, std::int64_t updates_per_epoch) {
  TrainerConfig trainer;
  const TrainingConfig& training = config.training;
  trainer.loss = training.loss;
  trainer.optimizer = training.optimizer;
  trainer.schedule = training.schedule;
  trainer.schedule.width = config.model.hidden_size;
  if (trainer.schedule.total_updates == 0)
    trainer.schedule.total_updates = training.epochs * updates_per_epoch;
  if (training.batch_tokens > 0)
    trainer.batches.batch_tokens = static_cast<std::size_t>(training.batch_tokens);
  else
    trainer.batches.batch_size = static_cast<std::size_t>(training.batch_size);
  trainer.batches.shuffle = training.shuffle;
  trainer.batches.sort_by_length = training.sort_by_length;
  trainer.batches.bucket_by_length = training.bucket_by_length;
  trainer.accumulate = training.accumulate;
  trainer.average_decay = training.ema_decay;
  trainer.seed = config.seed;
  trainer.epochs = training.epochs;
  trainer.max_updates = training.max_updates;
  trainer.validate_every = config.validation.every_epochs;
  trainer.validate_every_updates = config.validation.every_updates;
  trainer.patience = config.validation.patience;
  trainer.larger_is_better = larger_is_better(config.validation.metric);
  return trainer;
}

std::int64_t updates_per_epoch(const ExperimentConfig& config, const EncodedCorpus& corpus) {
  const auto batches = static_cast<std::int64_t>(
      BatchSampler(corpus, trainer_config(config, 0).batches, config.seed).epoch(0).size());
  return (batches + config.training.accumulate - 1) / config.training.accumulate;
}

std::int64_t planned_updates(const TrainerConfig& trainer, std::int64_t per_epoch) {
  const std::int64_t updates = trainer.epochs * per_epoch;
  return trainer.max_updates > 0 ? std::min(updates, trainer.max_updates) : updates;
}

TranslationSystem build_system(const ExperimentConfig& config, const PreparedData& data,
                               const std::string& config_yaml) {
  TranslationSystem system;
  system.config = config.model;
  system.text = data.text;
  system.config_yaml = config_yaml;
  const VocabularySizes sizes{static_cast<std::int64_t>(data.text.source_vocabulary.size()),
                              static_cast<std::int64_t>(data.text.target_vocabulary.size())};
  system.model = make_translation_model(config.model, sizes, open_device(config.backend),
                                        config.backend.dtype, config.seed);
  return system;
}

}  // namespace attn
