#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/experiment/data.h"
#include "attn/experiment/run_directory.h"
#include "attn/training/trainer.h"

namespace attn {

/// How a run talks to whoever started it; each may be empty.
struct RunObserver {
  std::function<void(const std::string&)> information;  ///< a line for the log
  std::function<void(const std::string&)> warning;
  /// After every update, with the total number of updates that are planned.
  std::function<void(const UpdateReport&, std::int64_t planned_updates)> update;
  std::function<bool()> stop_requested;
};

/// What a translation of a held-out set is worth.
struct TranslationQuality {
  double bleu = 0.0;       ///< corpus BLEU, 0 to 100
  double book_bleu = 0.0;  ///< mean of the book's sentence BLEU (k = 2), 0 to 1
  std::string signature;   ///< of `bleu`
  double chrf = 0.0;       ///< corpus chrF2, 0 to 100
};

/// A source, its translation, and the reference if there is one.
struct Sample {
  std::string source, translation, reference;
  std::optional<double> book_bleu;  ///< against the reference
};

/// The average of several checkpoints, beside the checkpoint that it competes with, by the validation's
/// metric.
struct AveragedCheckpoint {
  std::vector<std::string> members;  ///< names of the files
  std::string metric;                ///< as in validation.metric
  double averaged = 0.0, other = 0.0;
  std::string other_name;  ///< "best.h5", or the last checkpoint
  bool better = false;     ///< the average is what the report is about
};

/// What a finished run reports.
struct RunSummary {
  Trainer::Outcome outcome = Trainer::Outcome::finished;
  TrainingProgress progress;
  double loss = 0.0, book_loss = 0.0;          ///< of the last epoch, see EpochReport
  double tokens_per_second = 0.0;              ///< median over the epochs of target tokens per second
  std::string checkpoint;                      ///< name of the file that is reported on
  std::optional<AveragedCheckpoint> averaged;  ///< if asked for
  std::optional<TranslationQuality> test;      ///< on the test set, by `checkpoint`
  std::optional<TranslationQuality> training;  ///< over all training pairs, if asked for
  std::vector<Sample> samples;
};

/// Trains as `config` says, in its run directory, and evaluates at the end. `config_yaml` is the resolved
/// configuration for the record, `command_line` how the program was called. On a failure status.json says so
/// and the error goes on.
RunSummary run_training(const ExperimentConfig& config, const std::string& config_yaml,
                        const std::string& command_line, RunDirectory::Mode mode,
                        const RunObserver& observer);

/// Opens the device that a configuration names; 0 threads become all cores.
std::shared_ptr<Device> open_device(const BackendConfig& config);

}  // namespace attn
