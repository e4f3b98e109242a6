#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/experiment/run_lock.h"

namespace attn {

/// The folder of one run: config.yaml, command.txt, environment.json, status.json, log.txt, metrics.jsonl,
/// checkpoints/, samples/, plots/. Locked as long as the object lives (run_lock.h).
class RunDirectory {
 public:
  enum class Mode {
    fresh,   ///< the folder must be new or empty
    resume,  ///< the folder must hold a checkpoint
    force    ///< what a former run left is removed first
  };

  /// Creates or opens the folder. Throws Error(file): not empty without resume or force (the message names
  /// both flags), nothing to resume from, a file in the way, not writable, in use by another process.
  RunDirectory(std::filesystem::path path, Mode mode);

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path checkpoint(std::int64_t update) const;
  std::filesystem::path best_checkpoint() const { return path_ / "checkpoints" / "best.h5"; }
  /// Of an update, kept for its validation.
  std::filesystem::path kept_checkpoint(std::int64_t update) const;
  std::filesystem::path averaged_checkpoint() const { return path_ / "checkpoints" / "averaged.h5"; }

  /// Writes a small file as a whole. Throws Error(file).
  void write(const std::string& name, std::string_view text) const;
  /// Adds a line to metrics.jsonl or log.txt. Throws Error(file).
  void append_line(const std::string& name, std::string_view line) const;
  /// Keeps only the metrics of the first so many epochs, and those of validations inside epochs up to the
  /// update: what a run that is resumed will write again is removed.
  void rewind_metrics(std::int64_t epochs, std::int64_t update) const;
  /// The numbered checkpoints, the earliest first.
  std::vector<std::filesystem::path> numbered_checkpoints() const;
  /// Those kept for their validation, the earliest first.
  std::vector<std::filesystem::path> kept_checkpoints() const;
  /// Removes all but the last `keep` numbered checkpoints.
  void prune_checkpoints(std::int64_t keep) const;
  /// Removes a file. Throws Error(file).
  void remove(const std::filesystem::path& file) const;

 private:
  std::filesystem::path path_;
  std::optional<RunLock> lock_;
};

}  // namespace attn
