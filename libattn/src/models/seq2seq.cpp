#include "attn/models/seq2seq.h"

#include "attn/core/error.h"
#include "decoding_state.h"

namespace attn {
namespace {

TokenEmbedding::Options embedding_options() {
  return {};
}

void check_layers(const ModelConfig& config) {
  if (config.encoder_layers == config.decoder_layers) return;
  fail(ExitCode::config,
       "a GRU model hands the encoder's states to the decoder layer by layer: model.encoder_layers is {}, "
       "model.decoder_layers is {}; make them equal",
       config.encoder_layers, config.decoder_layers);
}

// Logits of a recurrent decoder: outputs [steps, batch, hidden] -> [steps * batch, vocabulary].
Tensor logits_of(const Linear& dense, const Tensor& outputs, const Context& context) {
  context.activation("decoder.output", outputs);
  Tensor logits = dense(outputs.reshaped({outputs.size(0) * outputs.size(1), outputs.size(2)}));
  context.activation("decoder.logits", logits);
  return logits;
}

Tensor one_step_ids(const std::shared_ptr<Device>& device, std::span<const std::int32_t> tokens) {
  return Tensor::from<std::int32_t>(device, tokens, {1, static_cast<std::int64_t>(tokens.size())});
}

class PlainState final : public DecoderState {
 public:
  explicit PlainState(Seq2SeqDecoder::State state) : state_(std::move(state)) {}

  void select_rows(std::span<const std::int32_t> rows) override {
    const Tensor index = Tensor::from<std::int32_t>(state_.context.shared_device(), rows,
                                                    Shape{static_cast<std::int64_t>(rows.size())});
    for (Tensor& hidden : state_.hidden) hidden = chosen_rows(hidden, index);
    state_.context = chosen_rows(state_.context, index);
  }
  Seq2SeqDecoder::State& advance() {
    ++position_;
    return state_;
  }

 private:
  Seq2SeqDecoder::State state_;
};

class AttentionState final : public DecoderState {
 public:
  explicit AttentionState(Seq2SeqAttentionDecoder::State state) : state_(std::move(state)) {}

  void select_rows(std::span<const std::int32_t> rows) override {
    const Tensor index = Tensor::from<std::int32_t>(state_.memory.shared_device(), rows,
                                                    Shape{static_cast<std::int64_t>(rows.size())});
    for (Tensor& hidden : state_.hidden) hidden = chosen_rows(hidden, index);
    for (Tensor* tensor : {&state_.memory, &state_.projected_keys, &state_.valid_lengths})
      *tensor = chosen_rows(*tensor, index);
  }
  Seq2SeqAttentionDecoder::State& advance() {
    ++position_;
    return state_;
  }

 private:
  Seq2SeqAttentionDecoder::State state_;
};

}  // namespace

Seq2SeqEncoder::Seq2SeqEncoder(const Scope& scope, const ModelConfig& config, std::int64_t vocabulary)
    : embedding_(scope / "embedding", vocabulary, config.embedding_size, embedding_options()),
      rnn_(scope / "rnn", config.embedding_size, config.hidden_size, config.encoder_layers, config.dropout),
      encode_padding_(config.encode_padding) {}

GRU::Result Seq2SeqEncoder::operator()(const std::shared_ptr<Device>& device, const TokenBatch& source,
                                       Context& context) const {
  const Tensor embedded = embedding_(time_major_ids(device, source), context);
  context.activation("encoder.embedding", embedded);
  GRU::Result encoded =
      rnn_(embedded, {}, context, encode_padding_ ? Tensor{} : last_token_rows(device, source));
  context.activation("encoder.output", encoded.outputs);
  return encoded;
}

Seq2SeqDecoder::Seq2SeqDecoder(const Scope& scope, const ModelConfig& config, std::int64_t vocabulary)
    : embedding_(scope / "embedding", vocabulary, config.embedding_size, embedding_options()),
      rnn_(scope / "rnn", config.embedding_size + config.hidden_size, config.hidden_size,
           config.decoder_layers, config.dropout),
      dense_(scope / "dense", config.hidden_size, vocabulary) {}

Tensor Seq2SeqDecoder::operator()(const Tensor& ids, State& state, Context& context) const {
  const std::int64_t steps = ids.size(0), batch = ids.size(1), hidden = state.context.size(1);
  const Tensor embedded = embedding_(ids, context);
  context.activation("decoder.embedding", embedded);
  // Broadcast by an addition, whose gradient sums over the steps.
  const Tensor zeros = Tensor::zeros(ids.shared_device(), {steps, batch, hidden}, embedded.dtype());
  const Tensor repeated = ops::add(zeros, state.context.reshaped({1, batch, hidden}));
  GRU::Result result = rnn_(ops::concatenate(std::array{embedded, repeated}, -1), state.hidden, context);
  state.hidden = std::move(result.states);
  return logits_of(dense_, result.outputs, context);
}

Seq2SeqAttentionDecoder::Seq2SeqAttentionDecoder(const Scope& scope, const ModelConfig& config,
                                                 std::int64_t vocabulary)
    : embedding_(scope / "embedding", vocabulary, config.embedding_size, embedding_options()),
      attention_(scope / "attention", config.hidden_size, config.hidden_size, config.hidden_size,
                 config.dropout),
      rnn_(scope / "rnn", config.embedding_size + config.hidden_size, config.hidden_size,
           config.decoder_layers, config.dropout),
      dense_(scope / "dense", config.hidden_size, vocabulary),
      masking_(config.masking) {}

Seq2SeqAttentionDecoder::State Seq2SeqAttentionDecoder::start(const GRU::Result& encoded,
                                                              const Tensor& valid_lengths) const {
  const Tensor memory = ops::swap_axes(encoded.outputs, 0, 1);
  return {encoded.states, memory, attention_.project_keys(memory), valid_lengths};
}

Tensor Seq2SeqAttentionDecoder::operator()(const Tensor& ids, State& state, Context& context) const {
  const std::int64_t steps = ids.size(0), batch = ids.size(1);
  ops::Mask mask;
  mask.valid_lengths = state.valid_lengths;
  mask.masking = masking_;
  const Tensor embedded = embedding_(ids, context);
  context.activation("decoder.embedding", embedded);
  std::vector<Tensor> outputs;
  for (std::int64_t t = 0; t < steps; ++t) {
    const Tensor& last = state.hidden.back();
    const Tensor query = last.reshaped({batch, 1, last.size(1)});
    const Tensor attended =
        attention_(query, state.projected_keys, state.memory, mask, context, {AttentionKind::rnn_cross, 0});
    const Tensor token = ops::slice_axis(embedded, 0, t, 1);
    const Tensor input =
        ops::concatenate(std::array{attended.reshaped({1, batch, attended.size(2)}), token}, -1);
    GRU::Result result = rnn_(input, state.hidden, context);
    state.hidden = std::move(result.states);
    outputs.push_back(result.outputs);
  }
  return logits_of(dense_, ops::concatenate_all(outputs, 0), context);
}

Seq2Seq::Seq2Seq(const ModelConfig& config, const VocabularySizes& vocabularies,
                 std::unique_ptr<ParameterStore> parameters)
    : encoder_((check_layers(config), Scope(*parameters) / "encoder"), config, vocabularies.source),
      decoder_(Scope(*parameters) / "decoder", config, vocabularies.target) {
  parameters_ = std::move(parameters);
}

TranslationModel::Logits Seq2Seq::forward(const TokenBatch& source, const TokenBatch& decoder_input,
                                          Context& context) const {
  const GRU::Result encoded = encoder_(device(), source, context);
  Seq2SeqDecoder::State state{encoded.states, encoded.states.back()};
  return {decoder_(time_major_ids(device(), decoder_input), state, context), TokenOrder::time_major};
}

std::unique_ptr<DecoderState> Seq2Seq::encode(const TokenBatch& source, std::int64_t /*max_steps*/,
                                              Context& context) const {
  const GRU::Result encoded = encoder_(device(), source, context);
  return std::make_unique<PlainState>(Seq2SeqDecoder::State{encoded.states, encoded.states.back()});
}

Tensor Seq2Seq::step(DecoderState& state, std::span<const std::int32_t> tokens, Context& context) const {
  return decoder_(one_step_ids(device(), tokens), static_cast<PlainState&>(state).advance(), context);
}

Seq2SeqAttention::Seq2SeqAttention(const ModelConfig& config, const VocabularySizes& vocabularies,
                                   std::unique_ptr<ParameterStore> parameters)
    : encoder_((check_layers(config), Scope(*parameters) / "encoder"), config, vocabularies.source),
      decoder_(Scope(*parameters) / "decoder", config, vocabularies.target) {
  parameters_ = std::move(parameters);
}

TranslationModel::Logits Seq2SeqAttention::forward(const TokenBatch& source, const TokenBatch& decoder_input,
                                                   Context& context) const {
  const GRU::Result encoded = encoder_(device(), source, context);
  Seq2SeqAttentionDecoder::State state = decoder_.start(encoded, lengths_on_device(device(), source));
  return {decoder_(time_major_ids(device(), decoder_input), state, context), TokenOrder::time_major};
}

std::unique_ptr<DecoderState> Seq2SeqAttention::encode(const TokenBatch& source, std::int64_t /*max_steps*/,
                                                       Context& context) const {
  const GRU::Result encoded = encoder_(device(), source, context);
  return std::make_unique<AttentionState>(decoder_.start(encoded, lengths_on_device(device(), source)));
}

Tensor Seq2SeqAttention::step(DecoderState& state, std::span<const std::int32_t> tokens,
                              Context& context) const {
  return decoder_(one_step_ids(device(), tokens), static_cast<AttentionState&>(state).advance(), context);
}

}  // namespace attn
