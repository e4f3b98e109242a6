#include "sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <nlohmann/json.hpp>

#include "attn/experiment/run_history.h"
#include "attn/experiment/text_table.h"
#include "attn/io/atomic_file.h"
#include "attn/training/checkpoint.h"
#include "report.h"

namespace attn::train {
namespace {

std::string state_text(const RunStatus& status) {
  const std::string state(name_of(status.state));
  return status.message.empty() ? state : fmt::format("{}: {}", state, status.message);
}

std::map<std::string, std::string> settings_of(const std::string& yaml) {
  std::map<std::string, std::string> keys = flat_keys(yaml, "config.yaml");
  for (const char* key : {"name", "run_root", "backend.threads"}) keys.erase(key);
  return keys;
}

}  // namespace

std::string list_of_runs(const std::vector<Plan>& plans, bool json) {
  std::string lines;
  TextTable table{.header = {"run", "state"}, .numeric = {}, .rows = {}};
  for (const auto& swept : plans.front().swept) table.header.push_back(swept.first);
  for (const Plan& plan : plans) {
    const RunStatus status = run_status(plan.run_directory());
    std::vector<std::string>& row =
        table.rows.emplace_back(std::vector<std::string>{plan.name(), state_text(status)});
    nlohmann::ordered_json keys = nlohmann::ordered_json::object();
    for (const auto& [key, value] : plan.swept) {
      row.push_back(value);
      keys[key] = value;
    }
    nlohmann::ordered_json entry{{"name", plan.name()},
                                 {"run_directory", plan.run_directory().string()},
                                 {"state", name_of(status.state)}};
    if (!status.message.empty()) entry["message"] = status.message;
    entry["keys"] = std::move(keys);
    lines += entry.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  return json ? lines : to_aligned(table);
}

RunDirectory::Mode mode_of(const Options& options, const Plan& plan) {
  const bool in_sweep = !plan.sweep_point.empty();
  if (options.resume && in_sweep && latest_checkpoint(plan.run_directory()).empty())
    return RunDirectory::Mode::force;
  if (options.resume) return RunDirectory::Mode::resume;
  return options.force ? RunDirectory::Mode::force : RunDirectory::Mode::fresh;
}

bool is_finished(const Options& options, const Plan& plan) {
  // Attention pooling takes a moment, and its report has no place on disk from which it could be repeated.
  if (!options.resume || !std::holds_alternative<ExperimentConfig>(plan.config)) return false;
  if (!is_done(run_status(plan.run_directory()).state)) return false;
  try {
    return settings_of(read_file(plan.run_directory() / "config.yaml")) == settings_of(plan.yaml);
  } catch (const Error&) {
    return false;
  }
}

std::string stored_report(const Options& options, const Plan& plan) {
  const std::optional<RunSummary> summary = read_report(plan.run_directory());
  const auto* config = std::get_if<ExperimentConfig>(&plan.config);
  if (!summary || config == nullptr) return "";
  return options.json ? json_report(*config, *summary) : text_report(*config, *summary);
}

void check_folders(const Options& options, const std::vector<Plan>& plans) {
  if (options.resume || options.force || options.dry_run) return;
  std::vector<std::string> used;
  for (const Plan& plan : plans) {
    if (run_status(plan.run_directory()).state != RunState::fresh)
      used.push_back(plan.run_directory().string());
  }
  if (used.empty()) return;
  fail(
      ExitCode::file,
      "{} of the {} run directories of the sweep are not empty, {} for one; go on with --resume, which skips "
      "finished runs, or start all over with --force",
      used.size(), plans.size(), used.front());
}

ExitCode SweepOutcome::report(std::size_t runs) const {
  const std::size_t left = runs - finished_ - skipped_ - failures_.size();
  std::string text = fmt::format("{} runs: {} finished", runs, finished_);
  if (skipped_ > 0) text += fmt::format(", {} finished before", skipped_);
  if (!failures_.empty()) text += fmt::format(", {} failed", failures_.size());
  if (left > 0) text += fmt::format(", {} left; go on with --resume", left);
  messages_.info("{}", text);
  for (const Failure& failure : failures_) messages_.error("{} failed: {}", failure.name, failure.reason);
  if (interrupted_ && left > 0) return ExitCode::interrupted;
  return failures_.empty() ? ExitCode::ok : failures_.front().code;
}

Error failure_of_run() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const cli::BrokenPipe&) {
    throw;
  } catch (const std::bad_alloc&) {
    return {ExitCode::internal, "not enough memory; use a smaller batch or model, or a machine with more"};
  } catch (const std::exception& error) {
    return {ExitCode::internal, fmt::format("internal error: {}", error.what())};
  }
}

ExitCode run_in_turn(const Options& options, const std::vector<Plan>& plans, const cli::Messages& messages,
                     cli::StandardOutput& out, const std::function<Trainer::Outcome(const Plan&)>& run_one) {
  check_folders(options, plans);
  SweepOutcome outcome(messages);
  for (const Plan& plan : plans) {
    if (!options.dry_run && is_finished(options, plan)) {
      messages.info("{}: finished before", plan.name());
      out.write(stored_report(options, plan));
      outcome.skipped();
      continue;
    }
    try {
      if (run_one(plan) == Trainer::Outcome::interrupted) {
        outcome.interrupted();
        break;
      }
      outcome.finished();
    } catch (const std::exception&) {
      const Error failure = failure_of_run();
      if (!options.dry_run) record_failure(plan.run_directory(), plan.name(), failure.what());
      messages.warning("{} failed: {}", plan.name(), failure.what());
      outcome.failed(plan, failure.code(), failure.what());
    }
  }
  return outcome.report(plans.size());
}

}  // namespace attn::train
