#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// Counts of the n-grams of one order.
struct ChrfStatistics {
  std::size_t hypothesis = 0;
  std::size_t reference = 0;
  std::size_t matches = 0;
};

/// A chrF score and what it was computed from.
struct Chrf {
  double score = 0.0;                      ///< 0 to 100
  std::vector<ChrfStatistics> statistics;  ///< character orders 1 to 6, then word orders
  std::string signature;  ///< how the score was made, in sacrebleu's form, naming this implementation
};

/// chrF as sacrebleu 2 defines it: code points without white space in n-grams of 1 to 6, words with
/// punctuation cut off in n-grams of 1 to `word_order`, beta 2, effective order, the best reference of each
/// segment. word_order 0 is chrF2, 2 is chrF2++. hypotheses [segments]; references [segments][references of
/// the segment]. Throws Error (input_data) when the counts differ, nothing is given, or a segment has no
/// reference. Source: Popovic, 2015 and 2017.
Chrf chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
          std::size_t word_order = 0);

/// The same with one reference a segment: references [segments].
Chrf chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
          std::size_t word_order = 0);

}  // namespace attn
