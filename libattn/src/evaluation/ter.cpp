#include "attn/evaluation/ter.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "evaluation/ngrams.h"

namespace attn {
namespace {

class TranslationEditRate final : public Metric {
 public:
  explicit TranslationEditRate(const TerOptions& options) : options_(options) {}

  std::string name() const override { return "TER"; }
  std::size_t width() const override { return 2; }

  std::string settings() const override {
    const auto yes = [](bool value) { return value ? "yes" : "no"; };
    return fmt::format("case:{}|tok:tercom|norm:{}|punct:{}|asian:{}",
                       options_.case_sensitive ? "mixed" : "lc", yes(options_.normalized),
                       yes(!options_.no_punctuation), yes(options_.asian_support));
  }

  std::vector<double> statistics(std::string_view hypothesis,
                                 std::span<const std::string> references) const override {
    WordNumbers numbers;
    const std::u32string words = numbers.number(ter_tokens(hypothesis, options_));
    std::size_t fewest = std::numeric_limits<std::size_t>::max(), length = 0;
    for (const std::string& reference : references) {
      const std::u32string reference_words = numbers.number(ter_tokens(reference, options_));
      fewest = std::min(fewest, translation_edits(words, reference_words).edits);
      length += reference_words.size();
    }
    return {static_cast<double>(fewest),
            static_cast<double>(length) / static_cast<double>(references.size())};
  }

  double score(std::span<const double> totals) const override {
    if (totals[1] > 0) return 100 * (totals[0] / totals[1]);
    return totals[0] > 0 ? 100.0 : 0.0;
  }

  SampleScore sample_score(std::span<const float> totals) const override {
    if (totals[1] > 0) return {100 * (totals[0] / totals[1]), true};
    return {totals[0] > 0 ? 100.0 : 0.0, false};
  }

 private:
  TerOptions options_;
};

}  // namespace

std::unique_ptr<const Metric> ter_metric(const TerOptions& options) {
  return std::make_unique<TranslationEditRate>(options);
}

Ter ter(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
        const TerOptions& options) {
  const auto metric = ter_metric(options);
  const std::vector<double> totals = totals_of(segment_statistics(*metric, hypotheses, references));
  return {metric->score(totals), static_cast<std::size_t>(totals[0]), totals[1],
          signature_of(*metric, references)};
}

Ter ter(std::span<const std::string> hypotheses, std::span<const std::string> references,
        const TerOptions& options) {
  return ter(hypotheses, one_reference_each(references), options);
}

}  // namespace attn
