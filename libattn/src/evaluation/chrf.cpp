#include "attn/evaluation/chrf.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "attn/core/error.h"
#include "attn/text/lower_case.h"
#include "attn/text/utf8.h"
#include "evaluation/ngrams.h"
#include "evaluation/white_space.h"

namespace attn {
namespace {

constexpr std::size_t counts_an_order = 3;  // n-grams of the hypothesis, of the reference, matches

bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/// Words with one punctuation mark cut off: the last one, or else the first.
std::vector<std::string> words_and_punctuation(std::string_view text) {
  std::vector<std::string> words;
  for (std::string& word : split_at_white_space(text)) {
    if (word.size() > 1 && is_ascii_punctuation(word.back())) {
      words.push_back(word.substr(0, word.size() - 1));
      words.push_back(word.substr(word.size() - 1));
    } else if (word.size() > 1 && is_ascii_punctuation(word.front())) {
      words.push_back(word.substr(0, 1));
      words.push_back(word.substr(1));
    } else {
      words.push_back(std::move(word));
    }
  }
  return words;
}

void append_counts(std::vector<double>& counts, std::u32string_view hypothesis, std::u32string_view reference,
                   std::size_t highest_order) {
  for (std::size_t n = 1; n <= highest_order; ++n) {
    const std::size_t reference_total = ngram_total(reference, n);
    const std::size_t hypothesis_total = reference_total > 0 ? ngram_total(hypothesis, n) : 0;
    const std::size_t matches =
        hypothesis_total > 0 ? count_matches(count_ngrams(hypothesis, n), count_ngrams(reference, n)) : 0;
    for (const std::size_t count : {hypothesis_total, reference_total, matches}) {
      counts.push_back(static_cast<double>(count));
    }
  }
}

/// F_beta of precision and recall, each averaged over the orders that both sides have; less than 0 where
/// nothing matches or no order is on both sides.
template<typename Real>
Real f_score(std::span<const Real> totals, std::size_t beta) {
  const auto factor = static_cast<Real>(beta * beta);
  Real precision = 0, recall = 0, orders = 0;
  for (std::size_t i = 0; i + counts_an_order <= totals.size(); i += counts_an_order) {
    const Real hypothesis = totals[i], reference = totals[i + 1], matches = totals[i + 2];
    if (hypothesis == 0 || reference == 0) continue;
    precision += matches / hypothesis;
    recall += matches / reference;
    orders += 1;
  }
  if (precision + recall == 0) return -1;
  precision /= orders;
  recall /= orders;
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

class CharacterF final : public Metric {
 public:
  explicit CharacterF(const ChrfOptions& options) : options_(options) {}

  std::string name() const override {
    return fmt::format("chrF{}{}", options_.beta, std::string(options_.word_order, '+'));
  }

  std::string settings() const override {
    return fmt::format("case:{}|eff:yes|nc:{}|nw:{}|space:{}", options_.lowercase ? "lc" : "mixed",
                       options_.character_order, options_.word_order, options_.white_space ? "yes" : "no");
  }

  std::size_t width() const override {
    return counts_an_order * (options_.character_order + options_.word_order);
  }

  std::vector<double> statistics(std::string_view hypothesis,
                                 std::span<const std::string> references) const override {
    const Sentence candidate = sentence(hypothesis);
    std::vector<double> best;
    double best_score = -2.0;
    for (const std::string& reference : references) {
      std::vector<double> counts = counts_of(candidate, sentence(reference));
      const double score = std::max(0.0, f_score(std::span<const double>(counts), options_.beta));
      if (score > best_score) best = std::move(counts);
      best_score = std::max(best_score, score);
    }
    return best;
  }

  double score(std::span<const double> totals) const override {
    return std::max(0.0, f_score(totals, options_.beta));
  }

  SampleScore sample_score(std::span<const float> totals) const override {
    const float score = f_score(totals, options_.beta);
    if (score < 0) return {};
    return {score, true};
  }

 private:
  struct Sentence {
    std::u32string characters;
    std::vector<std::string> words;
  };

  Sentence sentence(std::string_view text) const {
    const std::string lowered = options_.lowercase ? lower_case_utf8(text) : std::string(text);
    Sentence sentence{decode_utf8(lowered), {}};
    if (!options_.white_space) std::erase_if(sentence.characters, is_unicode_space);
    if (options_.word_order > 0) sentence.words = words_and_punctuation(lowered);
    return sentence;
  }

  std::vector<double> counts_of(const Sentence& hypothesis, const Sentence& reference) const {
    std::vector<double> counts;
    append_counts(counts, hypothesis.characters, reference.characters, options_.character_order);
    WordNumbers numbers;
    const std::u32string hypothesis_words = numbers.number(hypothesis.words);
    append_counts(counts, hypothesis_words, numbers.number(reference.words), options_.word_order);
    return counts;
  }

  ChrfOptions options_;
};

}  // namespace

std::unique_ptr<const Metric> chrf_metric(const ChrfOptions& options) {
  if (options.character_order + options.word_order == 0) {
    fail(ExitCode::usage, "chrF needs n-grams of characters or of words; both orders are 0");
  }
  return std::make_unique<CharacterF>(options);
}

Chrf chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
          const ChrfOptions& options) {
  const auto metric = chrf_metric(options);
  const std::vector<double> totals = totals_of(segment_statistics(*metric, hypotheses, references));
  Chrf result{metric->score(totals), {}, signature_of(*metric, references)};
  for (std::size_t i = 0; i + counts_an_order <= totals.size(); i += counts_an_order) {
    result.statistics.push_back({static_cast<std::size_t>(totals[i]), static_cast<std::size_t>(totals[i + 1]),
                                 static_cast<std::size_t>(totals[i + 2])});
  }
  return result;
}

Chrf chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
          const ChrfOptions& options) {
  return chrf(hypotheses, one_reference_each(references), options);
}

}  // namespace attn
