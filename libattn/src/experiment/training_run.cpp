#include "attn/experiment/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "attn/core/error.h"
#include "attn/experiment/setup.h"
#include "attn/io/atomic_file.h"
#include "attn/training/checkpoint.h"
#include "curve.h"
#include "evaluate.h"
#include "run_record.h"

namespace attn {
namespace {

using Json = nlohmann::ordered_json;

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Json quality_json(const TranslationQuality& quality) {
  return {{"bleu", quality.bleu}, {"book_bleu", quality.book_bleu}, {"signature", quality.signature}};
}

/// One run from its data to its report.
class Run {
 public:
  Run(const ExperimentConfig& config, const std::string& config_yaml, const std::string& command_line,
      RunDirectory::Mode mode, const RunObserver& observer)
      : config_(config),
        observer_(observer),
        data_(prepare_data(config.data, config.seed)),
        system_(build_system(config, data_, config_yaml)),
        per_epoch_(updates_per_epoch(config, data_.train.encoded)),
        trainer_config_(trainer_config(config, per_epoch_)),
        directory_(config.run_directory(), mode),
        origin_{command_line, config.seed, data_.sha256},
        trainer_(*system_.model, data_.train.encoded, trainer_config_) {
    // A checkpoint that does not fit must leave the record of the former run as it is.
    if (mode == RunDirectory::Mode::resume) resume();
    write_record(mode);
    for (const std::string& finding : data_.findings) warn(finding);
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
  void resume();
  void restore_last_epoch();
  void after_epoch(const EpochReport& report);
  Validation validate(const EpochReport& report);
  void epoch_done(const TrainingProgress& progress, bool last);
  void save_numbered();
  void evaluate(RunSummary& summary);
  void write_report(const RunSummary& summary) const;
  void write_samples(const std::vector<Sample>& samples) const;

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
  Json metrics_;  // of the epoch that is being reported
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

void Run::resume() {
  const auto checkpoint = latest_checkpoint(directory_.path());
  trainer_.progress() = resume_from_checkpoint(checkpoint, system_, trainer_.optimizer(), data_.sha256);
  restore_last_epoch();
  directory_.rewind_metrics(trainer_.progress().epoch);
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
    last_epoch_.loss = entry.value("loss", 0.0);
    last_epoch_.book_loss = entry.value("book_loss", 0.0);
    if (const double rate = entry.value("tokens_per_second", 0.0); rate > 0.0) rates_.push_back(rate);
  }
}

void Run::write_status(const char* state, const std::string& message) const {
  write_run_status(directory_, config_.name, state, message);
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
  const LossTotals totals = evaluate_loss(*system_.model, data_.valid.encoded, trainer_config_.batches);
  metrics_["valid_loss"] = totals.per_token();
  metrics_["valid_perplexity"] = std::exp(totals.per_token());
  double metric = totals.per_token();
  std::string bleu_text;
  if (config_.validation.bleu) {
    const TranslationQuality quality =
        translation_quality(system_, data_.valid.corpus, config_.validation.beam, config_.report.max_length);
    metrics_["valid_bleu"] = quality.bleu;
    metrics_["valid_book_bleu"] = quality.book_bleu;
    bleu_text = fmt::format(", BLEU {:.2f}", quality.bleu);
    if (config_.validation.metric == ValidationConfig::Metric::bleu) metric = quality.bleu;
  }
  say(fmt::format("epoch {}: loss {:.4f} nats/token; validation loss {:.4f}, perplexity {:.3f}{}",
                  report.epoch, report.loss, totals.per_token(), std::exp(totals.per_token()), bleu_text));
  return {metric};
}

void Run::epoch_done(const TrainingProgress& progress, bool last) {
  directory_.append_line("metrics.jsonl", metrics_.dump());
  const std::int64_t every = config_.checkpoints.every_epochs;
  if (last || (every > 0 && progress.epoch % every == 0)) save_numbered();
  if (last || progress.epoch % std::max<std::int64_t>(1, trainer_config_.epochs / 20) == 0) {
    write_learning_curve(directory_.path() / "metrics.jsonl",
                         directory_.path() / "plots" / "learning-curve.svg", config_.name);
  }
}

void Run::save_numbered() {
  save_checkpoint(directory_.checkpoint(trainer_.progress().update), system_, &trainer_.optimizer(),
                  trainer_.progress(), origin_);
  directory_.prune_checkpoints(config_.checkpoints.keep_last);
}

RunSummary Run::train() {
  write_status("running");
  const std::int64_t planned = planned_updates(trainer_config_, per_epoch_);
  TrainerHooks hooks;
  hooks.stop_requested = observer_.stop_requested;
  if (observer_.update)
    hooks.after_update = [&](const UpdateReport& report) { observer_.update(report, planned); };
  hooks.after_epoch = [&](const EpochReport& report) { after_epoch(report); };
  if (!data_.valid.empty()) hooks.validate = [&](const EpochReport& report) { return validate(report); };
  hooks.improved = [&](const TrainingProgress& progress) {
    save_checkpoint(directory_.best_checkpoint(), system_, &trainer_.optimizer(), progress, origin_);
  };
  hooks.epoch_done = [&](const TrainingProgress& progress, bool last) { epoch_done(progress, last); };

  RunSummary summary;
  summary.outcome = trainer_.run(hooks);
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
  write_samples(summary.samples);
  write_report(summary);
  write_status(summary.outcome == Trainer::Outcome::finished ? "finished" : "stopped early");
  return summary;
}

void Run::evaluate(RunSummary& summary) {
  // A system of its own: the trained one belongs to the tape, and the best checkpoint may be an earlier one.
  const TranslationSystem best = load_translation_system(directory_.path(), system_.model->device(),
                                                         system_.model->parameters().dtype());
  const ReportConfig& report = config_.report;
  if (!data_.test.empty())
    summary.test = translation_quality(best, data_.test.corpus, report.beam, report.max_length);
  if (report.training_bleu)
    summary.training = translation_quality(best, data_.train.corpus, report.beam, report.max_length);
  summary.samples = make_samples(best, data_, report);
}

void Run::write_report(const RunSummary& summary) const {
  Json report{{"name", config_.name},
              {"epochs", summary.progress.epoch},
              {"updates", summary.progress.update},
              {"loss", summary.loss},
              {"book_loss", summary.book_loss},
              {"tokens_per_second", summary.tokens_per_second}};
  if (summary.test) report["test"] = quality_json(*summary.test);
  if (summary.training) report["training_pairs"] = quality_json(*summary.training);
  for (const Sample& sample : summary.samples) {
    Json entry{{"source", sample.source}, {"translation", sample.translation}};
    if (!sample.reference.empty()) entry["reference"] = sample.reference;
    if (sample.book_bleu) entry["book_bleu"] = *sample.book_bleu;
    report["samples"].push_back(std::move(entry));
  }
  directory_.write("report.json", report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

// Tabs and line breaks inside a text, which a configuration may hold, become spaces.
void Run::write_samples(const std::vector<Sample>& samples) const {
  const auto cell = [](std::string text) {
    for (char& character : text) {
      if (character == '\t' || character == '\n' || character == '\r') character = ' ';
    }
    return text;
  };
  std::string table = "source\ttranslation\treference\n";
  for (const Sample& sample : samples)
    table +=
        fmt::format("{}\t{}\t{}\n", cell(sample.source), cell(sample.translation), cell(sample.reference));
  directory_.write("samples/samples.tsv", table);
}

}  // namespace

std::shared_ptr<Device> open_device(const BackendConfig& config) {
  DeviceOptions options;
  options.device = static_cast<int>(config.device);
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
