#pragma once
// The keys of data that say what is checked and how a corpus is kept.
#include "attn/experiment/experiment_config.h"

namespace attn {

void describe_data_checks(config::Schema& schema, DataConfig& config);

/// Reports settings that contradict each other.
void check_data(config::Schema& schema, const ExperimentConfig& config);

}  // namespace attn
