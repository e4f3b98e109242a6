#include "attn/experiment/training_run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "attn/core/error.h"
#include "attn/experiment/event_file.h"
#include "attn/experiment/guided_data.h"
#include "attn/experiment/setup.h"
#include "attn/io/atomic_file.h"
#include "attn/training/checkpoint.h"
#include "curve.h"
#include "evaluate.h"
#include "kept_checkpoints.h"
#include "run_record.h"
#include "training_keys.h"

namespace attn {
namespace {

using Json = nlohmann::ordered_json;

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// One run from its data to its report.
class Run {
 public:
  Run(const ExperimentConfig& config, const std::string& config_yaml, const std::string& command_line,
      RunDirectory::Mode mode, const RunObserver& observer)
      : config_(config),
        observer_(observer),
        data_(prepare_data(config)),
        system_(build_system(config, data_, config_yaml)),
        per_epoch_(updates_per_epoch(config, data_.train.encoded)),
        trainer_config_(with_guidance(trainer_config(config, per_epoch_), config, data_)),
        directory_(config.run_directory(), mode),
        origin_{command_line, config.seed, data_.sha256, {}},
        trainer_(*system_.model, data_.train.encoded, trainer_config_) {
    // A checkpoint that does not fit must leave the record of the former run as it is.
    if (mode == RunDirectory::Mode::resume) resume();
    write_record(mode);
    if (config.report.tensorboard) open_events();
    if (config.data.lint != DataConfig::Lint::off) {
      directory_.write("lint.json", lint_json(data_.lint, 2) + "\n");
      say(lint_text(data_.lint));
    }
  }

  RunSummary train();
  void write_status(const char* state, const std::string& message = {}) const;

 private:
  void say(const std::string& text) const {
    directory_.append_line("log.txt", text);
    if (observer_.information) observer_.information(text);
  }
  void warn(const std::string& text) const {
    directory_.append_line("log.txt", "warning: " + text);
    if (observer_.warning) observer_.warning(text);
  }
  void write_record(RunDirectory::Mode mode) const;
  void open_events();
  void write_metrics();
  void resume();
  void restore_last_epoch();
  TrainerHooks hooks();
  void after_update(const UpdateReport& report);
  void after_epoch(const EpochReport& report);
  Validation validate(const EpochReport& report);
  void improved(const TrainingProgress& progress);
  void validated(const TrainingProgress& progress);
  void update_done(const TrainingProgress& progress);
  void epoch_done(const TrainingProgress& progress, bool last);
  bool checkpoint_due(std::int64_t update) const;
  void save_numbered();
  void evaluate(RunSummary& summary);

  const ExperimentConfig& config_;
  const RunObserver& observer_;
  PreparedData data_;
  TranslationSystem system_;
  std::int64_t per_epoch_;
  TrainerConfig trainer_config_;
  RunDirectory directory_;
  CheckpointOrigin origin_;
  Trainer trainer_;
  EpochReport last_epoch_{};
  std::vector<double> rates_;
  std::int64_t splits_told_ = 0;
  std::set<std::size_t> skipped_told_;
  Json metrics_;  // of the epoch that is being reported
  std::optional<EventFile> events_;
};

void Run::write_record(RunDirectory::Mode mode) const {
  const Device& device = *system_.model->device();
  write_run_record(directory_, system_.config_yaml, origin_.command_line, device);
  if (mode != RunDirectory::Mode::resume) directory_.write("metrics.jsonl", "");
  // For other programs and other runs; a checkpoint has its own copy.
  for (const auto& [name, tokenizer] : {std::pair{"source.model", &data_.text.source_tokenizer},
                                        std::pair{"target.model", &data_.text.target_tokenizer}}) {
    if (tokenizer->model()) directory_.write(name, tokenizer->model()->bytes());
  }
  say(fmt::format(
      "{}: {} parameters, {} training pairs, vocabularies {} / {}, {} updates an epoch, backend {} ({})",
      config_.name, system_.model->parameters().count(), data_.train.encoded.size(),
      data_.text.source_vocabulary.size(), data_.text.target_vocabulary.size(), per_epoch_,
      device.backend().name(), device.name()));
}

void Run::open_events() {
  events_.emplace(directory_.path() / "tensorboard", trainer_.progress().update);
  const std::filesystem::path metrics = directory_.path() / "metrics.jsonl";
  // Epochs from before TensorBoard was asked for.
  if (!events_->empty() || !std::filesystem::exists(metrics)) return;
  for (const EpochMetrics& epoch : read_metrics(metrics)) events_->add(epoch);
}

void Run::write_metrics() {
  const std::string line = metrics_.dump();
  if (events_) {
    if (const auto numbers = parse_metrics(line)) events_->add(*numbers);
  }
  directory_.append_line("metrics.jsonl", line);
}

void Run::resume() {
  const auto checkpoint = latest_checkpoint(directory_.path());
  trainer_.progress() =
      resume_from_checkpoint(checkpoint, system_, trainer_.optimizer(), data_.sha256, trainer_.average());
  restore_last_epoch();
  directory_.rewind_metrics(trainer_.progress().epoch, trainer_.progress().update);
  rewind_kept(directory_, trainer_.progress().update);
  say(fmt::format("resuming from {} (epoch {}, update {})", checkpoint.string(), trainer_.progress().epoch,
                  trainer_.progress().update));
}

// For the report of a run that has nothing left to do.
void Run::restore_last_epoch() {
  std::error_code ignored;
  const std::filesystem::path metrics = directory_.path() / "metrics.jsonl";
  if (!std::filesystem::exists(metrics, ignored)) return;
  std::istringstream lines(read_file(metrics));
  for (std::string line; std::getline(lines, line);) {
    const Json entry = Json::parse(line, nullptr, false);
    if (!entry.is_object() || entry.value("update", std::int64_t{0}) > trainer_.progress().update) continue;
    if (!entry.contains("book_loss")) continue;  // a validation inside an epoch
    last_epoch_.loss = entry.value("loss", 0.0);
    last_epoch_.book_loss = entry.value("book_loss", 0.0);
    if (const double rate = entry.value("tokens_per_second", 0.0); rate > 0.0) rates_.push_back(rate);
  }
}

void Run::write_status(const char* state, const std::string& message) const {
  write_run_status(directory_, config_.name, state, message);
}

// Which lines did not fit into memory; the report has the counts.
void Run::after_update(const UpdateReport& report) {
  constexpr std::int64_t most_told = 10;
  if (!report.split_lines.empty() && splits_told_ < most_told) {
    ++splits_told_;
    say(fmt::format("update {}: memory does not suffice for a batch of lines {}; it was done in parts{}",
                    report.update, fmt::join(report.split_lines, ", "),
                    splits_told_ == most_told ? " (further ones are counted in the report only)" : ""));
  }
  for (const std::size_t line : report.skipped_lines) {
    if (!skipped_told_.insert(line).second) continue;
    warn(
        fmt::format("line {} of the training data does not fit into memory and was left out; a lower "
                    "data.max_length crops it, and backend.memory_limit may be raised",
                    line));
  }
  if (observer_.update) observer_.update(report, planned_updates(trainer_config_, per_epoch_));
}

void Run::after_epoch(const EpochReport& report) {
  last_epoch_ = report;
  const double rate = report.seconds > 0 ? static_cast<double>(report.tokens) / report.seconds : 0.0;
  rates_.push_back(rate);
  metrics_ = Json{{"epoch", report.epoch},
                  {"update", report.update},
                  {"loss", report.loss},
                  {"book_loss", report.book_loss},
                  {"gradient_norm", report.gradient_norm},
                  {"learning_rate", report.learning_rate},
                  {"tokens", report.tokens},
                  {"seconds", report.seconds},
                  {"tokens_per_second", rate}};
}

Validation Run::validate(const EpochReport& report) {
  const ValidationFigures figures =
      validation_figures(system_, data_.valid, config_, trainer_config_.batches);
  if (report.inside) {
    metrics_ = Json{{"epoch", report.epochs_done},
                    {"update", report.update},
                    {"loss", report.loss},
                    {"gradient_norm", report.gradient_norm},
                    {"learning_rate", report.learning_rate}};
  }
  metrics_["valid_loss"] = figures.loss.per_token();
  metrics_["valid_perplexity"] = figures.perplexity;
  std::string translation_text;
  if (figures.translation) {
    metrics_["valid_bleu"] = figures.translation->bleu;
    metrics_["valid_book_bleu"] = figures.translation->book_bleu;
    metrics_["valid_chrf"] = figures.translation->chrf;
    translation_text =
        fmt::format(", BLEU {:.2f}, chrF {:.2f}", figures.translation->bleu, figures.translation->chrf);
  }
  const std::string place = report.inside
                                ? fmt::format("update {} (epoch {:.2f})", report.update, report.epochs_done)
                                : fmt::format("epoch {}", report.epoch);
  say(fmt::format("{}: loss {:.4f} nats/token; validation loss {:.4f}, perplexity {:.3f}{}", place,
                  report.loss, figures.loss.per_token(), figures.perplexity, translation_text));
  if (!figures.loss.skipped_lines.empty()) {
    warn(fmt::format("lines {} of the validation data do not fit into memory and do not count",
                     fmt::join(figures.loss.skipped_lines, ", ")));
  }
  if (report.inside) write_metrics();
  return {value_of(figures, config_.validation.metric)};
}

// With a moving average the model has the average's values now, which are no state to train on from.
void Run::improved(const TrainingProgress& progress) {
  const Optimizer* optimizer = trainer_.average() == nullptr ? &trainer_.optimizer() : nullptr;
  save_checkpoint(directory_.best_checkpoint(), system_, optimizer, progress, origin_);
}

void Run::validated(const TrainingProgress& progress) {
  const CheckpointConfig& checkpoints = config_.checkpoints;
  const bool larger = trainer_config_.larger_is_better;
  if (checkpoints.keep_best == 0 || !std::isfinite(progress.last_metric) ||
      !worth_keeping(directory_, checkpoints, progress.last_metric, larger))
    return;
  save_checkpoint(directory_.kept_checkpoint(progress.update), system_, nullptr, progress, origin_);
  prune_kept(directory_, checkpoints, larger);
}

bool Run::checkpoint_due(std::int64_t update) const {
  const std::int64_t every = config_.checkpoints.every_updates;
  return every > 0 && update % every == 0;
}

void Run::update_done(const TrainingProgress& progress) {
  if (checkpoint_due(progress.update)) save_numbered();
}

void Run::epoch_done(const TrainingProgress& progress, bool last) {
  write_metrics();
  const CheckpointConfig& checkpoints = config_.checkpoints;
  const bool due = checkpoints.every_updates > 0
                       ? checkpoint_due(progress.update)
                       : checkpoints.every_epochs > 0 && progress.epoch % checkpoints.every_epochs == 0;
  if (last || due) save_numbered();
  if (last || progress.epoch % std::max<std::int64_t>(1, trainer_config_.epochs / 20) == 0) {
    write_learning_curve(directory_.path() / "metrics.jsonl",
                         directory_.path() / "plots" / "learning-curve.svg", config_.name);
  }
}

void Run::save_numbered() {
  save_checkpoint(directory_.checkpoint(trainer_.progress().update), system_, &trainer_.optimizer(),
                  trainer_.progress(), origin_, trainer_.average());
  directory_.prune_checkpoints(config_.checkpoints.keep_last);
}

TrainerHooks Run::hooks() {
  TrainerHooks hooks;
  hooks.stop_requested = observer_.stop_requested;
  hooks.after_update = [this](const UpdateReport& report) { after_update(report); };
  hooks.after_epoch = [this](const EpochReport& report) { after_epoch(report); };
  if (!data_.valid.empty()) hooks.validate = [this](const EpochReport& report) { return validate(report); };
  hooks.improved = [this](const TrainingProgress& progress) { improved(progress); };
  hooks.validated = [this](const TrainingProgress& progress) { validated(progress); };
  hooks.update_done = [this](const TrainingProgress& progress) { update_done(progress); };
  hooks.epoch_done = [this](const TrainingProgress& progress, bool last) { epoch_done(progress, last); };
  return hooks;
}

RunSummary Run::train() {
  write_status("running");
  RunSummary summary;
  summary.outcome = trainer_.run(hooks());
  summary.progress = trainer_.progress();
  summary.loss = last_epoch_.loss;
  summary.book_loss = last_epoch_.book_loss;
  summary.tokens_per_second = median(rates_);
  if (summary.outcome == Trainer::Outcome::interrupted) {
    save_numbered();
    write_status("interrupted");
    return summary;
  }
  evaluate(summary);
  write_samples(directory_, summary.samples);
  write_report(directory_, config_.name, summary);
  write_status(summary.outcome == Trainer::Outcome::finished ? "finished" : "stopped early");
  return summary;
}

void Run::evaluate(RunSummary& summary) {
  const std::shared_ptr<Device> device = system_.model->device();
  const DType dtype = system_.model->parameters().dtype();
  std::filesystem::path checkpoint = checkpoint_to_load(directory_.path());
  if (config_.checkpoints.average > 0) {
    const Averaging averaging{config_,          directory_,  origin_,
                              summary.progress, data_.valid, trainer_config_.batches,
                              device,           dtype,       [this](const std::string& text) { warn(text); }};
    summary.averaged = average_at_end(averaging, checkpoint);
    if (summary.averaged && summary.averaged->better) checkpoint = directory_.averaged_checkpoint();
  }
  summary.checkpoint = checkpoint.filename().string();
  // A system of its own: the trained one belongs to the tape, and the best checkpoint may be an earlier one.
  const TranslationSystem best = load_translation_system(checkpoint, device, dtype);
  const ReportConfig& report = config_.report;
  if (!data_.test.empty())
    summary.test = translation_quality(best, data_.test.corpus, report.beam, report.max_length);
  if (report.training_bleu)
    summary.training = translation_quality(best, data_.train.corpus, report.beam, report.max_length);
  summary.samples = make_samples(best, data_, report);
}

}  // namespace

std::shared_ptr<Device> open_device(const BackendConfig& config) {
  DeviceOptions options;
  options.device = static_cast<int>(config.device);
  options.memory_limit = static_cast<std::size_t>(config.memory_limit) << 20;
  options.threads = config.threads > 0 ? static_cast<int>(config.threads)
                                       : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return Device::open(config.name, options);
}

RunSummary run_training(const ExperimentConfig& config, const std::string& config_yaml,
                        const std::string& command_line, RunDirectory::Mode mode,
                        const RunObserver& observer) {
  Run run(config, config_yaml, command_line, mode, observer);
  try {
    return run.train();
  } catch (const std::exception& error) {
    try {
      run.write_status("failed", error.what());
    } catch (const Error&) {
      // A disk that is full cannot take this either; the first error is the one to report.
    }
    throw;
  }
}

}  // namespace attn
