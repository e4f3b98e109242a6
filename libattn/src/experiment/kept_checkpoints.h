#pragma once
// The checkpoints that a run keeps for their validation (best-*.h5), and the average at its end.
#include <functional>
#include <optional>
#include <string>

#include "attn/experiment/data.h"
#include "attn/experiment/training_run.h"
#include "attn/training/checkpoint.h"

namespace attn {

/// Whether a validation's metric is among the best so many, those kept so far counted; an earlier one wins a
/// tie.
bool worth_keeping(const RunDirectory& directory, const CheckpointConfig& config, double metric,
                   bool larger_is_better);

/// Removes the worst of the kept ones until there are as many as configured.
void prune_kept(const RunDirectory& directory, const CheckpointConfig& config, bool larger_is_better);

/// Removes those of later updates than the one that a run is resumed from: it will write them again.
void rewind_kept(const RunDirectory& directory, std::int64_t update);

/// What the average at the end of a run is made from and compared on.
struct Averaging {
  const ExperimentConfig& config;
  const RunDirectory& directory;
  const CheckpointOrigin& origin;
  const TrainingProgress& progress;
  const PreparedCorpus& valid;
  const BatchOptions& batches;
  std::shared_ptr<Device> device;
  DType dtype;
  std::function<void(const std::string&)> warn;
};

/// Averages the configured checkpoints into averaged.h5 and compares it on the validation set with the
/// checkpoint that would be reported on otherwise, `other`. Nothing, with a warning, where there are fewer
/// than two or memory is short.
std::optional<AveragedCheckpoint> average_at_end(const Averaging& averaging,
                                                 const std::filesystem::path& other);

}  // namespace attn
