#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "attn/models/translation_model.h"
#include "attn/text/batches.h"

namespace attn {

/// A source token that a target token comes from, counted from 0.
struct GuidedLink {
  std::int32_t source = 0, target = 0;
};

/// Teaches an attention to follow given word alignments (Chen et al., 2016, https://arxiv.org/abs/1607.01628;
/// Garg et al., 2019, https://aclanthology.org/D19-1453): beside the loss of the translation, the cross
/// entropy of the attention's weights against the links of each target token, which share its probability
/// equally.
class GuidedAlignment {
 public:
  struct Options {
    double weight = 0.05;  ///< of this loss beside that of the translation
    /// From which layer's attention to the source the weights are taken; none: the last but one, or the only
    /// one. Recurrent decoders have a single one.
    std::optional<std::int64_t> layer;
    std::optional<std::int64_t> head;  ///< none: the mean of all heads
  };

  /// `links`: of the sentence pair of each line of the training corpus, counted from 1; lines may lack.
  GuidedAlignment(const Options& options, std::map<std::size_t, std::vector<GuidedLink>> links)
      : options_(options), links_(std::move(links)) {}

  /// Makes a pass of teacher forcing with `context` keep the weights that objective() needs. Throws
  /// Error(config) if the model attends to no source, or has no such layer or head, with the numbers that it
  /// has.
  void request(Context& context, const TranslationModel& model) const;

  /// `loss`, a scalar divided by `divisor`, plus weight / divisor * the cross entropy summed over the target
  /// tokens that have links. The token at position t has the weights of the query that predicts it. Links to
  /// tokens that were cropped away are left out, and what remains of a target token's links shares its
  /// probability; padding and tokens without links add nothing.
  Tensor objective(const Tensor& loss, const Context& context, const Batch& batch, double divisor) const;

 private:
  std::vector<double> expected_weights(const Batch& batch) const;

  Options options_;
  std::map<std::size_t, std::vector<GuidedLink>> links_;
};

}  // namespace attn
