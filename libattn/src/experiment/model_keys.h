#pragma once
// The keys of a translation model, and what of them contradicts each other.
#include "attn/experiment/experiment_config.h"

namespace attn {

void describe_model(config::Schema& schema, ModelConfig& model);
/// Reports structures that cannot be built, with the remedy.
void check_model(config::Schema& schema, const ExperimentConfig& config);

}  // namespace attn
