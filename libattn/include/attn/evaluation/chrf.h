#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attn/evaluation/metric.h"

namespace attn {

/// How chrF is computed; the defaults are sacrebleu's chrF2.
struct ChrfOptions {
  std::size_t character_order = 6;  ///< code points in n-grams of 1 to so many
  std::size_t word_order = 0;       ///< words in n-grams of 1 to so many; 2 is chrF++
  std::size_t beta = 2;             ///< how much more recall counts than precision
  bool lowercase = false;
  bool white_space = false;  ///< count white space as characters
};

/// chrF as sacrebleu 2 defines it: n-grams of code points, and of words with punctuation cut off; effective
/// order; the best reference of each segment. The counts are, for each order, n-grams of the hypotheses, of
/// the references, and matches. Throws Error (usage) when both orders are 0. Source: Popovic, 2015 and 2017.
std::unique_ptr<const Metric> chrf_metric(const ChrfOptions& options = {});

/// Counts of the n-grams of one order.
struct ChrfStatistics {
  std::size_t hypothesis = 0;
  std::size_t reference = 0;
  std::size_t matches = 0;
};

/// A chrF score and what it was computed from.
struct Chrf {
  double score = 0.0;                      ///< 0 to 100
  std::vector<ChrfStatistics> statistics;  ///< character orders, then word orders
  std::string signature;  ///< how the score was made, in sacrebleu's form, naming this implementation
};

/// chrF of a corpus as chrf_metric defines it. hypotheses [segments]; references [segments][references of the
/// segment]. Throws Error (input_data) when the counts differ, nothing is given, or a segment has no
/// reference, and what chrf_metric throws.
Chrf chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
          const ChrfOptions& options = {});

/// The same with one reference a segment: references [segments].
Chrf chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
          const ChrfOptions& options = {});

}  // namespace attn
