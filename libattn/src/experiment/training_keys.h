#pragma once
// The keys that say how updates are made of batches, and when a run validates and saves; their checks.
#include "attn/experiment/experiment_config.h"

namespace attn {

void describe_accumulation(config::Schema& schema, TrainingConfig& training);
void describe_validation(config::Schema& schema, ValidationConfig& validation);
void describe_checkpoints(config::Schema& schema, CheckpointConfig& checkpoints);

/// Report settings that contradict each other, with the remedy.
void check_validation(config::Schema& schema, const ExperimentConfig& config);
void check_checkpoints(config::Schema& schema, const ExperimentConfig& config);

/// "loss", "perplexity", "bleu", "chrf".
const char* name_of(ValidationConfig::Metric metric);
bool larger_is_better(ValidationConfig::Metric metric);

}  // namespace attn
