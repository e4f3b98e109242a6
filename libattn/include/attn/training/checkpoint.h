#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "attn/io/hdf5.h"
#include "attn/training/moving_average.h"
#include "attn/training/optimizer.h"
#include "attn/training/progress.h"
#include "attn/training/translation_system.h"

namespace attn {

/// What a checkpoint says about its origin.
struct CheckpointOrigin {
  std::string command_line;
  std::uint64_t seed = 0;
  std::string corpus_sha256;  ///< of the encoded training pairs; resuming on other data is refused
  std::vector<std::string> averaged_from = {};  ///< files whose parameters were averaged; empty: trained
};

/// Writes a checkpoint (docs/file-formats.md) so that PATH holds all of it or the file that was there before.
/// `optimizer` may be null: the file then serves for translating only. With `average` the file holds both the
/// parameters and their moving average, and translating takes the average. Throws Error(file) for any failure
/// to write.
void save_checkpoint(const std::filesystem::path& path, const TranslationSystem& system,
                     const Optimizer* optimizer, const TrainingProgress& progress,
                     const CheckpointOrigin& origin, const MovingAverage* average = nullptr);

/// What resuming needs besides the system. Reads the optimizer's moments into `optimizer`, the parameters
/// into the model, and their moving average into `average`. Throws Error(input_data) if names or shapes
/// differ (all are listed), if the corpus is another one, if the file has no optimizer state, or if only one
/// of file and caller has an average.
TrainingProgress resume_from_checkpoint(const std::filesystem::path& path, TranslationSystem& system,
                                        Optimizer& optimizer, const std::string& corpus_sha256,
                                        const MovingAverage* average = nullptr);

/// What a checkpoint says of itself besides its model.
struct CheckpointInformation {
  TrainingProgress progress;
  CheckpointOrigin origin;
  DType dtype = DType::f32;
  std::string config_yaml;
};

/// Reads that without building the model. Throws Error(file), Error(input_data) for a file that is none.
CheckpointInformation read_checkpoint_information(const std::filesystem::path& path);

/// The file that translating takes of a path: itself, or of a run directory the best checkpoint, else the
/// last. Throws Error(file) if the directory has none.
std::filesystem::path checkpoint_to_load(const std::filesystem::path& path);

/// The checkpoint to go on from in a run directory: the one with the most updates. Empty if there is none.
std::filesystem::path latest_checkpoint(const std::filesystem::path& run_directory);

}  // namespace attn
