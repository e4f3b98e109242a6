#include "evaluation.h"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace

Evaluation::Evaluation(const EvaluationOptions& options, const cli::Messages& messages)
    : options_(options), messages_(messages) {
  for (const std::string& path : options_.references) {
    std::vector<std::string> lines = read(path);
    if (path == options_.references.front()) references_.resize(lines.size());
    check_count(path, lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) references_[i].push_back(std::move(lines[i]));
  }
  if (!options_.compare_with.empty()) {
    baseline_ = read(options_.compare_with);
    check_count(options_.compare_with, baseline_.size());
  }
}

std::vector<std::string> Evaluation::read(const std::string& path) {
  TextLines text = read_lines(path);
  bad_lines_ += text.report.lines_with_replacements;
  if (const auto warning = text.report.warning()) messages_.warning("{}", *warning);
  return std::move(text.lines);
}

void Evaluation::check_count(const std::string& name, std::size_t translations) const {
  if (translations != references_.size()) {
    fail_count(name, translations, options_.references.front(), references_.size());
  }
}

Scores Evaluation::scores(const Metric& metric, std::span<const std::string> translations) const {
  const auto statistics = segment_statistics(metric, translations, references_);
  const std::vector<double> totals = totals_of(statistics);
  Scores scores;
  scores.name = metric.name();
  scores.score = metric.score(totals);
  scores.details = metric.details(totals);
  scores.signature = signature_of(metric, references_,
                                  options_.resamples() ? std::optional(options_.bootstrap) : std::nullopt);
  if (!options_.compare_with.empty()) {
    const auto baseline = segment_statistics(metric, baseline_, references_);
    const auto compared = paired_bootstrap(metric, baseline, statistics, options_.bootstrap);
    scores.confidence = compared.system;
    scores.baseline_score = metric.score(totals_of(baseline));
    scores.baseline_confidence = compared.baseline;
    scores.p_value = compared.p_value;
  } else if (options_.confidence) {
    scores.confidence = confidence_interval(metric, statistics, options_.bootstrap);
  }
  return scores;
}

std::string Evaluation::report(const std::string& name, std::span<const std::string> translations,
                               bool json) const {
  check_count(name, translations.size());
  const bool compares = !options_.compare_with.empty();
  std::string lines;
  Json object;
  object["translations"] = name;
  if (compares) object["baseline"] = options_.compare_with;
  object["references"] = options_.references;
  object["segments"] = translations.size();
  object["metrics"] = Json::array();
  for (const auto& metric : metrics_of(options_)) {
    const Scores found = scores(*metric, translations);
    object["metrics"].push_back(as_json(found));
    lines += compares ? as_comparison(found, options_.compare_with, name) : as_line(found);
  }
  return json ? object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" : lines;
}

}  // namespace attn::translate
