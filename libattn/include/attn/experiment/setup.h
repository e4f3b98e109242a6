#pragma once
#include <string>

#include "attn/experiment/data.h"
#include "attn/experiment/experiment_config.h"
#include "attn/training/trainer.h"

namespace attn {

/// The trainer's part of an experiment. A schedule that ends with the training needs `updates_per_epoch`.
TrainerConfig trainer_config(const ExperimentConfig& config, std::int64_t updates_per_epoch);

/// Batches in one epoch of the corpus.
std::int64_t updates_per_epoch(const ExperimentConfig& config, const EncodedCorpus& corpus);

/// Updates of the whole training, as epochs and max_updates limit it.
std::int64_t planned_updates(const TrainerConfig& trainer, std::int64_t per_epoch);

/// A model with its first parameters, on the device that the configuration names, and its text processing.
/// `config_yaml` is the resolved configuration for checkpoints.
TranslationSystem build_system(const ExperimentConfig& config, const PreparedData& data,
                               const std::string& config_yaml);

}  // namespace attn
