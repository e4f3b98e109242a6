#include <array>
#include <cmath>

#include "attn/models/seq2seq.h"
#include "decoding_state.h"

namespace attn {
namespace {

// A tied table also is the output layer's weight, and then starts small enough for its logits.
TokenEmbedding::Options embedding_options(const ModelConfig& config) {
  TokenEmbedding::Options options;
  options.dropout = config.embedding_dropout;
  if (config.tying != ModelConfig::Tying::none) {
    options.scale = std::sqrt(static_cast<double>(config.embedding_size));
    options.initialization = Initialization::normal(1.0 / options.scale);
  }
  return options;
}

TokenEmbedding target_embedding(const Scope& scope, const ModelConfig& config, std::int64_t vocabulary,
                                const TokenEmbedding& source) {
  if (config.tying == ModelConfig::Tying::all) return {scope, source, embedding_options(config)};
  return {scope, vocabulary, config.embedding_size, embedding_options(config)};
}

RecurrentStack::Options encoder_options(const ModelConfig& config) {
  return {config.cell,           config.embedding_size, config.hidden_size,
          config.encoder_layers, config.dropout,        config.bidirectional};
}

RecurrentStack::Options decoder_options(const ModelConfig& config, std::int64_t context_width) {
  return {config.cell,        config.embedding_size + context_width,
          config.hidden_size, config.decoder_layers,
          config.dropout,     false};
}

}  // namespace

Seq2SeqEncoder::Seq2SeqEncoder(const Scope& scope, const ModelConfig& config, std::int64_t vocabulary)
    : embedding_(scope / "embedding", vocabulary, config.embedding_size, embedding_options(config)),
      rnn_(scope / "rnn", encoder_options(config)),
      encode_padding_(config.encode_padding) {
  if (!config.bidirectional) return;
  for (std::int64_t layer = 0; layer < rnn_.layers(); ++layer) {
    state_bridges_.emplace_back(scope / "state_bridge" / layer, rnn_.width(), config.hidden_size);
    if (config.cell == RecurrentCell::lstm)
      cell_bridges_.emplace_back(scope / "cell_bridge" / layer, rnn_.width(), config.hidden_size);
  }
}

RecurrentResult Seq2SeqEncoder::operator()(const std::shared_ptr<Device>& device, const TokenBatch& source,
                                           Context& context) const {
  const Tensor embedded = embedding_(time_major_ids(device, source), context);
  context.activation("encoder.embedding", embedded);
  SentenceRows rows;
  if (!encode_padding_) rows.last = last_token_rows(device, source);
  if (!state_bridges_.empty()) rows.reversed = reversed_rows(device, source);
  RecurrentResult encoded = rnn_(embedded, {}, context, rows);
  context.activation("encoder.output", encoded.outputs);
  for (std::size_t i = 0; i < state_bridges_.size(); ++i)
    encoded.states[i] = state_bridges_[i](encoded.states[i], ATTN_ACTIVATION_TANH);
  for (std::size_t i = 0; i < cell_bridges_.size(); ++i)
    encoded.cells[i] = cell_bridges_[i](encoded.cells[i], ATTN_ACTIVATION_TANH);
  return encoded;
}

RecurrentOutput::RecurrentOutput(const Scope& scope, const ModelConfig& config, std::int64_t context_width,
                                 std::int64_t vocabulary, const TokenEmbedding& embedding)
    : dropout_(config.embedding_dropout) {
  std::int64_t width = config.hidden_size;
  if (config.deep_output) {
    readout_.emplace(scope / "readout", config.hidden_size + context_width + config.embedding_size,
                     config.embedding_size);
    width = config.embedding_size;
  }
  if (config.tying == ModelConfig::Tying::none) {
    dense_.emplace(scope / "dense", width, vocabulary);
  } else {
    tied_table_ = embedding.table_parameter();
    bias_ = (scope / "dense").parameter("bias", Shape{vocabulary}, Initialization::zeros());
  }
}

Tensor RecurrentOutput::operator()(const Tensor& states, const Tensor& contexts, const Tensor& embedded,
                                   Context& context) const {
  context.activation("decoder.output", states);
  const std::int64_t tokens = states.size(0) * states.size(1);
  Tensor rows = states.reshaped({tokens, states.size(2)});
  if (readout_) {
    const Tensor all = ops::concatenate(std::array{states, contexts, embedded}, -1);
    rows = (*readout_)(all.reshaped({tokens, all.size(2)}), ATTN_ACTIVATION_TANH);
  }
  if (dropout_ > 0.0) rows = ops::dropout(rows, context.dropout(dropout_));
  Tensor logits = dense_ ? (*dense_)(rows) : ops::linear(rows, tied_table_->tensor, bias_->tensor);
  context.activation("decoder.logits", logits);
  return logits;
}

Seq2SeqDecoder::Seq2SeqDecoder(const Scope& scope, const ModelConfig& config, std::int64_t vocabulary,
                               const TokenEmbedding& source)
    : embedding_(target_embedding(scope / "embedding", config, vocabulary, source)),
      rnn_(scope / "rnn", decoder_options(config, config.hidden_size)),
      output_(scope, config, config.hidden_size, vocabulary, embedding_) {}

Tensor Seq2SeqDecoder::operator()(const Tensor& ids, State& state, Context& context) const {
  const std::int64_t steps = ids.size(0), batch = ids.size(1), hidden = state.context.size(1);
  const Tensor embedded = embedding_(ids, context);
  context.activation("decoder.embedding", embedded);
  // Broadcast by an addition, whose gradient sums over the steps.
  const Tensor zeros = Tensor::zeros(ids.shared_device(), {steps, batch, hidden}, embedded.dtype());
  const Tensor repeated = ops::add(zeros, state.context.reshaped({1, batch, hidden}));
  const RecurrentResult result =
      rnn_(ops::concatenate(std::array{embedded, repeated}, -1), state.recurrent, context);
  state.recurrent = result.state();
  return output_(result.outputs, repeated, embedded, context);
}

Seq2SeqAttentionDecoder::Seq2SeqAttentionDecoder(const Scope& scope, const ModelConfig& config,
                                                 std::int64_t vocabulary, std::int64_t encoder_width,
                                                 const TokenEmbedding& source)
    : embedding_(target_embedding(scope / "embedding", config, vocabulary, source)),
      attention_(scope / "attention", {config.scoring, config.hidden_size, encoder_width, config.hidden_size,
                                       config.weights_dropout()}),
      rnn_(scope / "rnn", decoder_options(config, encoder_width)),
      output_(scope, config, encoder_width, vocabulary, embedding_),
      masking_(config.masking) {}

Seq2SeqAttentionDecoder::State Seq2SeqAttentionDecoder::start(const RecurrentResult& encoded,
                                                              const Tensor& valid_lengths) const {
  const Tensor memory = ops::swap_axes(encoded.outputs, 0, 1);
  return {encoded.state(), memory, attention_.project_keys(memory), valid_lengths};
}

Tensor Seq2SeqAttentionDecoder::operator()(const Tensor& ids, State& state, Context& context) const {
  const std::int64_t steps = ids.size(0), batch = ids.size(1);
  ops::Mask mask;
  mask.valid_lengths = state.valid_lengths;
  mask.masking = masking_;
  const Tensor embedded = embedding_(ids, context);
  context.activation("decoder.embedding", embedded);
  std::vector<Tensor> outputs, contexts;
  for (std::int64_t t = 0; t < steps; ++t) {
    const Tensor& last = state.recurrent.hidden.back();
    const Tensor query = last.reshaped({batch, 1, last.size(1)});
    const Tensor attended =
        attention_(query, state.projected_keys, state.memory, mask, context, {AttentionKind::rnn_cross, 0})
            .reshaped({1, batch, state.memory.size(2)});
    const Tensor token = ops::slice_axis(embedded, 0, t, 1);
    const RecurrentResult result =
        rnn_(ops::concatenate(std::array{attended, token}, -1), state.recurrent, context);
    state.recurrent = result.state();
    outputs.push_back(result.outputs);
    if (output_.deep()) contexts.push_back(attended);
  }
  const Tensor all_contexts = output_.deep() ? ops::concatenate_all(contexts, 0) : Tensor{};
  return output_(ops::concatenate_all(outputs, 0), all_contexts, embedded, context);
}

}  // namespace attn
