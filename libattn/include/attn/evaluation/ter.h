#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/evaluation/metric.h"

namespace attn {

/// How TER splits text; the defaults are sacrebleu's and tercom's.
struct TerOptions {
  bool normalized = false;      ///< separate punctuation from words and replace XML entities
  bool no_punctuation = false;  ///< remove punctuation
  bool asian_support = false;   ///< with the two above: also Chinese and Japanese characters and punctuation
  bool case_sensitive = false;
};

/// The words of one segment for TER.
std::vector<std::string> ter_tokens(std::string_view text, const TerOptions& options = {});

/// The fewest edits that were found to make one sentence into another.
struct TranslationEdits {
  std::size_t edits = 0;   ///< insertions, deletions, substitutions and shifts of a phrase, each 1
  std::size_t shifts = 0;  ///< of these, shifts
};

/// Edits between two sequences of words, each word a symbol, as tercom 0.7.25 finds them and sacrebleu 2
/// follows it: greedy shifts of phrases of up to 10 words over up to 50, until the edit distance (within 25
/// words around the diagonal) falls no more or 1000 shifts were tried. Against an empty reference every word
/// is one edit. Source: Snover et al., 2006.
TranslationEdits translation_edits(std::u32string_view hypothesis, std::u32string_view reference);

/// Translation edit rate as sacrebleu 2 defines it: edits to the closest reference per word of the
/// references, averaged over them, in percent. The counts are edits and reference length.
std::unique_ptr<const Metric> ter_metric(const TerOptions& options = {});

/// A TER score and what it was computed from.
struct Ter {
  double score = 0.0;  ///< percent; more than 100 where there are more edits than words in the references
  std::size_t edits = 0;
  double reference_length = 0.0;  ///< words, averaged over the references of each segment
  std::string signature;          ///< how the score was made, in sacrebleu's form, naming this implementation
};

/// TER of a corpus as ter_metric defines it. hypotheses [segments]; references [segments][references of the
/// segment]. Throws Error (input_data) when the counts differ, nothing is given, or a segment has no
/// reference.
Ter ter(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
        const TerOptions& options = {});

/// The same with one reference a segment: references [segments].
Ter ter(std::span<const std::string> hypotheses, std::span<const std::string> references,
        const TerOptions& options = {});

}  // namespace attn
