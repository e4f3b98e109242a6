#include "report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace attn::translate {
namespace {

using Json = nlohmann::ordered_json;

// Digits that hold whatever the batch was; more would only show how sums were rounded.
double rounded(double value) {
  return std::round(value * 1e5) / 1e5;
}

// Of a TranslatedText or a ScoredLine.
template<typename Aligned>
std::string links(const Aligned& aligned, const Options& options) {
  return options.alignments.kind == "soft" ? to_weighted_pharaoh(aligned.alignment_weights)
                                           : to_pharaoh(aligned.alignment);
}

template<typename Aligned>
void describe_alignment(Json& object, const Aligned& aligned, const Options& options) {
  if (!options.alignments.wanted()) return;
  object["alignment"] = aligned.alignment;
  if (options.alignments.kind != "soft") return;
  object["alignment_weights"] = Json::array();
  for (std::size_t t = 0; t < aligned.alignment_weights.targets; ++t) {
    Json row = Json::array();
    for (const double weight : aligned.alignment_weights.row(t)) row.push_back(rounded(weight));
    object["alignment_weights"].push_back(std::move(row));
  }
}

void describe(Json& object, const TranslatedText& translated, const Options& options) {
  object["translation"] = translated.text;
  object["score"] = rounded(translated.hypothesis.score);
  object["log_probability"] = rounded(translated.hypothesis.log_probability);
  if (options.search.coverage_penalty != 0.0) object["coverage"] = rounded(translated.hypothesis.coverage);
  object["finished"] = translated.hypothesis.finished;
  object["tokens"] = translated.tokens;
  describe_alignment(object, translated, options);
}

// Moses' features: names with their values, unweighted.
std::string features(const Hypothesis& hypothesis, const Options& options) {
  const std::size_t length = hypothesis.tokens.size() + (hypothesis.finished ? 1 : 0);
  std::string text = fmt::format("LogProbability= {:.4f} Length= {}", hypothesis.log_probability, length);
  if (options.search.coverage_penalty != 0.0) text += fmt::format(" Coverage= {:.4f}", hypothesis.coverage);
  return text;
}

std::string token_scores(const ScoredLine& scored) {
  std::string text;
  for (std::size_t i = 0; i < scored.token_log_probabilities.size(); ++i) {
    text += fmt::format("{}{}|{:.4f}", i == 0 ? "" : " ",
                        i < scored.target.tokens.size() ? scored.target.tokens[i] : "<eos>",
                        scored.token_log_probabilities[i]);
  }
  return text;
}

std::string line_of(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_line(const Translation& translation, const InputLine& source, const Options& options) {
  Json object;
  object["line"] = translation.line;
  object["source"] = source.text;
  describe(object, translation.best.front(), options);
  object["source_tokens"] = translation.source.tokens;
  object["cropped"] = translation.source.cropped();
  if (translation.source.cropped()) object["source_tokens_found"] = translation.source.tokens_found;
  object["invalid_utf8"] = source.replaced;
  if (translation.out_of_memory) object["out_of_memory"] = true;
  if (options.list()) {
    object["n_best"] = Json::array();
    for (const TranslatedText& translated : translation.best) {
      object["n_best"].emplace_back();
      describe(object["n_best"].back(), translated, options);
    }
  }
  return line_of(object);
}

}  // namespace

std::string format(const Translation& translation, const InputLine& source, const Options& options) {
  if (options.json) return json_line(translation, source, options);
  std::string lines;
  for (const TranslatedText& translated : translation.best) {
    if (options.list()) lines += fmt::format("{} ||| ", translation.line - 1);
    lines += translated.text;
    if (options.list()) lines += " ||| " + features(translated.hypothesis, options);
    if (options.scores || options.list()) lines += fmt::format(" ||| {:.4f}", translated.hypothesis.score);
    if (options.alignments.appended()) lines += " ||| " + links(translated, options);
    lines += '\n';
  }
  return lines;
}

std::string format(const ScoredLine& scored, const std::string& source, const std::string& target,
                   const Options& options) {
  if (!options.json) {
    return fmt::format("{:.4f}{}{}\n", scored.log_probability,
                       options.score_tokens ? " ||| " + token_scores(scored) : "",
                       options.alignments.appended() ? " ||| " + links(scored, options) : "");
  }
  Json object;
  object["line"] = scored.line;
  object["source"] = source;
  object["target"] = target;
  object["log_probability"] = rounded(scored.log_probability);
  object["tokens"] = scored.target.tokens;
  object["token_log_probabilities"] = Json::array();
  for (const double value : scored.token_log_probabilities)
    object["token_log_probabilities"].push_back(rounded(value));
  describe_alignment(object, scored, options);
  object["cropped"] = scored.source.cropped() || scored.target.cropped();
  return line_of(object);
}

std::string alignment_lines(const Translation& translation, const Options& options) {
  std::string lines;
  for (const TranslatedText& translated : translation.best) {
    lines += links(translated, options) + '\n';
    if (options.json) break;
  }
  return lines;
}

std::string alignment_lines(const ScoredLine& scored, const Options& options) {
  return links(scored, options) + '\n';
}

}  // namespace attn::translate
