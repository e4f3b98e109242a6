#include "attn/evaluation/chrf.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "attn/core/version.h"
#include "attn/text/utf8.h"
#include "evaluation/ngrams.h"

namespace attn {
namespace {

constexpr std::size_t character_order = 6;
constexpr double beta = 2.0;

bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

std::u32string characters_without_space(std::string_view text) {
  std::u32string characters = decode_utf8(text);
  std::erase_if(characters, is_unicode_space);
  return characters;
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

std::size_t ngram_total(std::u32string_view symbols, std::size_t n) {
  return symbols.size() >= n ? symbols.size() - n + 1 : 0;
}

void append_statistics(std::vector<ChrfStatistics>& statistics, std::u32string_view hypothesis,
                       std::u32string_view reference, std::size_t highest_order) {
  for (std::size_t n = 1; n <= highest_order; ++n) {
    const std::size_t reference_total = ngram_total(reference, n);
    statistics.push_back({reference_total > 0 ? ngram_total(hypothesis, n) : 0, reference_total,
                          count_matches(count_ngrams(hypothesis, n), count_ngrams(reference, n))});
  }
}

std::vector<ChrfStatistics> segment_statistics(std::string_view hypothesis, std::string_view reference,
                                               std::size_t word_order) {
  std::vector<ChrfStatistics> statistics;
  append_statistics(statistics, characters_without_space(hypothesis), characters_without_space(reference),
                    character_order);
  WordNumbers numbers;
  const std::u32string hypothesis_words = numbers.number(words_and_punctuation(hypothesis));
  const std::u32string reference_words = numbers.number(words_and_punctuation(reference));
  append_statistics(statistics, hypothesis_words, reference_words, word_order);
  return statistics;
}

/// F_beta of precision and recall, each averaged over the orders that both sides have.
double f_score(std::span<const ChrfStatistics> statistics) {
  double precision = 0.0;
  double recall = 0.0;
  double orders = 0.0;
  for (const auto& [hypothesis, reference, matches] : statistics) {
    if (hypothesis == 0 || reference == 0) continue;
    precision += static_cast<double>(matches) / static_cast<double>(hypothesis);
    recall += static_cast<double>(matches) / static_cast<double>(reference);
    orders += 1.0;
  }
  if (precision + recall == 0.0) return 0.0;
  precision /= orders;
  recall /= orders;
  return 100.0 * (1.0 + beta * beta) * precision * recall / (beta * beta * precision + recall);
}

}  // namespace

Chrf chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
          std::size_t word_order) {
  check_segments(hypotheses, references);
  Chrf result;
  result.statistics.resize(character_order + word_order);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    std::vector<ChrfStatistics> best;
    double best_score = -1.0;
    for (const std::string& reference : references[i]) {
      auto statistics = segment_statistics(hypotheses[i], reference, word_order);
      const double score = f_score(statistics);
      if (score > best_score) best = std::move(statistics);
      best_score = std::max(best_score, score);
    }
    for (std::size_t n = 0; n < best.size(); ++n) {
      result.statistics[n].hypothesis += best[n].hypothesis;
      result.statistics[n].reference += best[n].reference;
      result.statistics[n].matches += best[n].matches;
    }
  }
  result.score = f_score(result.statistics);
  result.signature = fmt::format("nrefs:{}|case:mixed|eff:yes|nc:{}|nw:{}|space:no|impl:attn|version:{}",
                                 reference_count_label(references), character_order, word_order, version());
  return result;
}

Chrf chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
          std::size_t word_order) {
  return chrf(hypotheses, one_reference_each(references), word_order);
}

}  // namespace attn
