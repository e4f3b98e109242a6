#include "data_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "attn/cli/progress.h"

namespace attn::train {
namespace {

using Json = nlohmann::ordered_json;

std::string size_of(std::uint64_t bytes) {
  constexpr double kibi = 1024, mebi = kibi * kibi, gibi = kibi * mebi;
  const auto number = static_cast<double>(bytes);
  if (number >= gibi) return fmt::format("{:.1f} GiB", number / gibi);
  if (number >= mebi) return fmt::format("{:.1f} MiB", number / mebi);
  return fmt::format("{:.1f} KiB", number / kibi);
}

// "12.3 ms" where "0:00" says nothing.
std::string time_of(double seconds) {
  return seconds < 10 ? fmt::format("{:.1f} ms", 1e3 * seconds) : cli::format_duration(seconds);
}

using Rows = std::vector<std::pair<std::string, std::string>>;

Rows rows_of(const ExperimentConfig& config, const DryRun& d) {
  Rows rows{{"parameters", fmt::format("{}", d.parameters)},
            {"vocabularies", fmt::format("{} source, {} target", d.source_vocabulary, d.target_vocabulary)},
            {"training pairs", fmt::format("{}, {} target tokens", d.training_pairs, d.target_tokens)},
            {"updates", fmt::format("{} an epoch, {} in all", d.updates_per_epoch, d.planned_updates)},
            {"padding", fmt::format("{:.1f} % of the positions", 100 * d.padding)},
            {"device memory", fmt::format("{} at the peak", size_of(d.peak_bytes))}};
  for (const DryRun::Measurement& m : d.measurements) {
    rows.emplace_back(rows.size() == 6 ? "measured batches" : "",
                      fmt::format("{} x {}+{} tokens: {:.1f} ms", m.sentences, m.source_steps, m.target_steps,
                                  1e3 * m.seconds));
  }
  rows.emplace_back("time of an update", fmt::format("{:.1f} ms on average", 1e3 * d.seconds_per_update));
  rows.emplace_back("time of an epoch", time_of(d.seconds_per_epoch));
  if (d.validations > 0) {
    rows.emplace_back("time of a validation",
                      fmt::format("{}{}, {} in all", time_of(d.seconds_per_validation),
                                  config.validation.bleu ? " with translating" : "", d.validations));
  }
  rows.emplace_back("time in all", "about " + time_of(d.estimated_seconds));
  const std::uint64_t disk = d.checkpoint_bytes * static_cast<std::uint64_t>(d.checkpoints);
  rows.emplace_back(
      "checkpoints",
      fmt::format("{} each, {} at most: {}{}", size_of(d.checkpoint_bytes), d.checkpoints, size_of(disk),
                  d.free_bytes > 0 ? fmt::format(" of {} free", size_of(d.free_bytes)) : std::string()));
  return rows;
}

}  // namespace

std::string text_report(const ExperimentConfig& config, const DryRun& dry_run) {
  const Rows rows = rows_of(config, dry_run);
  std::size_t width = 0;
  for (const auto& [name, value] : rows) width = std::max(width, name.size());
  std::string text = config.name + "\n";
  for (const auto& [name, value] : rows) text += fmt::format("  {:<{}}  {}\n", name, width, value);
  return text;
}

std::string json_report(const ExperimentConfig& config, const DryRun& d) {
  Json measured = Json::array();
  for (const DryRun::Measurement& m : d.measurements) {
    measured.push_back({{"sentences", m.sentences},
                        {"source_steps", m.source_steps},
                        {"target_steps", m.target_steps},
                        {"seconds", m.seconds}});
  }
  const Json json{{"name", config.name},
                  {"parameters", d.parameters},
                  {"source_vocabulary", d.source_vocabulary},
                  {"target_vocabulary", d.target_vocabulary},
                  {"training_pairs", d.training_pairs},
                  {"target_tokens_per_epoch", d.target_tokens},
                  {"updates_per_epoch", d.updates_per_epoch},
                  {"updates", d.planned_updates},
                  {"padding", d.padding},
                  {"peak_bytes", d.peak_bytes},
                  {"measurements", measured},
                  {"seconds_per_update", d.seconds_per_update},
                  {"seconds_per_epoch", d.seconds_per_epoch},
                  {"seconds_per_validation", d.seconds_per_validation},
                  {"validations", d.validations},
                  {"estimated_seconds", d.estimated_seconds},
                  {"checkpoint_bytes", d.checkpoint_bytes},
                  {"checkpoints", d.checkpoints},
                  {"free_bytes", d.free_bytes},
                  {"lint", Json::parse(lint_json(d.lint))}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

ExitCode lint_data(const Options& options, const std::vector<Plan>& plans, cli::StandardOutput& out) {
  bool found = false;
  for (const Plan& plan : plans) {
    const auto* config = std::get_if<ExperimentConfig>(&plan.config);
    if (config == nullptr)
      fail(ExitCode::usage, "--lint is for translation models; {} has no sentence pairs", plan.name());
    ExperimentConfig reporting = *config;
    reporting.data.lint = DataConfig::Lint::warn;
    const LintReport lint = prepare_data(reporting).lint;
    out.write((options.json ? lint_json(lint) : lint_text(lint)) + "\n");
    found = found || !lint.findings.empty();
  }
  out.finish();
  return options.strict && found ? ExitCode::input_data : ExitCode::ok;
}

}  // namespace attn::train
