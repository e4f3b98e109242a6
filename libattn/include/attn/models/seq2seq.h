#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attn/models/translation_model.h"
#include "attn/nn/attention.h"
#include "attn/nn/recurrent.h"

namespace attn {

/// The recurrent encoder: embedding, then GRU or LSTM layers over all steps, padding included (D2L, "Sequence
/// to Sequence"). A bidirectional one (Bahdanau et al., 2015) also reads each sentence from its last token to
/// its first; padding stays behind it in both directions.
class Seq2SeqEncoder {
 public:
  Seq2SeqEncoder(const Scope& scope, const ModelConfig& config, std::int64_t vocabulary);

  /// Outputs [steps, batch, width()], and the states that the decoder starts from, [batch, hidden] for each
  /// layer: the encoder's own, after the padding or after the last token as ModelConfig::encode_padding says;
  /// of a bidirectional encoder tanh(W [forward; backward] + b), with a W for each layer, and for its cells.
  RecurrentResult operator()(const std::shared_ptr<Device>& device, const TokenBatch& source,
                             Context& context) const;

  /// Of the outputs.
  std::int64_t width() const noexcept { return rnn_.width(); }
  const TokenEmbedding& embedding() const noexcept { return embedding_; }

 private:
  TokenEmbedding embedding_;
  RecurrentStack rnn_;
  std::vector<Linear> state_bridges_, cell_bridges_;  // of each layer, if bidirectional
  bool encode_padding_;
};

/// From what a recurrent decoder has computed to logits: the state, or the deep output tanh(W [state;
/// context; embedding] + b) (Bahdanau et al., 2015, appendix A.2.2, with tanh for maxout), goes through
/// dropout and a dense layer, which may share the target embedding.
class RecurrentOutput {
 public:
  RecurrentOutput(const Scope& scope, const ModelConfig& config, std::int64_t context_width,
                  std::int64_t vocabulary, const TokenEmbedding& embedding);

  bool deep() const noexcept { return readout_.has_value(); }
  /// states [steps, batch, hidden] and, for the deep output, contexts [steps, batch, context_width] and
  /// embedded [steps, batch, embedding_size] -> [steps * batch, vocabulary].
  Tensor operator()(const Tensor& states, const Tensor& contexts, const Tensor& embedded,
                    Context& context) const;

 private:
  std::optional<Linear> readout_, dense_;
  ParameterHandle tied_table_, bias_;  // instead of dense_
  double dropout_;
};

/// The decoder without attention: its first state in the last layer is the context of every step.
class Seq2SeqDecoder {
 public:
  /// `source` is the embedding of the encoder, which ModelConfig::Tying::all shares.
  Seq2SeqDecoder(const Scope& scope, const ModelConfig& config, std::int64_t vocabulary,
                 const TokenEmbedding& source);

  struct State {
    RecurrentState recurrent;
    Tensor context;  ///< [batch, hidden]
  };
  static State start(const RecurrentResult& encoded) { return {encoded.state(), encoded.states.back()}; }
  /// ids i32 [steps, batch] -> logits [steps * batch, vocabulary]; the state moves on.
  Tensor operator()(const Tensor& ids, State& state, Context& context) const;

 private:
  TokenEmbedding embedding_;
  RecurrentStack rnn_;
  RecurrentOutput output_;
};

/// The decoder with attention: the context of a step attends from the last layer's state before it (D2L,
/// "Bahdanau Attention"), by one of the scores of Luong et al., 2015.
class Seq2SeqAttentionDecoder {
 public:
  /// `encoder_width` is that of the encoder's outputs, `source` its embedding, which ModelConfig::Tying::all
  /// shares.
  Seq2SeqAttentionDecoder(const Scope& scope, const ModelConfig& config, std::int64_t vocabulary,
                          std::int64_t encoder_width, const TokenEmbedding& source);

  struct State {
    RecurrentState recurrent;
    Tensor memory;          ///< encoder outputs [batch, source steps, encoder width]
    Tensor projected_keys;  ///< what of them does not depend on the query, computed once
    Tensor valid_lengths;   ///< i32 [batch]
  };
  State start(const RecurrentResult& encoded, const Tensor& valid_lengths) const;
  /// ids i32 [steps, batch] -> logits [steps * batch, vocabulary]; the state moves on.
  Tensor operator()(const Tensor& ids, State& state, Context& context) const;

 private:
  TokenEmbedding embedding_;
  ScoredAttention attention_;
  RecurrentStack rnn_;
  RecurrentOutput output_;
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

/// Encoder and decoder with attention.
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
