#include "attn/decoding/alignment_words.h"

#include <algorithm>

#include "attn/core/error.h"
#include "attn/text/utf8.h"

namespace attn {
namespace {

void require_tokens(const char* side, std::size_t weights, std::size_t tokens) {
  if (weights > tokens)
    fail(ExitCode::internal, "an alignment with {} {} tokens of a text that has {}", weights, side, tokens);
}

// Adds up the columns of the tokens of each word.
AlignmentMatrix sum_columns(const AlignmentMatrix& weights, const TokenizedText& source) {
  require_tokens("source", weights.sources, source.tokens.size());
  const auto words = words_of(source.text);
  const auto ranges = words_of_tokens(words, source.tokens.first(weights.sources));
  AlignmentMatrix sums{weights.targets, words.size(), {}};
  sums.weights.resize(sums.targets * sums.sources);
  for (std::size_t t = 0; t < weights.targets; ++t) {
    for (std::size_t s = 0; s < weights.sources; ++s) {
      for (std::size_t word = ranges[s].first; word < ranges[s].last; ++word)
        sums.weights[t * sums.sources + word] += weights.row(t)[s] / static_cast<double>(ranges[s].count());
    }
  }
  return sums;
}

AlignmentMatrix average_rows(const AlignmentMatrix& weights, const TokenizedText& target) {
  require_tokens("target", weights.targets, target.tokens.size());
  const auto words = words_of(target.text);
  const auto ranges = words_of_tokens(words, target.tokens.first(weights.targets));
  AlignmentMatrix means{words.size(), weights.sources, {}};
  means.weights.resize(means.targets * means.sources);
  std::vector<std::size_t> tokens(words.size());
  for (const WordRange& range : ranges) {
    for (std::size_t word = range.first; word < range.last; ++word) ++tokens[word];
  }
  for (std::size_t t = 0; t < weights.targets; ++t) {
    for (std::size_t word = ranges[t].first; word < ranges[t].last; ++word) {
      for (std::size_t s = 0; s < weights.sources; ++s)
        means.weights[word * means.sources + s] += weights.row(t)[s] / static_cast<double>(tokens[word]);
    }
  }
  return means;
}

}  // namespace

std::vector<TextSpan> words_of(std::string_view text) {
  std::vector<TextSpan> words;
  bool inside = false;
  for (std::size_t offset = 0; offset < text.size();) {
    const DecodedCodePoint code_point = decode_code_point(text, offset);
    const bool space = is_unicode_space(code_point.value);
    if (!space && !inside) words.push_back({offset, offset});
    offset += code_point.length;
    if (!space) words.back().end = offset;
    inside = !space;
  }
  return words;
}

std::vector<WordRange> words_of_tokens(std::span<const TextSpan> words, std::span<const Token> tokens) {
  std::vector<WordRange> ranges;
  for (const Token& token : tokens) {
    const auto first = std::partition_point(words.begin(), words.end(),
                                            [&](const TextSpan& word) { return word.end <= token.begin; });
    auto last = std::partition_point(first, words.end(),
                                     [&](const TextSpan& word) { return word.begin < token.end; });
    if (last == first && first != words.end() && first->begin == token.end) ++last;
    ranges.push_back(
        {static_cast<std::size_t>(first - words.begin()), static_cast<std::size_t>(last - words.begin())});
  }
  return ranges;
}

AlignmentMatrix word_weights(const AlignmentMatrix& weights, const TokenizedText& source,
                             const TokenizedText& target) {
  return average_rows(sum_columns(weights, source), target);
}

}  // namespace attn
