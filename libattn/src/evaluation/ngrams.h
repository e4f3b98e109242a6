#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attn/core/error.h"

namespace attn {

/// How often each n-gram of a sequence of symbols occurs; the keys are views of that sequence.
using NgramCounts = std::unordered_map<std::u32string_view, std::size_t>;

inline NgramCounts count_ngrams(std::u32string_view symbols, std::size_t n) {
  NgramCounts counts;
  for (std::size_t i = 0; i + n <= symbols.size(); ++i) ++counts[symbols.substr(i, n)];
  return counts;
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

/// Throws Error (input_data) unless there are segments and each has a reference.
inline void check_segments(std::span<const std::string> hypotheses,
                           std::span<const std::vector<std::string>> references) {
  if (hypotheses.empty()) fail(ExitCode::input_data, "there are no hypotheses to score");
  if (hypotheses.size() != references.size()) {
    fail(ExitCode::input_data, "{} hypotheses cannot be scored against {} references; each needs its own",
         hypotheses.size(), references.size());
  }
  for (std::size_t i = 0; i < references.size(); ++i) {
    if (references[i].empty()) fail(ExitCode::input_data, "segment {} has no reference", i + 1);
  }
}

/// The number of references a segment for a signature, or "var".
inline std::string reference_count_label(std::span<const std::vector<std::string>> references) {
  for (const auto& segment : references) {
    if (segment.size() != references.front().size()) return "var";
  }
  return std::to_string(references.front().size());
}

/// Each reference as a list of its own.
inline std::vector<std::vector<std::string>> one_reference_each(std::span<const std::string> references) {
  std::vector<std::vector<std::string>> lists;
  lists.reserve(references.size());
  for (const std::string& reference : references) lists.push_back({reference});
  return lists;
}

/// The parts of `text` between Unicode white space, as Python's str.split() gives them.
std::vector<std::string> split_at_white_space(std::string_view text);

}  // namespace attn
