#pragma once
#include "attn/models/translation_model.h"
#include "attn/nn/attention.h"
#include "attn/nn/gru.h"

namespace attn {

/// The GRU encoder of the book: embedding, then a GRU over all steps, padding included (D2L, "Sequence to
/// Sequence").
class Seq2SeqEncoder {
 public:
  Seq2SeqEncoder(const Scope& scope, const ModelConfig& config, std::int64_t vocabulary);

  /// Outputs [steps, batch, hidden] and a state of each layer, after the padding or after the last token as
  /// ModelConfig::encode_padding says.
  GRU::Result operator()(const std::shared_ptr<Device>& device, const TokenBatch& source,
                         Context& context) const;

 private:
  TokenEmbedding embedding_;
  GRU rnn_;
  bool encode_padding_;
};

/// The decoder without attention: the last state of the encoder's last layer is the context of every step.
class Seq2SeqDecoder {
 public:
  Seq2SeqDecoder(const Scope& scope, const ModelConfig& config, std::int64_t vocabulary);

  struct State {
    std::vector<Tensor> hidden;  ///< of each layer, [batch, hidden]
    Tensor context;              ///< [batch, hidden]
  };
  /// ids i32 [steps, batch] -> logits [steps * batch, vocabulary]; the state moves on.
  Tensor operator()(const Tensor& ids, State& state, Context& context) const;

 private:
  TokenEmbedding embedding_;
  GRU rnn_;
  Linear dense_;
};

/// The decoder with Bahdanau attention: the context of a step attends from the last layer's state before it
/// (D2L, "Bahdanau Attention").
class Seq2SeqAttentionDecoder {
 public:
  Seq2SeqAttentionDecoder(const Scope& scope, const ModelConfig& config, std::int64_t vocabulary);

  struct State {
    std::vector<Tensor> hidden;  ///< of each layer, [batch, hidden]
    Tensor memory;               ///< encoder outputs [batch, source steps, hidden]
    Tensor projected_keys;       ///< W_k memory, computed once
    Tensor valid_lengths;        ///< i32 [batch]
  };
  State start(const GRU::Result& encoded, const Tensor& valid_lengths) const;
  /// ids i32 [steps, batch] -> logits [steps * batch, vocabulary]; the state moves on.
  Tensor operator()(const Tensor& ids, State& state, Context& context) const;

 private:
  TokenEmbedding embedding_;
  AdditiveAttention attention_;
  GRU rnn_;
  Linear dense_;
  attn_masking masking_;
};

/// Encoder and decoder without attention.
class Seq2Seq final : public TranslationModel {
 public:
  Seq2Seq(const ModelConfig& config, const VocabularySizes& vocabularies,
          std::unique_ptr<ParameterStore> parameters);

  Logits forward(const TokenBatch& source, const TokenBatch& decoder_input, Context& context) const override;
  std::unique_ptr<DecoderState> encode(const TokenBatch& source, std::int64_t max_steps,
                                       Context& context) const override;
  Tensor step(DecoderState& state, std::span<const std::int32_t> tokens, Context& context) const override;
  std::vector<AttentionMap> attention_maps() const override { return {}; }

 private:
  Seq2SeqEncoder encoder_;
  Seq2SeqDecoder decoder_;
};

/// Encoder and decoder with Bahdanau attention.
class Seq2SeqAttention final : public TranslationModel {
 public:
  Seq2SeqAttention(const ModelConfig& config, const VocabularySizes& vocabularies,
                   std::unique_ptr<ParameterStore> parameters);

  Logits forward(const TokenBatch& source, const TokenBatch& decoder_input, Context& context) const override;
  std::unique_ptr<DecoderState> encode(const TokenBatch& source, std::int64_t max_steps,
                                       Context& context) const override;
  Tensor step(DecoderState& state, std::span<const std::int32_t> tokens, Context& context) const override;
  std::vector<AttentionMap> attention_maps() const override { return {{AttentionKind::rnn_cross, 1, 1}}; }

 private:
  Seq2SeqEncoder encoder_;
  Seq2SeqAttentionDecoder decoder_;
};

}  // namespace attn
