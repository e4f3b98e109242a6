#include "attn/models/seq2seq.h"

#include "attn/core/error.h"
#include "decoding_state.h"

namespace attn {
namespace {

void check_layers(const ModelConfig& config) {
  if (config.encoder_layers == config.decoder_layers) return;
  fail(ExitCode::config,
       "a recurrent model hands the encoder's states to the decoder layer by layer: model.encoder_layers is "
       "{}, "
       "model.decoder_layers is {}; make them equal",
       config.encoder_layers, config.decoder_layers);
}

// Dot products are between a state of the decoder and an output of the encoder.
void check_scoring(const ModelConfig& config) {
  if (config.scoring != Scoring::dot || !config.bidirectional) return;
  fail(ExitCode::config,
       "model.scoring is dot, but the states of the decoder are {} wide and the outputs of a bidirectional "
       "encoder "
       "{}; use model.scoring: general, which learns a matrix between them",
       config.hidden_size, 2 * config.hidden_size);
}

// A tied table's columns are what the output layer reads.
void check_tying(const ModelConfig& config, const VocabularySizes& vocabularies) {
  if (config.tying == ModelConfig::Tying::none) return;
  if (!config.deep_output && config.embedding_size != config.hidden_size) {
    fail(ExitCode::config,
         "model.tying shares the embedding with the output layer, but model.embedding_size is {} and the "
         "output "
         "layer reads model.hidden_size {}; make them equal, or use model.deep_output: true",
         config.embedding_size, config.hidden_size);
  }
  if (config.tying == ModelConfig::Tying::all && vocabularies.source != vocabularies.target) {
    fail(ExitCode::config,
         "model.tying is 'all', but the vocabularies have {} and {} entries; use one vocabulary for both "
         "sides "
         "(data.shared_vocabulary: true)",
         vocabularies.source, vocabularies.target);
  }
}

const ModelConfig& checked(const ModelConfig& config, const VocabularySizes& vocabularies) {
  check_layers(config);
  if (config.type == ModelConfig::Type::seq2seq_attention) check_scoring(config);
  check_tying(config, vocabularies);
  return config;
}

void choose_rows(RecurrentState& state, const Tensor& rows) {
  for (Tensor& hidden : state.hidden) hidden = chosen_rows(hidden, rows);
  for (Tensor& cell : state.cells) cell = chosen_rows(cell, rows);
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
    choose_rows(state_.recurrent, index);
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
  explicit AttentionState(Seq2SeqAttentionDecoder::State state)
      : state_(std::move(state)), shared_(static_cast<std::size_t>(state_.memory.size(0))) {}

  void select_rows(std::span<const std::int32_t> rows) override {
    choose_rows(state_.recurrent, index_of(rows));
    const auto memory_rows = shared_.select(rows);
    if (!memory_rows) return;
    const Tensor index = index_of(*memory_rows);
    for (Tensor* tensor : {&state_.memory, &state_.projected_keys, &state_.valid_lengths})
      *tensor = chosen_rows(*tensor, index);
  }
  Seq2SeqAttentionDecoder::State& advance() {
    ++position_;
    return state_;
  }

 private:
  Tensor index_of(std::span<const std::int32_t> rows) const {
    return Tensor::from<std::int32_t>(state_.memory.shared_device(), rows,
                                      Shape{static_cast<std::int64_t>(rows.size())});
  }

  Seq2SeqAttentionDecoder::State state_;
  SharedMemory shared_;
};

}  // namespace

Seq2Seq::Seq2Seq(const ModelConfig& config, const VocabularySizes& vocabularies,
                 std::unique_ptr<ParameterStore> parameters)
    : encoder_(Scope(*parameters) / "encoder", checked(config, vocabularies), vocabularies.source),
      decoder_(Scope(*parameters) / "decoder", config, vocabularies.target, encoder_.embedding()) {
  parameters_ = std::move(parameters);
}

TranslationModel::Logits Seq2Seq::forward(const TokenBatch& source, const TokenBatch& decoder_input,
                                          Context& context) const {
  Seq2SeqDecoder::State state = Seq2SeqDecoder::start(encoder_(device(), source, context));
  return {decoder_(time_major_ids(device(), decoder_input), state, context), TokenOrder::time_major};
}

std::unique_ptr<DecoderState> Seq2Seq::encode(const TokenBatch& source, std::int64_t /*max_steps*/,
                                              Context& context) const {
  return std::make_unique<PlainState>(Seq2SeqDecoder::start(encoder_(device(), source, context)));
}

Tensor Seq2Seq::step(DecoderState& state, std::span<const std::int32_t> tokens, Context& context) const {
  return decoder_(one_step_ids(device(), tokens), static_cast<PlainState&>(state).advance(), context);
}

Seq2SeqAttention::Seq2SeqAttention(const ModelConfig& config, const VocabularySizes& vocabularies,
                                   std::unique_ptr<ParameterStore> parameters)
    : encoder_(Scope(*parameters) / "encoder", checked(config, vocabularies), vocabularies.source),
      decoder_(Scope(*parameters) / "decoder", config, vocabularies.target, encoder_.width(),
               encoder_.embedding()) {
  parameters_ = std::move(parameters);
}

TranslationModel::Logits Seq2SeqAttention::forward(const TokenBatch& source, const TokenBatch& decoder_input,
                                                   Context& context) const {
  const RecurrentResult encoded = encoder_(device(), source, context);
  Seq2SeqAttentionDecoder::State state = decoder_.start(encoded, lengths_on_device(device(), source));
  return {decoder_(time_major_ids(device(), decoder_input), state, context), TokenOrder::time_major};
}

std::unique_ptr<DecoderState> Seq2SeqAttention::encode(const TokenBatch& source, std::int64_t /*max_steps*/,
                                                       Context& context) const {
  const RecurrentResult encoded = encoder_(device(), source, context);
  return std::make_unique<AttentionState>(decoder_.start(encoded, lengths_on_device(device(), source)));
}

Tensor Seq2SeqAttention::step(DecoderState& state, std::span<const std::int32_t> tokens,
                              Context& context) const {
  return decoder_(one_step_ids(device(), tokens), static_cast<AttentionState&>(state).advance(), context);
}

}  // namespace attn
