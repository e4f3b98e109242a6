#pragma once
#include <filesystem>
#include <string>

#include "attn/io/hdf5.h"
#include "attn/training/optimizer.h"
#include "attn/training/progress.h"
#include "attn/training/translation_system.h"

namespace attn {

/// What a checkpoint says about its origin.
struct CheckpointOrigin {
  std::string command_line;
  std::uint64_t seed = 0;
  std::string corpus_sha256;  ///< of the encoded training pairs; resuming on other data is refused
};

/// Writes a checkpoint (docs/file-formats.md) so that PATH holds all of it or the file that was there before.
/// `optimizer` may be null: the file then serves for translating only. Throws Error(file) for any failure to
/// write.
void save_checkpoint(const std::filesystem::path& path, const TranslationSystem& system,
                     const Optimizer* optimizer, const TrainingProgress& progress,
                     const CheckpointOrigin& origin);

/// What resuming needs besides the system. Reads the optimizer's moments into `optimizer`, and the parameters
/// into the model. Throws Error(input_data) if names or shapes differ (all are listed), if the corpus is
/// another one, or if the file has no optimizer state.
TrainingProgress resume_from_checkpoint(const std::filesystem::path& path, TranslationSystem& system,
                                        Optimizer& optimizer, const std::string& corpus_sha256);

/// The checkpoint to go on from in a run directory: the one with the most updates. Empty if there is none.
std::filesystem::path latest_checkpoint(const std::filesystem::path& run_directory);

}  // namespace attn
