#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/models/translation_model.h"

namespace attn {

/// (source, target), tokens or words, both counted from 0.
using AlignmentLink = std::pair<std::int64_t, std::int64_t>;

/// What links are drawn from the weights of a sentence pair.
enum class AlignmentKind {
  hard,      ///< each target has the one source with the largest weight
  soft,      ///< the weights themselves
  threshold  ///< all pairs whose weight reaches a threshold
};

/// What is aligned with what.
enum class AlignmentUnit {
  token,  ///< tokens as the model has them
  word    ///< words of the texts (attn/decoding/alignment_words.h)
};

/// Which attention is taken for an alignment, and how. The default is what attention is usually read as: the
/// mean over all layers and heads, and the source with the largest weight.
struct AlignmentOptions {
  AlignmentKind kind = AlignmentKind::hard;
  AlignmentUnit unit = AlignmentUnit::token;
  double threshold = 0.2;             ///< of AlignmentKind::threshold, 0 to 1
  std::optional<std::int64_t> layer;  ///< counted from 0; absent: the mean over all
  std::optional<std::int64_t> head;   ///< counted from 0; absent: the mean over all
  /// The weights of a target token are those of the query that predicts it; or, if `shifted`, of the next
  /// one, whose input it is, so that the token is known when it is aligned (Chen et al., 2020,
  /// https://aclanthology.org/2020.emnlp-main.42, "Shift-Att").
  bool shifted = false;
};

/// Weights of a sentence pair: one row a target, one column a source.
struct AlignmentMatrix {
  std::size_t targets = 0, sources = 0;
  std::vector<double> weights;  ///< [targets, sources]

  std::span<const double> row(std::size_t target) const {
    return std::span(weights).subspan(target * sources, sources);
  }
  friend bool operator==(const AlignmentMatrix&, const AlignmentMatrix&) = default;
};

/// Whether the model attends from target tokens to source tokens, so that they can be aligned.
bool can_align(const TranslationModel& model);

/// Throws Error(usage) if the model cannot align, has no such layer or head (with the numbers that it has),
/// or the threshold is not from 0 to 1.
void check(const AlignmentOptions& options, const TranslationModel& model);

/// Watches the attention of one pass over a batch, from target tokens to source tokens.
class AlignmentObserver {
 public:
  /// For a pass over `sources` sentences of `source_steps` tokens with decoder inputs of `target_steps`,
  /// paddings counted. Throws as check.
  AlignmentObserver(const TranslationModel& model, const AlignmentOptions& options, std::int64_t sources,
                    std::int64_t source_steps, std::int64_t target_steps);

  /// Makes the pass that runs with `context` report to this, which must outlive it.
  void watch(Context& context);

  /// The weights of the first `target_tokens` tokens of sentence `b` on its first `source_tokens` tokens, so
  /// that <eos> and padding are left out. `queries`: tokens of its decoder input, <bos> counted; the last
  /// token has no query after it if `target_tokens` equals that, and its weights are then those that predict
  /// it. Rows are not normalised again: what lacks to 1 is the weight of the source's <eos>.
  AlignmentMatrix weights(std::size_t b, std::size_t target_tokens, std::size_t source_tokens,
                          std::size_t queries) const;

 private:
  void add(std::int64_t layer, const Tensor& weights);

  AlignmentOptions options_;
  std::int64_t queries_, keys_;
  std::int64_t maps_ = 0;                 // layers times heads that have been added up
  std::vector<double> sums_;              // [batch, queries, keys]
  std::vector<std::int64_t> next_query_;  // of each layer
};

/// The weights of given targets (without <bos> and <eos>) in a forced pass, one matrix a sentence. Only the
/// first `source_tokens[b]` tokens of source b have columns, so that its <eos> and padding are left out.
/// `finished[b]`: target b ended with <eos>. Throws as check.
std::vector<AlignmentMatrix> attention_weights(const TranslationModel& model, const TokenBatch& source,
                                               std::span<const std::int32_t> source_tokens,
                                               std::span<const std::vector<std::int32_t>> targets,
                                               const std::vector<bool>& finished,
                                               const AlignmentOptions& options);

/// For each target the source with the largest weight, the first of equal ones. A target without any weight
/// has no link: all targets of an empty source, and words that were cropped away.
std::vector<AlignmentLink> hard_links(const AlignmentMatrix& matrix);

/// All pairs with a weight of at least `threshold`, by target, then source.
std::vector<AlignmentLink> threshold_links(const AlignmentMatrix& matrix, double threshold);

/// The links of that kind; those of soft alignments are the hard ones.
std::vector<AlignmentLink> links_of(const AlignmentMatrix& matrix, const AlignmentOptions& options);

/// "0-0 2-1": links in Pharaoh's format, source before target.
std::string to_pharaoh(std::span<const AlignmentLink> links);

/// "0-0:0.9120 2-1:0.5003": pairs with weights of at least `least`, by target, then source.
std::string to_weighted_pharaoh(const AlignmentMatrix& matrix, double least = 0.01);

}  // namespace attn
