#include "attn/models/transformer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "attn/core/error.h"
#include "decoding_state.h"

namespace attn {
namespace {

MultiHeadAttention::Options attention_options(const ModelConfig& config, AttentionKind kind,
                                              std::int64_t layer) {
  const std::int64_t width = config.hidden_size;
  return {width,
          width,
          width,
          width,
          config.heads,
          config.weights_dropout(),
          config.attention_bias,
          config.masking,
          {kind, layer}};
}

// A tied table also is the output layer's weight, and then starts small enough for its logits.
TokenEmbedding::Options embedding_options(const ModelConfig& config) {
  const auto width = static_cast<double>(config.hidden_size);
  const bool tied = config.tying != ModelConfig::Tying::none;
  return {std::sqrt(width), config.positions, config.max_length, config.dropout,
          Initialization::normal(tied ? 1.0 / std::sqrt(width) : 1.0)};
}

TokenEmbedding target_embedding(const Scope& scope, const ModelConfig& config,
                                const VocabularySizes& vocabularies, const TokenEmbedding& source) {
  const TokenEmbedding::Options options = embedding_options(config);
  if (config.tying != ModelConfig::Tying::all)
    return {scope, vocabularies.target, config.hidden_size, options};
  if (vocabularies.source != vocabularies.target) {
    fail(ExitCode::config,
         "model.tying is 'all', but the vocabularies have {} and {} entries; use one vocabulary for both "
         "sides (data.shared_vocabulary: true)",
         vocabularies.source, vocabularies.target);
  }
  return {scope, source, options};
}

// Everything that one decoding batch keeps. The memory, and its lengths, are shared by neighbouring rows.
class TransformerState final : public DecoderState {
 public:
  struct Layer {
    KeyValueCache past, memory;
    std::array<RowChooser, 4> choosers = {};
  };

  TransformerState(std::vector<Layer> layers, Tensor memory_lengths, std::int64_t max_steps)
      : layers_(std::move(layers)),
        memory_lengths_(std::move(memory_lengths)),
        shared_(static_cast<std::size_t>(memory_lengths_.size(0))),
        max_steps_(max_steps) {}

  void select_rows(std::span<const std::int32_t> rows) override {
    select_past(rows);
    const auto memory_rows = shared_.select(rows);
    if (!memory_rows) return;
    const Tensor index = index_of(*memory_rows);
    memory_lengths_ = chosen_rows(memory_lengths_, index);
    for (Layer& layer : layers_) {
      layer.choosers[2](layer.memory.keys, index);
      layer.choosers[3](layer.memory.values, index);
    }
  }
  /// Makes room for one more step. Room is added in small pieces, since all of it is copied whenever rows are
  /// chosen.
  void make_room() {
    for (Layer& layer : layers_) {
      if (layer.past.keys.size(1) > position_) return;
      const std::int64_t more = std::min(room_step, max_steps_ - position_);
      for (Tensor* tensor : {&layer.past.keys, &layer.past.values}) {
        const Tensor room =
            Tensor::zeros(tensor->shared_device(), {tensor->size(0), more, tensor->size(2)}, tensor->dtype());
        *tensor = position_ == 0 ? room : ops::concatenate(std::array{*tensor, room}, 1);
      }
    }
  }
  std::vector<Layer>& layers() noexcept { return layers_; }
  const Tensor& memory_lengths() const noexcept { return memory_lengths_; }
  std::int64_t capacity() const noexcept { return max_steps_; }
  void advance() noexcept { ++position_; }

 private:
  Tensor index_of(std::span<const std::int32_t> rows) const {
    return Tensor::from<std::int32_t>(memory_lengths_.shared_device(), rows,
                                      Shape{static_cast<std::int64_t>(rows.size())});
  }

  // Where rows are chosen at every step, as in a beam search, only the steps so far and the next one are
  // copied. Where they seldom are, as in greedy search, room for more steps saves more copies.
  void select_past(std::span<const std::int32_t> rows) {
    if (layers_.empty()) return;
    const bool often = selected_at_ >= 0 && selected_at_ == position_ - 1;
    selected_at_ = position_;
    const std::int64_t capacity = layers_.front().past.keys.size(1), steps = position_ + 1;
    if (!often || capacity == steps) {
      const Tensor index = index_of(rows);
      for (Layer& layer : layers_) {
        layer.choosers[0](layer.past.keys, index);
        layer.choosers[1](layer.past.values, index);
      }
      return;
    }
    const Tensor index = steps_of(rows, capacity, steps);
    const std::int64_t room = (steps + room_step - 1) / room_step * room_step;
    for (Layer& layer : layers_) {
      layer.choosers[0].choose_steps(layer.past.keys, index, room);
      layer.choosers[1].choose_steps(layer.past.values, index, room);
    }
  }

  // The first steps of the chosen rows, and for the next one, which is not written yet, any step: [rows,
  // steps].
  Tensor steps_of(std::span<const std::int32_t> rows, std::int64_t capacity, std::int64_t steps) const {
    std::vector<std::int32_t> index;
    index.reserve(rows.size() * static_cast<std::size_t>(steps));
    for (const std::int32_t row : rows) {
      for (std::int64_t step = 0; step < steps; ++step)
        index.push_back(static_cast<std::int32_t>(row * capacity + std::min(step, capacity - 1)));
    }
    return Tensor::from<std::int32_t>(memory_lengths_.shared_device(), std::span<const std::int32_t>(index),
                                      Shape{static_cast<std::int64_t>(rows.size()), steps});
  }

  static constexpr std::int64_t room_step = 8;
  std::vector<Layer> layers_;
  Tensor memory_lengths_;
  SharedMemory shared_;
  std::int64_t max_steps_;
  std::int64_t selected_at_ = -1;  // the position at which rows were chosen last
};

ops::Mask lengths_mask(const Tensor& valid_lengths) {
  ops::Mask mask;
  mask.valid_lengths = valid_lengths;
  return mask;
}

}  // namespace

TransformerEncoderBlock::TransformerEncoderBlock(const Scope& scope, const ModelConfig& config,
                                                 std::int64_t layer)
    : attention_(scope / "attention", attention_options(config, AttentionKind::encoder_self, layer)),
      addnorm1_(scope / "addnorm1", config),
      ffn_(scope / "ffn", config.hidden_size, config.feed_forward_size, config.hidden_size,
           config.feed_forward_dropout),
      addnorm2_(scope / "addnorm2", config) {}

Tensor TransformerEncoderBlock::operator()(const Tensor& x, const Tensor& valid_lengths,
                                           Context& context) const {
  const Tensor y = addnorm1_(x, context, [&](const Tensor& input) {
    return attention_(input, input, input, lengths_mask(valid_lengths), context);
  });
  return addnorm2_(y, context, [&](const Tensor& input) { return ffn_(input, context); });
}

TransformerDecoderBlock::TransformerDecoderBlock(const Scope& scope, const ModelConfig& config,
                                                 std::int64_t layer)
    : attention1_(scope / "attention1", attention_options(config, AttentionKind::decoder_self, layer)),
      addnorm1_(scope / "addnorm1", config),
      attention2_(scope / "attention2", attention_options(config, AttentionKind::cross, layer)),
      addnorm2_(scope / "addnorm2", config),
      ffn_(scope / "ffn", config.hidden_size, config.feed_forward_size, config.hidden_size,
           config.feed_forward_dropout),
      addnorm3_(scope / "addnorm3", config) {}

template<typename SelfAttention>
Tensor TransformerDecoderBlock::run(const Tensor& x, const KeyValueCache& memory,
                                    const Tensor& memory_lengths, Context& context,
                                    SelfAttention&& self_attention) const {
  const Tensor y = addnorm1_(x, context, self_attention);
  const Tensor z = addnorm2_(y, context, [&](const Tensor& input) {
    return attention2_.attend(input, memory, lengths_mask(memory_lengths), context);
  });
  return addnorm3_(z, context, [&](const Tensor& input) { return ffn_(input, context); });
}

Tensor TransformerDecoderBlock::operator()(const Tensor& x, const KeyValueCache& memory,
                                           const Tensor& memory_lengths, Context& context) const {
  return run(x, memory, memory_lengths, context, [&](const Tensor& input) {
    ops::Mask mask;
    mask.causal = true;
    return attention1_(input, input, input, mask, context);
  });
}

Tensor TransformerDecoderBlock::step(const Tensor& x, KeyValueCache& past, const KeyValueCache& memory,
                                     const Tensor& memory_lengths, const Tensor& step_lengths,
                                     const Tensor& position_on_device, std::int64_t position,
                                     Context& context) const {
  return run(x, memory, memory_lengths, context, [&](const Tensor& input) {
    const KeyValueCache fresh = attention1_.project(input, input);
    ops::kv_append(past.keys, fresh.keys, position_on_device, position);
    ops::kv_append(past.values, fresh.values, position_on_device, position);
    return attention1_.attend(input, past, lengths_mask(step_lengths), context);
  });
}

Transformer::Transformer(const ModelConfig& config, const VocabularySizes& vocabularies,
                         std::unique_ptr<ParameterStore> parameters)
    : config_(config),
      source_embedding_(Scope(*parameters) / "encoder" / "embedding", vocabularies.source, config.hidden_size,
                        embedding_options(config)),
      target_embedding_(target_embedding(Scope(*parameters) / "decoder" / "embedding", config, vocabularies,
                                         source_embedding_)) {
  const Scope encoder = Scope(*parameters) / "encoder", decoder = Scope(*parameters) / "decoder";
  for (std::int64_t i = 0; i < config.encoder_layers; ++i)
    encoder_blocks_.emplace_back(encoder / "blocks" / i, config, i);
  for (std::int64_t i = 0; i < config.decoder_layers; ++i)
    decoder_blocks_.emplace_back(decoder / "blocks" / i, config, i);
  if (config.norm == ModelConfig::Norm::pre || config.final_norm) {
    final_norms_.emplace_back(encoder / "norm", config.hidden_size);
    final_norms_.emplace_back(decoder / "norm", config.hidden_size);
  }
  if (config.tying == ModelConfig::Tying::none) {
    dense_.emplace_back(decoder / "dense", config.hidden_size, vocabularies.target);
  } else {
    output_bias_ = (decoder / "dense").parameter("bias", Shape{vocabularies.target}, Initialization::zeros());
  }
  parameters_ = std::move(parameters);
}

Tensor Transformer::encode_sources(const Tensor& ids, const Tensor& valid_lengths, Context& context) const {
  Tensor x = source_embedding_(ids, context);
  context.activation("encoder.embedding", x);
  for (std::size_t i = 0; i < encoder_blocks_.size(); ++i) {
    x = encoder_blocks_[i](x, valid_lengths, context);
    context.activation("encoder.blocks", x, static_cast<std::int64_t>(i));
  }
  Tensor memory = final_norms_.empty() ? x : final_norms_[0](x);
  context.activation("encoder.output", memory);
  return memory;
}

Tensor Transformer::output(const Tensor& x) const {
  const Tensor normed = final_norms_.empty() ? x : final_norms_[1](x);
  const Tensor rows = normed.reshaped({normed.shape().leading(), normed.size(-1)});
  if (!dense_.empty()) return dense_.front()(rows);
  return ops::linear(rows, target_embedding_.table(), output_bias_->tensor);
}

TranslationModel::Logits Transformer::forward(const TokenBatch& source, const TokenBatch& decoder_input,
                                              Context& context) const {
  const Tensor lengths = lengths_on_device(device(), source);
  const Tensor memory = encode_sources(batch_major_ids(device(), source), lengths, context);
  Tensor x = target_embedding_(batch_major_ids(device(), decoder_input), context);
  context.activation("decoder.embedding", x);
  for (std::size_t i = 0; i < decoder_blocks_.size(); ++i) {
    x = decoder_blocks_[i](x, decoder_blocks_[i].project_memory(memory), lengths, context);
    context.activation("decoder.blocks", x, static_cast<std::int64_t>(i));
  }
  Tensor logits = output(x);
  context.activation("decoder.logits", logits);
  return {std::move(logits), TokenOrder::batch_major};
}

std::unique_ptr<DecoderState> Transformer::encode(const TokenBatch& source, std::int64_t max_steps,
                                                  Context& context) const {
  const Tensor lengths = lengths_on_device(device(), source);
  const Tensor memory = encode_sources(batch_major_ids(device(), source), lengths, context);
  const Shape nothing{source.size, 0, config_.hidden_size};
  std::vector<TransformerState::Layer> layers;
  for (const TransformerDecoderBlock& block : decoder_blocks_) {
    const auto empty = [&] { return Tensor(device(), nothing, memory.dtype()); };
    layers.push_back({{empty(), empty()}, block.project_memory(memory), {}});
  }
  return std::make_unique<TransformerState>(std::move(layers), lengths, max_steps);
}

Tensor Transformer::step(DecoderState& state, std::span<const std::int32_t> tokens, Context& context) const {
  auto& decoder = static_cast<TransformerState&>(state);
  const std::int64_t position = state.position(), rows = static_cast<std::int64_t>(tokens.size());
  if (position >= decoder.capacity()) {
    fail(ExitCode::internal, "step {} of a decoder that was started for {} steps", position + 1,
         decoder.capacity());
  }
  decoder.make_room();
  const auto position_value = static_cast<std::int32_t>(position);
  const std::vector<std::int32_t> lengths(tokens.size(), position_value + 1);
  const Tensor step_lengths =
      Tensor::from<std::int32_t>(device(), std::span<const std::int32_t>(lengths), Shape{rows});
  const Tensor position_on_device = Tensor::from<std::int32_t>(device(), {&position_value, 1}, Shape{});
  Tensor x = target_embedding_(Tensor::from<std::int32_t>(device(), tokens, {rows, 1}), context, position);
  for (std::size_t i = 0; i < decoder_blocks_.size(); ++i) {
    TransformerState::Layer& layer = decoder.layers()[i];
    x = decoder_blocks_[i].step(x, layer.past, layer.memory, decoder.memory_lengths(), step_lengths,
                                position_on_device, position, context);
  }
  decoder.advance();
  return output(x);
}

std::vector<TranslationModel::AttentionMap> Transformer::attention_maps() const {
  return {{AttentionKind::encoder_self, config_.encoder_layers, config_.heads},
          {AttentionKind::decoder_self, config_.decoder_layers, config_.heads},
          {AttentionKind::cross, config_.decoder_layers, config_.heads}};
}

}  // namespace attn
