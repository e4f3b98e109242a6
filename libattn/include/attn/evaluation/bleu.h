#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// How BLEU splits text: as mteval-v13a does (sacrebleu's default), or only at white space.
enum class BleuTokenizer { mteval_13a, none };

/// The tokens of one segment for BLEU.
std::vector<std::string> bleu_tokens(std::string_view text, BleuTokenizer tokenizer);

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

/// Corpus BLEU as sacrebleu 2 defines it: case kept, exponential smoothing, closest reference length, no
/// effective order. hypotheses [segments]; references [segments][references of the segment], at least one
/// each. Throws Error (input_data) when the counts differ, nothing is given, or a segment has no reference.
/// Source: Papineni et al., 2002; Post, 2018.
CorpusBleu corpus_bleu(std::span<const std::string> hypotheses,
                       std::span<const std::vector<std::string>> references,
                       BleuTokenizer tokenizer = BleuTokenizer::mteval_13a);

/// The same with one reference a segment: references [segments].
CorpusBleu corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                       BleuTokenizer tokenizer = BleuTokenizer::mteval_13a);

}  // namespace attn
