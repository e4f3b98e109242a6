#include "attn/evaluation/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/core/error.h"
#include "attn/text/lower_case.h"
#include "evaluation/ngrams.h"

namespace attn {
namespace {

constexpr std::size_t highest_order = 4;
// Where the counts of a segment are.
constexpr std::size_t hypothesis_length = 0, reference_length = 1, first_match = 2;
constexpr std::size_t first_total = first_match + highest_order;
constexpr std::size_t statistics_width = first_total + highest_order;

std::size_t distance(std::size_t a, std::size_t b) {
  return a > b ? a - b : b - a;
}

/// For each n-gram the most occurrences in one reference.
NgramCounts most_in_one_reference(std::span<const std::u32string> references, std::size_t n) {
  NgramCounts most;
  for (const auto& reference : references) {
    for (const auto& [ngram, count] : count_ngrams(reference, n)) {
      std::size_t& known = most[ngram];
      known = std::max(known, count);
    }
  }
  return most;
}

std::size_t closest_length(std::size_t length, std::span<const std::u32string> references) {
  std::pair<std::size_t, std::size_t> closest = {std::u32string::npos, 0};
  for (const auto& reference : references) {
    closest = std::min(closest, std::pair(distance(length, reference.size()), reference.size()));
  }
  return closest.second;
}

double brevity_penalty(double hypothesis, double reference) {
  if (hypothesis >= reference) return 1.0;
  return hypothesis > 0.0 ? std::exp(1.0 - reference / hypothesis) : 0.0;
}

double smoothing_value(const BleuOptions& options) {
  return options.smoothing_value.value_or(options.smoothing == BleuSmoothing::floor ? 0.1 : 1.0);
}

/// The precision in percent that stands for no match among `total` n-grams.
template<typename Real>
Real precision_without_match(Real total, const BleuOptions& options, Real& divisor) {
  if (options.smoothing == BleuSmoothing::exponential) {
    divisor *= 2;
    return Real(100) / (divisor * total);
  }
  return options.smoothing == BleuSmoothing::floor ? Real(100.0 * smoothing_value(options)) / total : Real(0);
}

template<typename Real>
struct Precisions {
  std::array<Real, highest_order> percent{};
  std::size_t order = highest_order;  ///< how many of them count
};

template<typename Real>
Precisions<Real> smoothed_precisions(std::span<const Real> totals, const BleuOptions& options) {
  Precisions<Real> precisions;
  Real divisor = 1;
  for (std::size_t i = 0; i < highest_order; ++i) {
    const bool add = options.smoothing == BleuSmoothing::add_k && i > 0;
    const Real added = add ? static_cast<Real>(smoothing_value(options)) : Real(0);
    const Real matches = totals[first_match + i] + added, total = totals[first_total + i] + added;
    if (total == 0) break;
    if (options.effective_order) precisions.order = i + 1;
    precisions.percent[i] =
        matches == 0 ? precision_without_match(total, options, divisor) : Real(100) * matches / total;
  }
  return precisions;
}

template<typename Real>
bool has_match(std::span<const Real> totals) {
  const auto matches = totals.subspan(first_match, highest_order);
  return std::any_of(matches.begin(), matches.end(), [](Real count) { return count != 0; });
}

template<typename Real>
double combined(const Precisions<Real>& precisions) {
  double log_sum = 0.0;
  for (std::size_t i = 0; i < precisions.order; ++i) {
    log_sum += std::log(static_cast<double>(precisions.percent[i]));
  }
  return std::exp(log_sum / static_cast<double>(precisions.order));
}

class Bleu final : public Metric {
 public:
  explicit Bleu(const BleuOptions& options) : options_(options) {}

  std::string name() const override { return "BLEU"; }
  std::size_t width() const override { return statistics_width; }

  std::string settings() const override {
    const bool valued =
        options_.smoothing == BleuSmoothing::floor || options_.smoothing == BleuSmoothing::add_k;
    return fmt::format("case:{}|eff:{}|tok:{}|smooth:{}{}", options_.lowercase ? "lc" : "mixed",
                       options_.effective_order ? "yes" : "no", name_of(options_.tokenizer),
                       name_of(options_.smoothing),
                       valued ? fmt::format("[{:.2f}]", smoothing_value(options_)) : "");
  }

  std::vector<double> statistics(std::string_view hypothesis,
                                 std::span<const std::string> references) const override {
    WordNumbers numbers;
    const std::u32string words = numbers.number(tokens(hypothesis));
    std::vector<std::u32string> reference_words;
    for (const std::string& reference : references)
      reference_words.push_back(numbers.number(tokens(reference)));
    std::vector<double> counts(statistics_width);
    counts[hypothesis_length] = static_cast<double>(words.size());
    counts[reference_length] = static_cast<double>(closest_length(words.size(), reference_words));
    for (std::size_t n = 1; n <= highest_order; ++n) {
      const auto expected = most_in_one_reference(reference_words, n);
      counts[first_match + n - 1] = static_cast<double>(count_matches(count_ngrams(words, n), expected));
      counts[first_total + n - 1] = static_cast<double>(ngram_total(words, n));
    }
    return counts;
  }

  double score(std::span<const double> totals) const override {
    return bleu_of_totals(totals, options_).score;
  }

  SampleScore sample_score(std::span<const float> totals) const override {
    if (!has_match(totals)) return {};
    const double penalty = brevity_penalty(totals[hypothesis_length], totals[reference_length]);
    return {penalty * combined(smoothed_precisions(totals, options_)), false};
  }

  std::string details(std::span<const double> totals) const override {
    const CorpusBleu bleu = bleu_of_totals(totals, options_);
    const auto length = static_cast<double>(bleu.hypothesis_length);
    const auto expected = static_cast<double>(bleu.reference_length);
    return fmt::format("{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                       fmt::join(bleu.precisions, "/"), bleu.brevity_penalty,
                       expected > 0.0 ? length / expected : 0.0, bleu.hypothesis_length,
                       bleu.reference_length);
  }

 private:
  std::vector<std::string> tokens(std::string_view text) const {
    return options_.lowercase ? bleu_tokens(lower_case_utf8(text), options_.tokenizer)
                              : bleu_tokens(text, options_.tokenizer);
  }

  BleuOptions options_;
};

}  // namespace

std::string_view name_of(BleuSmoothing smoothing) {
  switch (smoothing) {
    case BleuSmoothing::exponential:
      return "exp";
    case BleuSmoothing::floor:
      return "floor";
    case BleuSmoothing::add_k:
      return "add-k";
    case BleuSmoothing::none:
      return "none";
  }
  fail(ExitCode::internal, "there is no BLEU smoothing {}", static_cast<int>(smoothing));
}

std::unique_ptr<const Metric> bleu_metric(const BleuOptions& options) {
  if (options.smoothing_value) {
    if (options.smoothing != BleuSmoothing::floor && options.smoothing != BleuSmoothing::add_k) {
      fail(ExitCode::usage, "BLEU's smoothing '{}' has no value; floor and add-k do",
           name_of(options.smoothing));
    }
    if (!(*options.smoothing_value > 0.0)) {
      fail(ExitCode::usage, "BLEU's smoothing value must be larger than 0, found {}",
           *options.smoothing_value);
    }
  }
  return std::make_unique<Bleu>(options);
}

CorpusBleu bleu_of_totals(std::span<const double> totals, const BleuOptions& options) {
  CorpusBleu bleu;
  bleu.hypothesis_length = static_cast<std::size_t>(totals[hypothesis_length]);
  bleu.reference_length = static_cast<std::size_t>(totals[reference_length]);
  for (std::size_t i = 0; i < highest_order; ++i) {
    bleu.counts[i] = static_cast<std::size_t>(totals[first_match + i]);
    bleu.totals[i] = static_cast<std::size_t>(totals[first_total + i]);
  }
  bleu.brevity_penalty = brevity_penalty(totals[hypothesis_length], totals[reference_length]);
  if (!has_match(totals)) return bleu;
  const Precisions<double> precisions = smoothed_precisions(totals, options);
  bleu.precisions = precisions.percent;
  bleu.score = bleu.brevity_penalty * combined(precisions);
  return bleu;
}

CorpusBleu corpus_bleu(std::span<const std::string> hypotheses,
                       std::span<const std::vector<std::string>> references, const BleuOptions& options) {
  const auto metric = bleu_metric(options);
  CorpusBleu bleu = bleu_of_totals(totals_of(segment_statistics(*metric, hypotheses, references)), options);
  bleu.signature = signature_of(*metric, references);
  return bleu;
}

CorpusBleu corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                       const BleuOptions& options) {
  return corpus_bleu(hypotheses, one_reference_each(references), options);
}

}  // namespace attn
