#pragma once
#include <functional>
#include <string>
#include <vector>

#include "attn/cli/messages.h"
#include "attn/cli/output.h"
#include "attn/core/error.h"
#include "attn/experiment/run_directory.h"
#include "attn/training/trainer.h"
#include "options.h"

namespace attn::train {

/// The runs of a sweep with their states and the values of their swept keys: a table, or one JSON object a
/// line.
std::string list_of_runs(const std::vector<Plan>& plans, bool json);

/// How a run begins: of a sweep that is resumed, the runs that have saved nothing start from the beginning.
RunDirectory::Mode mode_of(const Options& options, const Plan& plan);

/// Whether --resume has nothing to do for this run: it is finished, and with the same settings (but for its
/// name, folder and threads).
bool is_finished(const Options& options, const Plan& plan);

/// The result of a run that is_finished(), as run_one would have printed it; empty without a report.
std::string stored_report(const Options& options, const Plan& plan);

/// Refuses a sweep of which some runs exist, unless --resume or --force says what to do. Throws Error (file).
void check_folders(const Options& options, const std::vector<Plan>& plans);

/// Counts what became of the runs of a sweep, and says so at its end.
class SweepOutcome {
 public:
  explicit SweepOutcome(const cli::Messages& messages) : messages_(messages) {}

  void finished() { ++finished_; }
  void skipped() { ++skipped_; }
  void interrupted() { interrupted_ = true; }
  void failed(const Plan& plan, ExitCode code, const std::string& reason) {
    failures_.push_back({plan.name(), code, reason});
  }

  std::size_t done() const { return finished_ + skipped_; }
  std::size_t failures() const { return failures_.size(); }

  /// Names the failed runs of `runs` with their reasons. The code of the first of them in the order of calls;
  /// 130 after an interruption.
  ExitCode report(std::size_t runs) const;

 private:
  struct Failure {
    std::string name;
    ExitCode code;
    std::string reason;
  };

  const cli::Messages& messages_;
  std::size_t finished_ = 0, skipped_ = 0;
  bool interrupted_ = false;
  std::vector<Failure> failures_;
};

/// What an exception means for a run of a sweep: its code and reason. Rethrows what ends the whole program,
/// such as a reader of standard output that has gone. To be called while the exception is handled.
Error failure_of_run();

/// Runs a sweep one after another, each by `run_one`; a run that fails does not stop the others.
ExitCode run_in_turn(const Options& options, const std::vector<Plan>& plans, const cli::Messages& messages,
                     cli::StandardOutput& out, const std::function<Trainer::Outcome(const Plan&)>& run_one);

}  // namespace attn::train
