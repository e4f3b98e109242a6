#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "attn/models/translation_model.h"

namespace attn {

/// What a model thinks of a given translation, in nats.
struct ForcedScore {
  std::vector<double> token_log_probabilities;  ///< log p(token | source, tokens before it)
  double log_probability = 0.0;                 ///< their sum
};

/// Log-probabilities of given targets by teacher forcing, one for each sentence of `source`. A target is
/// without <bos>, and with its <eos> if that is to count. Throws Error(input_data) if the model yields
/// numbers that are not finite, Error(internal) if the counts differ.
std::vector<ForcedScore> forced_scores(const TranslationModel& model, const TokenBatch& source,
                                       std::span<const std::vector<std::int32_t>> targets);
/// The same pass, watched: `context` may observe the attention along the targets.
std::vector<ForcedScore> forced_scores(const TranslationModel& model, const TokenBatch& source,
                                       std::span<const std::vector<std::int32_t>> targets, Context& context);

/// Targets as the rows of a decoder's input: <bos>, then each target but for its last token, padded to the
/// longest target. [targets, steps].
struct DecoderInput {
  std::int64_t size = 0, steps = 0;
  std::vector<std::int32_t> ids;            ///< [size, steps]
  std::vector<std::int32_t> valid_lengths;  ///< [size], tokens of each target

  TokenBatch batch() const { return {size, steps, ids, valid_lengths}; }
};
DecoderInput make_decoder_input(std::span<const std::vector<std::int32_t>> targets);

}  // namespace attn
