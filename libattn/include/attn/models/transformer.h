#pragma once
#include "attn/models/translation_model.h"
#include "attn/nn/attention.h"

namespace attn {

/// A sublayer with its residual connection and norm: post-norm is norm(x + dropout(sublayer(x))), the paper's
/// and the book's; pre-norm is x + dropout(sublayer(norm(x))) (Xiong et al., 2020).
class ResidualSublayer {
 public:
  ResidualSublayer(const Scope& scope, const ModelConfig& config)
      : norm_(scope, config.hidden_size),
        pre_(config.norm == ModelConfig::Norm::pre),
        dropout_(config.dropout) {}

  template<typename Sublayer>
  Tensor operator()(const Tensor& x, Context& context, Sublayer&& sublayer) const {
    if (pre_) return ops::add(x, ops::dropout(sublayer(norm_(x)), context.dropout(dropout_)));
    const Tensor y = sublayer(x);
    return norm_.of_sum(x, y, context.dropout(dropout_)).output;
  }

 private:
  LayerNorm norm_;
  bool pre_;
  double dropout_;
};

/// Self-attention, then the feed-forward network (Vaswani et al., 2017, section 3.1).
class TransformerEncoderBlock {
 public:
  TransformerEncoderBlock(const Scope& scope, const ModelConfig& config, std::int64_t layer);

  /// x [batch, steps, width], valid_lengths i32 [batch] -> [batch, steps, width].
  Tensor operator()(const Tensor& x, const Tensor& valid_lengths, Context& context) const;

 private:
  MultiHeadAttention attention_;
  ResidualSublayer addnorm1_;
  PositionWiseFFN ffn_;
  ResidualSublayer addnorm2_;
};

/// Causal self-attention, attention to the encoder's outputs, then the feed-forward network.
class TransformerDecoderBlock {
 public:
  TransformerDecoderBlock(const Scope& scope, const ModelConfig& config, std::int64_t layer);

  /// Keys and values of the encoder's outputs [batch, source steps, width].
  KeyValueCache project_memory(const Tensor& memory) const { return attention2_.project(memory, memory); }
  /// All steps at once: x [batch, steps, width].
  Tensor operator()(const Tensor& x, const KeyValueCache& memory, const Tensor& memory_lengths,
                    Context& context) const;
  /// One step: x [batch, 1, width]. The step's keys and values are written to the rows of `past` from
  /// `next_row` on, which `next_row_on_device` is as an i32 scalar; past.rows names them as the last ones.
  Tensor step(const Tensor& x, const SharedKeyValueCache& past, const SharedKeyValueCache& memory,
              const Tensor& memory_lengths, const Tensor& next_row_on_device, std::int64_t next_row,
              Context& context) const;

 private:
  template<typename Memory, typename SelfAttention>
  Tensor run(const Tensor& x, const Memory& memory, const Tensor& memory_lengths, Context& context,
             SelfAttention&& self_attention) const;

  MultiHeadAttention attention1_;
  ResidualSublayer addnorm1_;
  MultiHeadAttention attention2_;
  ResidualSublayer addnorm2_;
  PositionWiseFFN ffn_;
  ResidualSublayer addnorm3_;
};

/// The Transformer (Vaswani et al., 2017; D2L, "The Transformer Architecture").
class Transformer final : public TranslationModel {
 public:
  Transformer(const ModelConfig& config, const VocabularySizes& vocabularies,
              std::unique_ptr<ParameterStore> parameters);

  Logits forward(const TokenBatch& source, const TokenBatch& decoder_input, Context& context) const override;
  std::unique_ptr<DecoderState> encode(const TokenBatch& source, std::int64_t max_steps,
                                       Context& context) const override;
  Tensor step(DecoderState& state, std::span<const std::int32_t> tokens, Context& context) const override;
  std::vector<AttentionMap> attention_maps() const override;

  /// The encoder's outputs [batch, steps, width] for ids i32 [batch, steps] and valid_lengths i32 [batch].
  Tensor encode_sources(const Tensor& ids, const Tensor& valid_lengths, Context& context) const;

 private:
  Tensor output(const Tensor& x) const;

  ModelConfig config_;
  TokenEmbedding source_embedding_, target_embedding_;
  std::vector<TransformerEncoderBlock> encoder_blocks_;
  std::vector<TransformerDecoderBlock> decoder_blocks_;
  std::vector<LayerNorm> final_norms_;  // of the encoder and of the decoder, or none
  std::vector<Linear> dense_;           // none if the output is tied
  ParameterHandle output_bias_;         // of a tied output
};

}  // namespace attn
