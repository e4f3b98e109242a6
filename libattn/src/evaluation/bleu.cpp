#include "attn/evaluation/bleu.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/core/error.h"
#include "attn/core/version.h"
#include "evaluation/ngrams.h"

namespace attn {
namespace {

constexpr std::size_t highest_order = 4;

std::vector<std::string> split_at_single_spaces(std::string_view text) {
  std::vector<std::string> tokens;
  while (true) {
    const std::size_t space = text.find(' ');
    tokens.emplace_back(text.substr(0, space));
    if (space == std::string_view::npos) return tokens;
    text.remove_prefix(space + 1);
  }
}

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

void add_segment(CorpusBleu& bleu, std::u32string_view hypothesis,
                 std::span<const std::u32string> references) {
  bleu.hypothesis_length += hypothesis.size();
  std::pair<std::size_t, std::size_t> closest = {std::u32string::npos, 0};
  for (const auto& reference : references) {
    closest = std::min(closest, std::pair(distance(hypothesis.size(), reference.size()), reference.size()));
  }
  bleu.reference_length += closest.second;
  for (std::size_t n = 1; n <= highest_order; ++n) {
    bleu.counts[n - 1] += count_matches(count_ngrams(hypothesis, n), most_in_one_reference(references, n));
    bleu.totals[n - 1] += hypothesis.size() >= n ? hypothesis.size() - n + 1 : 0;
  }
}

double brevity_penalty(std::size_t hypothesis_length, std::size_t reference_length) {
  if (hypothesis_length >= reference_length) return 1.0;
  if (hypothesis_length == 0) return 0.0;
  return std::exp(1.0 - static_cast<double>(reference_length) / static_cast<double>(hypothesis_length));
}

/// Precisions in percent; an order without a match gets half of what the order before it without a match got.
void set_smoothed_precisions(CorpusBleu& bleu) {
  double divisor = 1.0;
  for (std::size_t i = 0; i < highest_order && bleu.totals[i] > 0; ++i) {
    const auto total = static_cast<double>(bleu.totals[i]);
    if (bleu.counts[i] == 0) {
      divisor *= 2.0;
      bleu.precisions[i] = 100.0 / (divisor * total);
    } else {
      bleu.precisions[i] = 100.0 * static_cast<double>(bleu.counts[i]) / total;
    }
  }
}

void set_score(CorpusBleu& bleu) {
  bleu.brevity_penalty = brevity_penalty(bleu.hypothesis_length, bleu.reference_length);
  if (std::all_of(bleu.counts.begin(), bleu.counts.end(), [](std::size_t count) { return count == 0; }))
    return;
  set_smoothed_precisions(bleu);
  double log_sum = 0.0;
  for (const double precision : bleu.precisions) log_sum += std::log(precision);
  bleu.score = bleu.brevity_penalty * std::exp(log_sum / static_cast<double>(highest_order));
}

}  // namespace

BookBleu book_bleu(std::string_view prediction, std::string_view label, std::size_t k) {
  if (k == 0) fail(ExitCode::config, "the book's BLEU needs n-grams of at least 1 token, found k = 0");
  WordNumbers numbers;
  const std::u32string predicted = numbers.number(split_at_single_spaces(prediction));
  const std::u32string expected = numbers.number(split_at_single_spaces(label));
  const auto length = static_cast<double>(predicted.size());
  BookBleu bleu;
  bleu.score = std::exp(std::min(0.0, 1.0 - static_cast<double>(expected.size()) / length));
  for (std::size_t n = 1; n <= std::min(k, predicted.size()); ++n) {
    const std::size_t matches = count_matches(count_ngrams(predicted, n), count_ngrams(expected, n));
    bleu.precisions.push_back(static_cast<double>(matches) / static_cast<double>(predicted.size() - n + 1));
    bleu.score *= std::pow(bleu.precisions.back(), std::pow(0.5, static_cast<double>(n)));
  }
  return bleu;
}

CorpusBleu corpus_bleu(std::span<const std::string> hypotheses,
                       std::span<const std::vector<std::string>> references, BleuTokenizer tokenizer) {
  check_segments(hypotheses, references);
  CorpusBleu bleu;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    WordNumbers numbers;
    const std::u32string hypothesis = numbers.number(bleu_tokens(hypotheses[i], tokenizer));
    std::vector<std::u32string> numbered;
    for (const auto& reference : references[i])
      numbered.push_back(numbers.number(bleu_tokens(reference, tokenizer)));
    add_segment(bleu, hypothesis, numbered);
  }
  set_score(bleu);
  bleu.signature = fmt::format("nrefs:{}|case:mixed|eff:no|tok:{}|smooth:exp|impl:attn|version:{}",
                               reference_count_label(references),
                               tokenizer == BleuTokenizer::none ? "none" : "13a", version());
  return bleu;
}

CorpusBleu corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                       BleuTokenizer tokenizer) {
  return corpus_bleu(hypotheses, one_reference_each(references), tokenizer);
}

}  // namespace attn
