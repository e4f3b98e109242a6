#include <algorithm>
#include <cmath>

#include "attn/core/error.h"
#include "attn/evaluation/bleu.h"
#include "evaluation/ngrams.h"

namespace attn {
namespace {

std::vector<std::string> split_at_single_spaces(std::string_view text) {
  std::vector<std::string> tokens;
  while (true) {
    const std::size_t space = text.find(' ');
    tokens.emplace_back(text.substr(0, space));
    if (space == std::string_view::npos) return tokens;
    text.remove_prefix(space + 1);
  }
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

}  // namespace attn
