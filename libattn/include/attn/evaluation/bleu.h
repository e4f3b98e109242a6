#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/evaluation/metric.h"

namespace attn {

/// BLEU of one sentence as Dive into Deep Learning defines it.
struct BookBleu {
  double score = 0.0;              ///< 0 to 1
  std::vector<double> precisions;  ///< of the n-grams of 1, 2, ... tokens
};

/// exp(min(0, 1 - label length / prediction length)) * prod_{n=1..k} p_n^(1/2^n), on tokens separated by
/// single spaces, where p_n counts each n-gram at most as often as the label has it and n stops at the length
/// of the prediction. An empty string is one empty token, as in the book's Python. Throws Error (config) for
/// k = 0. Source: Dive into Deep Learning, chapter "Sequence-to-Sequence Learning for Machine Translation".
BookBleu book_bleu(std::string_view prediction, std::string_view label, std::size_t k = 2);

/// How BLEU splits text; the names in quotes are sacrebleu's.
enum class BleuTokenizer {
  mteval_13a,     ///< "13a", the default: as mteval-v13a does, for languages in Latin script
  international,  ///< "intl": as mteval-v14, at every punctuation mark and symbol of Unicode but in numbers
  character,      ///< "char": every code point
  chinese,        ///< "zh": every Chinese character, the rest as 13a
  none            ///< "none": at white space only
};

/// sacrebleu's name of a tokenizer.
std::string_view name_of(BleuTokenizer tokenizer);

/// The tokens of one segment for BLEU.
std::vector<std::string> bleu_tokens(std::string_view text, BleuTokenizer tokenizer);

/// What BLEU does with orders of n-grams that have no match.
enum class BleuSmoothing {
  exponential,  ///< "exp", the default: each order without a match counts half of what the one before it did
  floor,        ///< "floor": a small number (0.1 unless given) stands for the 0 matches
  add_k,        ///< "add-k": k (1 unless given) is added to matches and totals of all orders above 1
  none          ///< "none": the score is 0
};

/// sacrebleu's name of a smoothing.
std::string_view name_of(BleuSmoothing smoothing);

/// How BLEU is computed; the defaults are sacrebleu's.
struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::mteval_13a;
  BleuSmoothing smoothing = BleuSmoothing::exponential;
  std::optional<double> smoothing_value = std::nullopt;  ///< of `floor` and `add_k`
  bool lowercase = false;
  bool effective_order = false;  ///< leave out orders that the hypotheses are too short for
};

/// BLEU of 4-grams as sacrebleu 2 defines it, with the reference closest in length. The counts are: tokens of
/// the hypotheses, tokens of the references closest in length, matches of the n-grams of 1 to 4, n-grams of 1
/// to 4. Throws Error (usage) for a smoothing value that is not positive, or that the smoothing does not
/// have. Source: Papineni et al., 2002; Chen and Cherry, 2014; Post, 2018.
std::unique_ptr<const Metric> bleu_metric(const BleuOptions& options = {});

/// Corpus BLEU of 4-grams and the statistics that it was computed from.
struct CorpusBleu {
  double score = 0.0;                   ///< 0 to 100
  std::array<std::size_t, 4> counts{};  ///< n-grams of the hypotheses that references confirm
  std::array<std::size_t, 4> totals{};  ///< n-grams of the hypotheses
  std::array<double, 4> precisions{};   ///< 0 to 100, smoothed
  double brevity_penalty = 0.0;
  std::size_t hypothesis_length = 0;  ///< tokens
  std::size_t reference_length = 0;   ///< tokens of the references closest in length
  std::string signature;  ///< how the score was made, in sacrebleu's form, naming this implementation
};

/// The score and its parts from counts summed by bleu_metric (all but the signature).
CorpusBleu bleu_of_totals(std::span<const double> totals, const BleuOptions& options = {});

/// Corpus BLEU as bleu_metric defines it. hypotheses [segments]; references [segments][references of the
/// segment], at least one each. Throws Error (input_data) when the counts differ, nothing is given, or a
/// segment has no reference, and what bleu_metric throws.
CorpusBleu corpus_bleu(std::span<const std::string> hypotheses,
                       std::span<const std::vector<std::string>> references, const BleuOptions& options = {});

/// The same with one reference a segment: references [segments].
CorpusBleu corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                       const BleuOptions& options = {});

}  // namespace attn
