#pragma once
#include <cstdint>
#include <memory>

#include "attn/models/translation_model.h"

namespace attn::test {

/// A model whose distributions and attention are arbitrary functions of the source and of all tokens so far:
/// it has no structure that a search could rely on, and takes no time.
class ScriptedModel final : public TranslationModel {
 public:
  /// `sharpness` scales the logits; `layers` and `heads` are of its cross attention, 0 layers: none.
  ScriptedModel(const std::shared_ptr<Device>& device, std::int64_t vocabulary, std::uint64_t seed,
                double sharpness = 2.0, std::int64_t layers = 2, std::int64_t heads = 3);

  Logits forward(const TokenBatch& source, const TokenBatch& decoder_input, Context& context) const override;
  std::unique_ptr<DecoderState> encode(const TokenBatch& source, std::int64_t max_steps,
                                       Context& context) const override;
  Tensor step(DecoderState& state, std::span<const std::int32_t> tokens, Context& context) const override;
  std::vector<AttentionMap> attention_maps() const override;

  /// The logits after `tokens` (<bos> first).
  std::vector<double> logits(std::span<const std::int32_t> source,
                             std::span<const std::int32_t> tokens) const;

 private:
  std::vector<double> attention(std::span<const std::int32_t> source, std::span<const std::int32_t> tokens,
                                std::int64_t layer, std::int64_t head, std::size_t keys) const;

  std::int64_t vocabulary_, layers_, heads_;
  std::uint64_t seed_;
  double sharpness_;
};

}  // namespace attn::test
