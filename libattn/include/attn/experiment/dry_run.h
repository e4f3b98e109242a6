#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attn/experiment/experiment_config.h"

namespace attn {

/// What a run would be, without running it.
struct DryRun {
  std::int64_t parameters = 0;
  std::int64_t training_pairs = 0, updates_per_epoch = 0, target_tokens = 0;
  std::size_t source_vocabulary = 0, target_vocabulary = 0;
  std::size_t peak_bytes = 0;       ///< device memory of a few updates
  double seconds_per_update = 0.0;  ///< measured on a few updates
  double estimated_seconds = 0.0;   ///< of all updates
  std::vector<std::string> findings;
};

/// Reads the data, builds the model and does a few updates, without writing anything.
DryRun dry_run(const ExperimentConfig& config);

}  // namespace attn
