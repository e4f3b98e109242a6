#include "evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "attn/core/error.h"

namespace attn::translate {
namespace {

using Json = nlohmann::ordered_json;

constexpr double significant = 0.05;

Json as_json(double score, const std::optional<Confidence>& confidence) {
  Json object;
  object["score"] = score;
  if (confidence) {
    object["confidence_mean"] = confidence->mean;
    object["confidence_half_width"] = confidence->half_width;
  }
  return object;
}

Json as_json(const Scores& scores) {
  Json object;
  object["name"] = scores.name;
  object.update(as_json(scores.score, scores.confidence));
  object["signature"] = scores.signature;
  if (!scores.details.empty()) object["details"] = scores.details;
  if (scores.baseline_score) {
    object["baseline"] = as_json(*scores.baseline_score, scores.baseline_confidence);
    object["p_value"] = *scores.p_value;
  }
  return object;
}

std::string with_confidence(double score, const std::optional<Confidence>& confidence) {
  if (!confidence) return fmt::format("{:.2f}", score);
  return fmt::format("{:.2f} (μ = {:.2f} ± {:.2f})", score, confidence->mean, confidence->half_width);
}

std::string as_line(const Scores& scores) {
  return fmt::format("{}|{} = {}{}{}\n", scores.name, scores.signature,
                     with_confidence(scores.score, scores.confidence), scores.details.empty() ? "" : " ",
                     scores.details);
}

std::string as_comparison(const Scores& scores, const std::string& baseline, const std::string& name) {
  const std::size_t width = std::max(baseline.size(), name.size());
  return fmt::format("{}|{}\n  {:{}}  {}\n  {:{}}  {}  {:+.2f}  p = {:.4f}{}\n", scores.name,
                     scores.signature, baseline, width,
                     with_confidence(*scores.baseline_score, scores.baseline_confidence), name, width,
                     with_confidence(scores.score, scores.confidence), scores.score - *scores.baseline_score,
                     *scores.p_value, *scores.p_value <= significant ? "*" : "");
}

[[noreturn]] void fail_count(const std::string& name, std::size_t count, const std::string& reference,
                             std::size_t references) {
  fail(ExitCode::input_data,
       "{} has {} lines and {} has {}; line i of one must belong to line i of the other",
       name == "-" ? "standard input" : name, count, reference == "-" ? "standard input" : reference,
       references);
}

// Pipes can be read only once.
bool is_countable(const std::string& path) {
  std::error_code ignored;
  return path != "-" && std::filesystem::is_regular_file(path, ignored);
}

std::size_t count_rest(LineReader& reader) {
  while (reader.next()) {
  }
  return reader.report().lines;
}

}  // namespace

Evaluation::Evaluation(const EvaluationOptions& options, const cli::Messages& messages)
    : options_(options), messages_(messages), paths_(options.references) {
  if (!options_.compare_with.empty()) paths_.push_back(options_.compare_with);
  for (const std::string& path : paths_) {
    readers_.emplace_back(path);
    if (!is_countable(path)) continue;
    LineReader counter(path);
    const std::size_t lines = count_rest(counter);
    if (counted_path_.empty()) {
      counted_path_ = path;
      counted_lines_ = lines;
    }
    check_count(path, lines);
  }
  for (auto& metric : metrics_of(options_)) {
    const std::size_t width = metric->width();
    const Collected none{std::vector<double>(width), {.width = width, .values = {}}};
    measures_.push_back({std::move(metric), none, none});
  }
}

void Evaluation::check_count(const std::string& name, std::size_t translations) const {
  if (!counted_path_.empty() && translations != counted_lines_)
    fail_count(name, translations, counted_path_, counted_lines_);
}

void Evaluation::collect(Collected& collected, const Metric& metric, const std::string& translation,
                         const std::vector<std::string>& references) const {
  const std::vector<double> counts = metric.statistics(translation, references);
  for (std::size_t i = 0; i < counts.size(); ++i) collected.totals[i] += counts[i];
  if (!options_.resamples()) return;
  std::vector<double>& values = collected.statistics.values;
  values.insert(values.end(), counts.begin(), counts.end());
}

void Evaluation::add(const std::string& translation) {
  ++translations_;
  std::vector<std::string> lines;
  for (LineReader& reader : readers_) {
    std::optional<std::string> line = reader.next();
    if (!line) ended_ = true;
    lines.push_back(std::move(line).value_or(""));
  }
  if (ended_) return;  // said in the end, with all counts
  std::optional<std::string> baseline;
  if (!options_.compare_with.empty()) {
    baseline = std::move(lines.back());
    lines.pop_back();
  }
  for (Measure& measure : measures_) {
    collect(measure.system, *measure.metric, translation, lines);
    if (baseline) collect(measure.baseline, *measure.metric, *baseline, lines);
  }
}

void Evaluation::check_counts(const std::string& source) {
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    const std::size_t lines = count_rest(readers_[i]);
    if (lines != translations_) fail_count(source, translations_, paths_[i], lines);
  }
  if (translations_ == 0) fail(ExitCode::input_data, "there are no hypotheses to score");
}

Scores Evaluation::scores(const Measure& measure) const {
  const Metric& metric = *measure.metric;
  const std::vector<double>& totals = measure.system.totals;
  const std::vector<std::vector<std::string>> one_segment(
      1, std::vector<std::string>(options_.references.size()));
  Scores scores;
  scores.name = metric.name();
  scores.score = metric.score(totals);
  scores.details = metric.details(totals);
  scores.signature = signature_of(metric, one_segment,
                                  options_.resamples() ? std::optional(options_.bootstrap) : std::nullopt);
  if (!options_.compare_with.empty()) {
    const auto compared =
        paired_bootstrap(metric, measure.baseline.statistics, measure.system.statistics, options_.bootstrap);
    scores.confidence = compared.system;
    scores.baseline_score = metric.score(measure.baseline.totals);
    scores.baseline_confidence = compared.baseline;
    scores.p_value = compared.p_value;
  } else if (options_.confidence) {
    scores.confidence = confidence_interval(metric, measure.system.statistics, options_.bootstrap);
  }
  return scores;
}

std::string Evaluation::report(const std::string& source, const std::string& name, bool json) {
  check_counts(source);
  for (const LineReader& reader : readers_) {
    bad_lines_ += reader.report().lines_with_replacements;
    if (const auto warning = reader.report().warning()) messages_.warning("{}", *warning);
  }
  const bool compares = !options_.compare_with.empty();
  std::string lines;
  Json object;
  object["translations"] = name;
  if (compares) object["baseline"] = options_.compare_with;
  object["references"] = options_.references;
  object["segments"] = translations_;
  object["metrics"] = Json::array();
  for (const Measure& measure : measures_) {
    const Scores found = scores(measure);
    object["metrics"].push_back(as_json(found));
    lines += compares ? as_comparison(found, options_.compare_with, name) : as_line(found);
  }
  return json ? object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" : lines;
}

}  // namespace attn::translate
