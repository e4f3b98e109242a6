#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/nn/attention.h"
#include "attn/nn/context.h"
#include "attn/nn/parameter.h"
#include "attn/nn/positions.h"
#include "attn/nn/recurrent.h"

namespace attn {

/// Sentences as ids on the host, one row a sentence, padded to `steps`.
struct TokenBatch {
  std::int64_t size = 0, steps = 0;
  std::span<const std::int32_t> ids;            ///< [size, steps]
  std::span<const std::int32_t> valid_lengths;  ///< [size], tokens before the padding
};

/// In which order the rows of a model's logits stand.
enum class TokenOrder {
  batch_major,  ///< row b * steps + t
  time_major    ///< row t * batch + b
};

/// What a source sentence has become, and what has been decoded so far. Row b of every tensor belongs to
/// sentence b.
class DecoderState {
 public:
  DecoderState() = default;
  DecoderState(const DecoderState&) = delete;
  DecoderState& operator=(const DecoderState&) = delete;
  DecoderState(DecoderState&&) = delete;
  DecoderState& operator=(DecoderState&&) = delete;
  virtual ~DecoderState() = default;

  /// Replaces row b by row `rows[b]`; also repeats rows and leaves rows out, so that the number of rows may
  /// change. Beam search reorders its hypotheses with it, and finished sentences leave the batch.
  virtual void select_rows(std::span<const std::int32_t> rows) = 0;
  /// Steps decoded so far.
  std::int64_t position() const noexcept { return position_; }

 protected:
  std::int64_t position_ = 0;
};

/// A model that turns source sentences into target sentences, token by token.
class TranslationModel {
 public:
  TranslationModel() = default;
  TranslationModel(const TranslationModel&) = delete;
  TranslationModel& operator=(const TranslationModel&) = delete;
  TranslationModel(TranslationModel&&) = delete;
  TranslationModel& operator=(TranslationModel&&) = delete;
  virtual ~TranslationModel() = default;

  struct Logits {
    Tensor values;  ///< [batch * target steps, target vocabulary]
    TokenOrder order = TokenOrder::batch_major;
  };
  /// Teacher forcing: the logits for the token after each token of `decoder_input` ([batch, steps], <bos>
  /// first).
  virtual Logits forward(const TokenBatch& source, const TokenBatch& decoder_input,
                         Context& context) const = 0;

  /// Encodes the source for decoding at most `max_steps` tokens.
  virtual std::unique_ptr<DecoderState> encode(const TokenBatch& source, std::int64_t max_steps,
                                               Context& context) const = 0;
  /// Feeds the last token of every row; the logits [rows, target vocabulary] of the next one. Keys and values
  /// of earlier steps are kept in the state.
  virtual Tensor step(DecoderState& state, std::span<const std::int32_t> tokens, Context& context) const = 0;

  /// The attention that it has, and of how many layers and heads; empty if it has none.
  struct AttentionMap {
    AttentionKind kind;
    std::int64_t layers, heads;
  };
  virtual std::vector<AttentionMap> attention_maps() const = 0;

  ParameterStore& parameters() noexcept { return *parameters_; }
  const ParameterStore& parameters() const noexcept { return *parameters_; }
  const std::shared_ptr<Device>& device() const noexcept { return parameters_->device(); }

 protected:
  /// Set by the constructor of the model, before its layers declare their parameters.
  std::unique_ptr<ParameterStore> parameters_;
};

/// Everything that decides a model's structure.
struct ModelConfig {
  enum class Type { seq2seq, seq2seq_attention, transformer };
  enum class Norm { post, pre };
  enum class Tying { none, output, all };

  Type type = Type::transformer;
  std::int64_t embedding_size = 32;  ///< the recurrent models'; a Transformer's width is hidden_size
  std::int64_t hidden_size = 32;
  std::int64_t encoder_layers = 2, decoder_layers = 2;  ///< equal for the recurrent models
  /// Transformer: on the embeddings, on the outputs of sublayers and on attention weights. Recurrent models:
  /// between the layers and on attention weights.
  double dropout = 0.1;
  std::optional<double> attention_dropout;  ///< on attention weights; none: as `dropout`
  /// The rate on attention weights.
  double weights_dropout() const noexcept { return attention_dropout.value_or(dropout); }
  // The recurrent models':
  RecurrentCell cell = RecurrentCell::gru;
  bool bidirectional = false;  ///< the encoder reads in both directions, each hidden_size wide
  Scoring scoring = Scoring::additive;
  bool deep_output = false;        ///< logits from tanh(W [state; context; embedding]), embedding_size wide
  double embedding_dropout = 0.0;  ///< on the embeddings, and on what the output layer reads
  /// The encoder's states are those after the padding, as in the book, so that every sentence must be padded
  /// to the same length; otherwise those after the last token of each sentence.
  bool encode_padding = false;
  // The Transformer's:
  std::int64_t heads = 4;
  std::int64_t feed_forward_size = 64;
  double feed_forward_dropout = 0.0;  ///< between the two dense layers; neither the paper nor the book has it
  Norm norm = Norm::post;
  bool final_norm = false;  ///< a layer norm after each stack; always there with Norm::pre
  PositionKind positions = PositionKind::sinusoidal;
  std::int64_t max_length = 1000;  ///< of learned positions
  bool attention_bias = false;
  Tying tying = Tying::none;  ///< output: with the target embedding; all: the source embedding as well
  attn_masking masking = ATTN_MASK_EXACT;
};

struct VocabularySizes {
  std::int64_t source = 0, target = 0;
};

/// Builds a model with first values drawn from the seed; without one all parameters are 0, for values that
/// are loaded. Throws Error(config) for a structure that cannot be
/// (heads that do not divide the width, tied vocabularies of different size; in a recurrent model, layers of
/// encoder and decoder that differ, dot products of unequal widths, a tied table that the output cannot
/// read).
std::unique_ptr<TranslationModel> make_translation_model(const ModelConfig& config,
                                                         const VocabularySizes& vocabularies,
                                                         const std::shared_ptr<Device>& device, DType type,
                                                         std::optional<std::uint64_t> seed);

}  // namespace attn
