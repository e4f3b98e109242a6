#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/experiment/training_run.h"

/// What run directories say about their runs, also while these go on, and after they were killed.
namespace attn {

enum class RunState { fresh, running, interrupted, finished, stopped_early, failed, damaged };

/// "new", "running", "interrupted", "finished", "stopped early", "failed", "damaged".
std::string_view name_of(RunState state);

/// Whether there is nothing left to do: finished or stopped early.
bool is_done(RunState state);

struct RunStatus {
  RunState state = RunState::fresh;
  std::string message;  ///< why it failed, what is damaged, or that it was killed
};

/// The state of the run in this folder, which need not exist. A run that says "running" while nobody holds
/// its lock was killed: interrupted. Never throws for what is in the folder.
RunStatus run_status(const std::filesystem::path& folder);

/// One line of metrics.jsonl: its numbers by name.
using EpochMetrics = std::map<std::string, double, std::less<>>;

/// The numbers of such a line; nothing where it is no JSON object with an epoch.
std::optional<EpochMetrics> parse_metrics(std::string_view line);

/// The epochs of a metrics.jsonl, in order. Lines that are no JSON object, as the last one of a run that was
/// killed, are left out and counted. Throws Error (file) when the file cannot be read.
std::vector<EpochMetrics> read_metrics(const std::filesystem::path& file,
                                       std::size_t* damaged_lines = nullptr);

/// Whether a larger value of this metric is better: not so for losses, perplexities, errors and TER.
bool larger_is_better(std::string_view metric);

/// A run as its folder tells it.
struct RunHistory {
  std::filesystem::path folder;
  RunStatus status;
  std::map<std::string, std::string> keys;  ///< of config.yaml: "training.learning_rate" -> "0.001"
  std::vector<EpochMetrics> epochs;
  /// epochs, updates, loss and book_loss of the last epoch, tokens_per_second (median over the epochs);
  /// best_epoch and the valid_... of that epoch, chosen by validation.metric; test_... of report.json.
  EpochMetrics metrics;
};

/// Reads a run directory. What is damaged is left out and named in the status; never throws for it.
RunHistory read_run(const std::filesystem::path& folder);

/// Notes in the folder of a run that failed before it had one (its data are missing, say) why it failed.
/// Leaves folders alone that hold anything.
void record_failure(const std::filesystem::path& folder, const std::string& name, const std::string& message);

/// Whether a folder looks like a run: it has a config.yaml, status.json, metrics.jsonl or folder of
/// checkpoints.
bool is_run_directory(const std::filesystem::path& folder);

/// The run directories among `paths` and, of folders that are none, everywhere below them, in order of their
/// names (numbers by value) for each path, without repetition. Files are passed over, so that `runs/rates/*`
/// may match logs. Throws Error (file) for a path that does not exist.
std::vector<std::filesystem::path> find_runs(const std::vector<std::filesystem::path>& paths);

/// The result of a finished run as its report.json has it, to print it again. Nothing where it is missing or
/// damaged.
std::optional<RunSummary> read_report(const std::filesystem::path& folder);

/// The keys of a resolved configuration by path, lists as "[a, b]". Throws Error (config) when it is no YAML.
std::map<std::string, std::string> flat_keys(const std::string& config_yaml, const std::string& name);

/// Order of names in which numbers count by their value: "seed=2" before "seed=10".
bool natural_less(const std::string& a, const std::string& b);

}  // namespace attn
