#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/models/translation_model.h"
#include "attn/text/text_processing.h"

namespace attn {

/// How the distributions of an ensemble's members become one.
enum class EnsembleAverage {
  probabilities,     ///< the mean of the probabilities: p = sum_k p_k / K
  log_probabilities  ///< the mean of their logarithms, normalised again: p ~ (prod_k p_k)^(1/K)
};

/// Models that translate as one: each takes every step, and the next token comes from the average of their
/// distributions, all with equal weight (Sutskever et al., 2014, section 3.6). They may be of different
/// types, but must read and write the same ids. It has no parameters of its own.
///
/// Attention is reported of all members that have any, the layers of each member after those of the members
/// before it, so that alignments and coverage are means over all.
class EnsembleModel final : public TranslationModel {
 public:
  /// Throws Error(internal) for no members, or members on different devices.
  EnsembleModel(std::vector<std::unique_ptr<TranslationModel>> members, EnsembleAverage average);

  /// Batch-major: the logarithms of the averaged distributions; of log-probabilities, not yet normalised.
  Logits forward(const TokenBatch& source, const TokenBatch& decoder_input, Context& context) const override;
  std::unique_ptr<DecoderState> encode(const TokenBatch& source, std::int64_t max_steps,
                                       Context& context) const override;
  /// As forward.
  Tensor step(DecoderState& state, std::span<const std::int32_t> tokens, Context& context) const override;
  /// Those of all members.
  std::vector<AttentionMap> attention_maps() const override;

  std::span<const std::unique_ptr<TranslationModel>> members() const noexcept { return members_; }
  EnsembleAverage average() const noexcept { return average_; }

 private:
  Context member_context(Context& context, std::size_t member) const;
  Tensor averaged(std::span<const Tensor> logits) const;

  std::vector<std::unique_ptr<TranslationModel>> members_;
  EnsembleAverage average_;
};

/// What keeps two models from being an ensemble: the first difference of their tokenizers, vocabularies and
/// fixed numbers of steps as "the target vocabularies differ: ...", the first model's before the second's;
/// nothing if there is none.
std::optional<std::string> text_difference(const TextProcessing& first, const TextProcessing& second);

/// What a Translator has to know of an ensemble: the first model's configuration, but with the fewest learned
/// positions of all, and encode_padding if any has it. At least one.
ModelConfig ensemble_config(std::span<const ModelConfig> members);

}  // namespace attn
