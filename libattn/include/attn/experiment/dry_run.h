#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attn/experiment/data.h"

namespace attn {

/// What a run would be, without running it.
struct DryRun {
  /// A batch that was trained on, and how long that took.
  struct Measurement {
    std::int64_t sentences = 0, source_steps = 0, target_steps = 0;
    double seconds = 0.0;
  };

  std::int64_t parameters = 0;
  std::int64_t training_pairs = 0, updates_per_epoch = 0, planned_updates = 0, target_tokens = 0;
  std::size_t source_vocabulary = 0, target_vocabulary = 0;
  double padding = 0.0;                   ///< share of the positions of the first epoch's batches
  std::size_t peak_bytes = 0;             ///< device memory, after the batches with most positions and steps
  std::vector<Measurement> measurements;  ///< the largest first, then by rising size
  double seconds_per_update = 0.0;        ///< mean over an epoch
  double seconds_per_epoch = 0.0;         ///< of updates
  double seconds_per_validation = 0.0;    ///< 0 without
  std::int64_t validations = 0;           ///< of the whole training
  double estimated_seconds = 0.0;         ///< of all updates and validations
  std::uint64_t checkpoint_bytes = 0;     ///< of one
  std::int64_t checkpoints = 0;           ///< that there are at most at once
  std::uint64_t free_bytes = 0;           ///< on the disk of the run directory; 0: unknown
  LintReport lint;
};

/// Reads the data, builds the model, and trains on the largest batches of the first epoch and on some of
/// every size, without writing anything (but for the cache of data.streaming). Times are fitted to the
/// positions of batches; a validation is measured on some of its sentences, translated to the length of their
/// references. Throws what run_training throws before and in its first updates.
DryRun dry_run(const ExperimentConfig& config);

}  // namespace attn
