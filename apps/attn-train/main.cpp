#include "attn/cli/main.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/cli/messages.h"
#include "attn/cli/output.h"
#include "attn/cli/progress.h"
#include "attn/cli/signals.h"
#include "attn/core/error.h"
#include "attn/experiment/data.h"
#include "attn/experiment/run_history.h"
#include "attn/experiment/training_run.h"
#include "average.h"
#include "data_report.h"
#include "jobs.h"
#include "options.h"
#include "report.h"
#include "summary.h"
#include "sweep.h"

namespace attn::train {
namespace {

const std::vector<cli::Example> examples{
    {"attn-train configs/quickstart.yaml",
     "train a small Transformer on the bundled corpus, translate its test set"},
    {"attn-train configs/d2l/seq2seq-attention.yaml --set training.epochs=50",
     "the book's Bahdanau model, with one key changed"},
    {"attn-train configs/d2l/nadaraya-watson.yaml", "attention pooling, with its picture and its weights"},
    {"attn-train configs/quickstart.yaml --dry-run", "sizes, memory and time, without writing anything"},
    {"attn-train configs/quickstart.yaml --lint", "what is odd about the data, without training"},
    {"attn-train configs/small-world/transformer-sentencepiece.yaml --vocabulary-only subwords",
     "only the subwords, as subwords/source.model and subwords/target.model"},
    {"attn-train configs/quickstart.yaml --resume", "go on where an interrupted run stopped, bit for bit"},
    {"attn-train --average averaged.h5 runs/quickstart/checkpoints/update-*.h5",
     "one checkpoint with the mean of the parameters of several"},
};

/// Hands what a run says to messages and a progress bar.
class Display {
 public:
  Display(const cli::Messages& messages, std::string label) : messages_(messages), label_(std::move(label)) {}

  RunObserver observer() {
    RunObserver observer;
    observer.information = [this](const std::string& text) {
      clear();
      messages_.info("{}", text);
    };
    observer.warning = [this](const std::string& text) {
      clear();
      messages_.warning("{}", text);
    };
    observer.update = [this](const UpdateReport& report, std::int64_t planned) { update(report, planned); };
    observer.stop_requested = [] { return cli::interrupted(); };
    return observer;
  }

 private:
  void clear() {
    if (progress_) progress_->clear();
  }
  void update(const UpdateReport& report, std::int64_t planned) {
    const auto now = cli::Progress::Clock::now();
    if (!progress_) {
      progress_.emplace(messages_, label_, static_cast<std::uint64_t>(planned), "updates");
      progress_->resume_at(static_cast<std::uint64_t>(report.update - 1));
      start_ = now;
    }
    tokens_ += report.tokens;
    const std::chrono::duration<double> elapsed = now - start_;
    const double rate = elapsed.count() > 0 ? static_cast<double>(tokens_) / elapsed.count() : 0.0;
    progress_->update(static_cast<std::uint64_t>(report.update),
                      fmt::format("epoch {}  loss {:.4f}  {} tokens/s", report.epoch, report.loss,
                                  cli::format_count(rate)));
  }

  const cli::Messages& messages_;
  std::string label_;
  std::optional<cli::Progress> progress_;
  cli::Progress::Clock::time_point start_;
  std::int64_t tokens_ = 0;
};

// The command line as a shell would take it again.
std::string shell_words(const std::vector<std::string>& arguments) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  std::vector<std::string> words;
  for (const std::string& word : arguments) {
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      words.push_back(word);
      continue;
    }
    std::string quoted = "'";
    for (const char character : word) quoted += character == '\'' ? "'\\''" : std::string(1, character);
    words.push_back(quoted + "'");
  }
  return fmt::format("{}", fmt::join(words, " "));
}

cli::Messages messages_of(const Options& options) {
  return {"attn-train", options.quiet     ? cli::Level::quiet
                        : options.verbose ? cli::Level::verbose
                                          : cli::Level::normal};
}

/// Runs what was planned.
class Runs {
 public:
  Runs(const Options& options, std::vector<std::string> arguments)
      : options_(options),
        messages_(messages_of(options)),
        command_line_(shell_words(arguments)),
        arguments_(std::move(arguments)) {}

  ExitCode run(const std::vector<Plan>& plans) {
    if (options_.lint) return lint_data(options_, plans, out_);
    if (!options_.vocabulary_folder.empty()) return write_vocabulary(plans);
    const auto run_plan = [this](const Plan& plan) {
      return std::visit([&](const auto& config) { return run_one(plan, config); }, plan.config);
    };
    ExitCode code = ExitCode::ok;
    if (options_.jobs) {
      code = run_jobs(options_, plans, arguments_, messages_, out_);
    } else if (plans.size() > 1) {
      code = run_in_turn(options_, plans, messages_, out_, run_plan);
    } else {
      code = run_alone(plans.front(), run_plan);
    }
    out_.finish();
    return code;
  }

 private:
  template<typename Run>
  ExitCode run_alone(const Plan& plan, const Run& run_plan) {
    try {
      if (run_plan(plan) != Trainer::Outcome::interrupted) return ExitCode::ok;
    } catch (const Error& error) {
      // A run of a sweep has its place, where its failure is looked for.
      if (!plan.sweep_point.empty() && !options_.dry_run)
        record_failure(plan.run_directory(), plan.name(), error.what());
      throw;
    }
    messages_.info("interrupted; go on with --resume");
    return ExitCode::interrupted;
  }

  template<typename Config, typename Result>
  void report(const Config& config, const Result& result) {
    out_.write(options_.json ? json_report(config, result) : text_report(config, result));
    out_.flush();
  }

  Trainer::Outcome run_one(const Plan& plan, const ExperimentConfig& config) {
    if (options_.dry_run) {
      const DryRun result = dry_run(config);
      if (config.data.lint != DataConfig::Lint::off) messages_.info("{}", lint_text(result.lint));
      report(config, result);
      return Trainer::Outcome::finished;
    }
    RunSummary summary;
    {
      Display display(messages_, config.name);
      summary = run_training(config, plan.yaml, command_line_, mode_of(options_, plan), display.observer());
    }
    report(config, summary);
    return summary.outcome;
  }

  // It takes no longer to do it than to say how long it would take.
  Trainer::Outcome run_one(const Plan& plan, const KernelRegressionConfig& config) {
    if (options_.dry_run) {
      report(config, compute_regression(config, open_device(config.backend)));
    } else {
      Display display(messages_, config.name);
      report(config, run_kernel_regression(config, plan.yaml, command_line_, mode_of(options_, plan),
                                           display.observer()));
    }
    return Trainer::Outcome::finished;
  }

  ExitCode write_vocabulary(const std::vector<Plan>& plans) {
    const auto* config = std::get_if<ExperimentConfig>(&plans.front().config);
    if (plans.size() > 1 || config == nullptr) {
      fail(ExitCode::usage,
           "--vocabulary-only is for one configuration of a translation model, without a sweep");
    }
    const PreparedData data = prepare_data(*config);
    if (config->data.lint != DataConfig::Lint::off) messages_.info("{}", lint_text(data.lint));
    for (const std::filesystem::path& file : write_vocabularies(data.text, options_.vocabulary_folder))
      messages_.info("wrote {}", file.string());
    report(*config, data);
    out_.finish();
    return ExitCode::ok;
  }

  const Options& options_;
  cli::Messages messages_;
  cli::StandardOutput out_;
  std::string command_line_;
  std::vector<std::string> arguments_;
};

int run(CLI::App& app, int argc, char** argv) {
  app.description("Trains a translation model, or fits attention pooling, as YAML files say.");
  cli::set_up(app, examples);
  Options options;
  declare(app, options);
  app.footer(
      "Exit codes: 0 done, 1 internal error, 2 usage, 3 configuration, 4 input data, 5 file or disk, 6 "
      "backend, "
      "130 interrupted after saving a checkpoint.");
  app.parse(argc, argv);

  if (options.list_keys) {
    cli::StandardOutput out;
    out.write(key_reference());
    out.finish();
    return static_cast<int>(ExitCode::ok);
  }
  if (!options.average_output.empty()) {
    cli::StandardOutput out;
    average_files({options.average_output, options.configs, options.backend, shell_words({argv, argv + argc}),
                   options.json},
                  messages_of(options), out);
    out.finish();
    return static_cast<int>(ExitCode::ok);
  }
  if (options.summary.wanted()) {
    cli::StandardOutput out;
    compare(options.summary, options.json, options.configs, messages_of(options), out);
    out.finish();
    return static_cast<int>(ExitCode::ok);
  }
  const std::vector<Plan> plans = resolve(options);
  if (options.list_runs) {
    cli::StandardOutput out;
    out.write(list_of_runs(plans, options.json));
    out.finish();
    return static_cast<int>(ExitCode::ok);
  }
  if (options.dump_config) {
    cli::StandardOutput out;
    for (const Plan& plan : plans) out.write(plans.size() > 1 ? "---\n" + plan.yaml : plan.yaml);
    out.finish();
    return static_cast<int>(ExitCode::ok);
  }
  return static_cast<int>(Runs(options, {argv, argv + argc}).run(plans));
}

}  // namespace
}  // namespace attn::train

int main(int argc, char** argv) {
  return attn::cli::run_tool(argc, argv, attn::train::run);
}
