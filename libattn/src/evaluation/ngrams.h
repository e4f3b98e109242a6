#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace attn {

/// How often each n-gram of a sequence of symbols occurs; the keys are views of that sequence.
using NgramCounts = std::unordered_map<std::u32string_view, std::size_t>;

inline NgramCounts count_ngrams(std::u32string_view symbols, std::size_t n) {
  NgramCounts counts;
  for (std::size_t i = 0; i + n <= symbols.size(); ++i) ++counts[symbols.substr(i, n)];
  return counts;
}

/// The number of n-grams of a sequence of symbols.
inline std::size_t ngram_total(std::u32string_view symbols, std::size_t n) {
  return symbols.size() >= n ? symbols.size() - n + 1 : 0;
}

/// The n-grams that both have, each counted as often as the one that has fewer.
inline std::size_t count_matches(const NgramCounts& a, const NgramCounts& b) {
  std::size_t matches = 0;
  for (const auto& [ngram, count] : a) {
    const auto other = b.find(ngram);
    if (other != b.end()) matches += std::min(count, other->second);
  }
  return matches;
}

/// Numbers words in order of appearance, so that a sentence becomes a sequence of symbols as characters are.
class WordNumbers {
 public:
  std::u32string number(std::span<const std::string> words) {
    std::u32string symbols;
    for (const std::string& word : words) {
      symbols.push_back(numbers_.try_emplace(word, static_cast<char32_t>(numbers_.size())).first->second);
    }
    return symbols;
  }

 private:
  std::unordered_map<std::string, char32_t> numbers_;
};

}  // namespace attn
