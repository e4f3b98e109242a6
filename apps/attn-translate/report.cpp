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

std::string pharaoh(const std::vector<AlignmentLink>& links) {
  std::string text;
  for (const auto& [source, target] : links) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{}-{}", source, target);
  }
  return text;
}

void describe(Json& object, const TranslatedText& translated, const Options& options) {
  object["translation"] = translated.text;
  object["score"] = rounded(translated.hypothesis.score);
  object["log_probability"] = rounded(translated.hypothesis.log_probability);
  object["finished"] = translated.hypothesis.finished;
  object["tokens"] = translated.tokens;
  if (options.alignments) object["alignment"] = translated.alignment;
}

std::string line_of(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_line(const Translation& translation, const SourceLine& source, const Options& options) {
  Json object;
  object["line"] = translation.line;
  object["source"] = source.text;
  describe(object, translation.best.front(), options);
  object["source_tokens"] = translation.source.tokens;
  object["cropped"] = translation.source.cropped();
  if (translation.source.cropped()) object["source_tokens_found"] = translation.source.tokens_found;
  object["invalid_utf8"] = source.replaced;
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

std::string format(const Translation& translation, const SourceLine& source, const Options& options) {
  if (options.json) return json_line(translation, source, options);
  std::string lines;
  for (const TranslatedText& translated : translation.best) {
    if (options.list()) lines += fmt::format("{} ||| ", translation.line - 1);
    lines += translated.text;
    if (options.scores || options.list()) lines += fmt::format(" ||| {:.4f}", translated.hypothesis.score);
    if (options.alignments) lines += " ||| " + pharaoh(translated.alignment);
    lines += '\n';
  }
  return lines;
}

std::string format(const ScoredLine& scored, const std::string& source, const std::string& target,
                   const Options& options) {
  if (!options.json) return fmt::format("{:.4f}\n", scored.log_probability);
  Json object;
  object["line"] = scored.line;
  object["source"] = source;
  object["target"] = target;
  object["log_probability"] = rounded(scored.log_probability);
  object["tokens"] = scored.target.tokens;
  object["token_log_probabilities"] = Json::array();
  for (const double value : scored.token_log_probabilities)
    object["token_log_probabilities"].push_back(rounded(value));
  object["cropped"] = scored.source.cropped() || scored.target.cropped();
  return line_of(object);
}

}  // namespace attn::translate
