#include "run_record.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "attn/core/version.h"

namespace attn {
namespace {
using Json = nlohmann::ordered_json;

Json quality_json(const TranslationQuality& quality) {
  return {{"bleu", quality.bleu},
          {"book_bleu", quality.book_bleu},
          {"signature", quality.signature},
          {"chrf", quality.chrf}};
}

Json averaged_json(const AveragedCheckpoint& averaged) {
  return {{"members", averaged.members},  {"metric", averaged.metric},     {"averaged", averaged.averaged},
          {"other", averaged.other_name}, {"other_value", averaged.other}, {"better", averaged.better}};
}

}  // namespace

void write_run_record(const RunDirectory& directory, const std::string& config_yaml,
                      const std::string& command_line, const Device& device) {
  directory.write("config.yaml", config_yaml);
  directory.append_line("command.txt", command_line);
  const Json environment{{"attn", version()},
                         {"backend", device.backend().name()},
                         {"backend_version", device.backend().version()},
                         {"plugin", device.backend().file().string()},
                         {"device", device.name()},
                         {"threads", device.options().threads},
                         {"cores", std::thread::hardware_concurrency()},
                         {"compiler", __VERSION__}};
  directory.write("environment.json", environment.dump(2) + "\n");
}

void write_run_status(const RunDirectory& directory, const std::string& name, const char* state,
                      const std::string& message) {
  Json status{{"state", state}, {"name", name}};
  if (!message.empty()) status["message"] = message;
  directory.write("status.json", status.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void write_report(const RunDirectory& directory, const std::string& name, const RunSummary& summary) {
  Json report{{"name", name},
              {"epochs", summary.progress.epoch},
              {"updates", summary.progress.update},
              {"loss", summary.loss},
              {"book_loss", summary.book_loss},
              {"tokens_per_second", summary.tokens_per_second},
              {"checkpoint", summary.checkpoint}};
  if (summary.averaged) report["average"] = averaged_json(*summary.averaged);
  if (summary.progress.split_batches > 0) report["split_batches"] = summary.progress.split_batches;
  if (summary.progress.skipped_sentences > 0)
    report["skipped_sentences"] = summary.progress.skipped_sentences;
  if (summary.test) report["test"] = quality_json(*summary.test);
  if (summary.training) report["training_pairs"] = quality_json(*summary.training);
  for (const Sample& sample : summary.samples) {
    Json entry{{"source", sample.source}, {"translation", sample.translation}};
    if (!sample.reference.empty()) entry["reference"] = sample.reference;
    if (sample.book_bleu) entry["book_bleu"] = *sample.book_bleu;
    report["samples"].push_back(std::move(entry));
  }
  directory.write("report.json", report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

// Tabs and line breaks inside a text, which a configuration may hold, become spaces.
void write_samples(const RunDirectory& directory, const std::vector<Sample>& samples) {
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
  directory.write("samples/samples.tsv", table);
}

}  // namespace attn
