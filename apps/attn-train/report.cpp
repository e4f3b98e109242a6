#include "report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "attn/cli/progress.h"

namespace attn::train {
namespace {

using Json = nlohmann::ordered_json;

std::string printed(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string quality_line(const char* what, const TranslationQuality& quality) {
  return fmt::format("{}: BLEU {:.2f} ({}), book BLEU {:.3f}\n", what, quality.bleu, quality.signature,
                     quality.book_bleu);
}

// What did not fit into memory.
std::string memory_lines(const TrainingProgress& progress) {
  std::string text;
  if (progress.split_batches > 0)
    text +=
        fmt::format("memory did not suffice {} times: the batch was done in parts\n", progress.split_batches);
  if (progress.skipped_sentences > 0)
    text += fmt::format("memory did not suffice for single sentences: they were left out {} times\n",
                        progress.skipped_sentences);
  return text;
}

// Of an average, which of the two files the report is about, and why.
std::string checkpoint_lines(const RunSummary& summary) {
  if (!summary.averaged) return {};
  const AveragedCheckpoint& averaged = *summary.averaged;
  return fmt::format("averaged.h5, from {} checkpoints: validation {} {:.4f}; {}: {:.4f}; reported on: {}\n",
                     averaged.members.size(), averaged.metric, averaged.averaged, averaged.other_name,
                     averaged.other, summary.checkpoint);
}

const char* name_of(Trainer::Outcome outcome) {
  switch (outcome) {
    case Trainer::Outcome::finished:
      return "finished";
    case Trainer::Outcome::stopped_early:
      return "stopped early";
    case Trainer::Outcome::interrupted:
      return "interrupted";
  }
  return "?";
}

}  // namespace

std::string text_report(const ExperimentConfig& config, const RunSummary& summary) {
  std::string text = fmt::format("{}: {} after {} epochs, {} updates; run directory {}\n", config.name,
                                 name_of(summary.outcome), summary.progress.epoch, summary.progress.update,
                                 config.run_directory().string());
  text += fmt::format(
      "loss {:.4f} nats/token (the book's figure, averaged over padding as well: {:.4f}), {} target "
      "tokens/s\n",
      summary.loss, summary.book_loss, cli::format_count(summary.tokens_per_second));
  text += memory_lines(summary.progress) + checkpoint_lines(summary);
  if (summary.test) text += quality_line("test set", *summary.test);
  if (summary.training) text += quality_line("training pairs", *summary.training);
  for (const Sample& sample : summary.samples) {
    text += fmt::format("  {}  =>  {}", sample.source, sample.translation);
    if (sample.book_bleu)
      text += fmt::format("   (reference: {}; book BLEU {:.3f})", sample.reference, *sample.book_bleu);
    text += "\n";
  }
  return text;
}

std::string json_report(const ExperimentConfig& config, const RunSummary& summary) {
  Json json{{"name", config.name},
            {"outcome", name_of(summary.outcome)},
            {"run_directory", config.run_directory().string()},
            {"epochs", summary.progress.epoch},
            {"updates", summary.progress.update},
            {"loss", summary.loss},
            {"book_loss", summary.book_loss},
            {"tokens_per_second", summary.tokens_per_second},
            {"checkpoint", summary.checkpoint},
            {"split_batches", summary.progress.split_batches},
            {"skipped_sentences", summary.progress.skipped_sentences}};
  if (summary.averaged) {
    json["average"] = {{"members", summary.averaged->members},   {"metric", summary.averaged->metric},
                       {"averaged", summary.averaged->averaged}, {"other", summary.averaged->other_name},
                       {"other_value", summary.averaged->other}, {"better", summary.averaged->better}};
  }
  if (summary.test)
    json["test"] = {{"bleu", summary.test->bleu},
                    {"book_bleu", summary.test->book_bleu},
                    {"signature", summary.test->signature},
                    {"chrf", summary.test->chrf}};
  if (summary.training)
    json["training_pairs"] = {{"bleu", summary.training->bleu}, {"book_bleu", summary.training->book_bleu}};
  json["samples"] = Json::array();
  for (const Sample& sample : summary.samples) {
    Json entry{
        {"source", sample.source}, {"translation", sample.translation}, {"reference", sample.reference}};
    if (sample.book_bleu) entry["book_bleu"] = *sample.book_bleu;
    json["samples"].push_back(std::move(entry));
  }
  return printed(json);
}

std::string text_report(const ExperimentConfig& config, const PreparedData& data) {
  const auto line = [&](const char* side, const Vocabulary& vocabulary, const EncodedSide& text) {
    const auto sentences = static_cast<double>(data.train.encoded.size());
    return fmt::format(
        "{}: {} vocabulary of {} entries; the training text has {} tokens, {:.1f} a sentence, {} unknown\n",
        config.name, side, vocabulary.size(), text.tokens, static_cast<double>(text.tokens) / sentences,
        text.unknown);
  };
  return line("source", data.text.source_vocabulary, data.train.encoded.source()) +
         line("target", data.text.target_vocabulary, data.train.encoded.target());
}

std::string json_report(const ExperimentConfig& config, const PreparedData& data) {
  const auto side = [](const Vocabulary& vocabulary, const EncodedSide& text) {
    return Json{{"vocabulary", vocabulary.size()}, {"tokens", text.tokens}, {"unknown", text.unknown}};
  };
  return printed({{"name", config.name},
                  {"training_pairs", data.train.encoded.size()},
                  {"source", side(data.text.source_vocabulary, data.train.encoded.source())},
                  {"target", side(data.text.target_vocabulary, data.train.encoded.target())}});
}

std::string text_report(const KernelRegressionConfig& config, const RegressionResult& result) {
  std::string text =
      fmt::format("{}: {} training points, {} test points; run directory {}\n", config.name,
                  result.points.x_train.size(), result.points.x_test.size(), config.run_directory().string());
  for (std::size_t i = 0; i < result.epochs.size(); ++i) {
    const RegressionEpoch& epoch = result.epochs[i];
    text += fmt::format("epoch {}: loss {:.4f}, w {:.4f} after it\n", i + 1, epoch.loss, epoch.w);
  }
  for (const RegressionCurve& curve : result.curves) {
    text += fmt::format("{}: mean squared error {:.4f} against the truth", curve.name(),
                        curve.mean_squared_error);
    if (curve.undefined > 0) text += fmt::format(" ({} test points without prediction)", curve.undefined);
    text += "\n";
  }
  return text;
}

std::string json_report(const KernelRegressionConfig& config, const RegressionResult& result) {
  Json json{{"name", config.name}, {"run_directory", config.run_directory().string()}};
  json["epochs"] = Json::array();
  for (const RegressionEpoch& epoch : result.epochs)
    json["epochs"].push_back({{"loss", epoch.loss}, {"gradient", epoch.gradient}, {"w", epoch.w}});
  json["curves"] = Json::array();
  for (const RegressionCurve& curve : result.curves) {
    json["curves"].push_back({{"name", curve.name()},
                              {"kernel", name_of(curve.kernel)},
                              {"width", curve.width},
                              {"learned", curve.learned},
                              {"mean_squared_error", curve.mean_squared_error},
                              {"undefined", curve.undefined}});
  }
  return printed(json);
}

}  // namespace attn::train
