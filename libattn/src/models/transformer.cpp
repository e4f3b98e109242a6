#include "attn/models/transformer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

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

// Everything that one decoding batch keeps. Keys and values stay where they were written. Which of them
// belong to a hypothesis is a list of row numbers, so that little moves when hypotheses change places or end:
// copies of all keys and values at every step of a beam search would take longer than attention itself.
class TransformerState final : public DecoderState {
 public:
  // Of one layer: what was decoded so far [cache rows, width], and the projected memory [sentences * source
  // steps, width].
  struct Layer {
    KeyValueCache past, memory;
  };

  TransformerState(std::vector<Layer> layers, Tensor memory_lengths, std::int64_t source_steps,
                   std::int64_t max_steps)
      : layers_(std::move(layers)),
        memory_lengths_(std::move(memory_lengths)),
        shared_(static_cast<std::size_t>(memory_lengths_.size(0))),
        memory_sentences_(static_cast<std::size_t>(memory_lengths_.size(0))),
        source_steps_(source_steps),
        max_steps_(max_steps) {
    std::iota(memory_sentences_.begin(), memory_sentences_.end(), 0);
    number_memory_rows();
  }

  void select_rows(std::span<const std::int32_t> rows) override {
    std::vector<std::int32_t> selected;
    selected.reserve(rows.size() * static_cast<std::size_t>(position_));
    for (const std::int32_t row : rows) {
      const auto begin = past_rows_.begin() + row * position_;
      selected.insert(selected.end(), begin, begin + position_);
    }
    past_rows_ = std::move(selected);
    const auto memory_rows = shared_.select(rows);
    if (!memory_rows) return;
    memory_lengths_ = chosen_rows(memory_lengths_, upload(*memory_rows, {size_of(*memory_rows)}));
    std::vector<std::int32_t> sentences;
    for (const std::int32_t row : *memory_rows)
      sentences.push_back(memory_sentences_[static_cast<std::size_t>(row)]);
    memory_sentences_ = std::move(sentences);
    number_memory_rows();
  }

  /// Begins a step of `rows` hypotheses: makes room for their keys and values, and counts them as theirs.
  void begin_step(std::int64_t rows) {
    make_room(rows);
    std::vector<std::int32_t> longer;
    longer.reserve(static_cast<std::size_t>(rows * (position_ + 1)));
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto begin = past_rows_.begin() + row * position_;
      longer.insert(longer.end(), begin, begin + position_);
      longer.push_back(static_cast<std::int32_t>(used_ + row));
    }
    past_rows_ = std::move(longer);
    past_index_ = upload(past_rows_, {rows, position_ + 1});
  }
  void end_step(std::int64_t rows) noexcept {
    used_ += rows;
    ++position_;
  }

  SharedKeyValueCache past(std::size_t layer) const {
    return {layers_[layer].past.keys, layers_[layer].past.values, past_index_};
  }
  SharedKeyValueCache memory(std::size_t layer) const {
    return {layers_[layer].memory.keys, layers_[layer].memory.values, memory_index_};
  }
  const Tensor& memory_lengths() const noexcept { return memory_lengths_; }
  /// The row of the cache that is written next.
  std::int64_t next_row() const noexcept { return used_; }
  std::int64_t capacity() const noexcept { return max_steps_; }

 private:
  static std::int64_t size_of(std::span<const std::int32_t> values) {
    return static_cast<std::int64_t>(values.size());
  }
  Tensor upload(std::span<const std::int32_t> values, const Shape& shape) const {
    return Tensor::from<std::int32_t>(memory_lengths_.shared_device(), values, shape);
  }

  void number_memory_rows() {
    std::vector<std::int32_t> rows;
    rows.reserve(memory_sentences_.size() * static_cast<std::size_t>(source_steps_));
    for (const std::int32_t sentence : memory_sentences_) {
      for (std::int64_t step = 0; step < source_steps_; ++step)
        rows.push_back(static_cast<std::int32_t>(sentence * source_steps_ + step));
    }
    memory_index_ = upload(rows, {size_of(memory_sentences_), source_steps_});
  }

  // The first step has one hypothesis a sentence, so that only the second one shows how many there will be.
  // Then there is room for translations about as long as their sources. From there on the cache grows by
  // half, so that all growing together copies each row about twice.
  void make_room(std::int64_t rows) {
    const std::int64_t capacity = layers_.empty() ? used_ + rows : layers_.front().past.keys.size(0);
    if (used_ + rows <= capacity) return;
    const std::int64_t steps = position_ == 0 ? 1 : std::min(source_steps_ + 2, max_steps_ - position_);
    const std::int64_t more = position_ < 2 ? rows * steps : std::max(rows, used_ / 2);
    if (capacity + more > std::numeric_limits<std::int32_t>::max())
      fail(ExitCode::usage, "a batch of more than 2^31 decoded tokens; decode fewer lines at a time");
    for (Layer& layer : layers_) {
      for (Tensor* tensor : {&layer.past.keys, &layer.past.values}) {
        const Tensor longer(tensor->shared_device(), {capacity + more, tensor->size(1)}, tensor->dtype());
        ops::copy_into(longer.rows(0, used_), tensor->rows(0, used_));
        *tensor = longer;
      }
    }
  }

  std::vector<Layer> layers_;
  Tensor memory_lengths_;
  SharedMemory shared_;
  std::vector<std::int32_t> memory_sentences_;  // whose memory each row of the memory's index is
  std::vector<std::int32_t> past_rows_;         // [hypotheses, position]
  Tensor past_index_, memory_index_;            // the rows of past and memory
  std::int64_t source_steps_, max_steps_;
  std::int64_t used_ = 0;  // rows of the cache
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

template<typename Memory, typename SelfAttention>
Tensor TransformerDecoderBlock::run(const Tensor& x, const Memory& memory, const Tensor& memory_lengths,
                                    Context& context, SelfAttention&& self_attention) const {
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

Tensor TransformerDecoderBlock::step(const Tensor& x, const SharedKeyValueCache& past,
                                     const SharedKeyValueCache& memory, const Tensor& memory_lengths,
                                     const Tensor& next_row_on_device, std::int64_t next_row,
                                     Context& context) const {
  return run(x, memory, memory_lengths, context, [&](const Tensor& input) {
    const KeyValueCache fresh = attention1_.project(input, input);
    const auto append = [&](const Tensor& cache, const Tensor& rows) {
      ops::kv_append(cache.reshaped({1, cache.size(0), cache.size(1)}),
                     rows.reshaped({1, rows.size(0), rows.size(2)}), next_row_on_device, next_row);
    };
    append(past.keys, fresh.keys);
    append(past.values, fresh.values);
    return attention1_.attend(input, past, {}, context);
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
  const std::int64_t rows = source.size * source.steps, width = config_.hidden_size;
  std::vector<TransformerState::Layer> layers;
  for (const TransformerDecoderBlock& block : decoder_blocks_) {
    const auto empty = [&] { return Tensor(device(), {0, width}, memory.dtype()); };
    const KeyValueCache projected = block.project_memory(memory);
    layers.push_back({{empty(), empty()},
                      {projected.keys.reshaped({rows, width}), projected.values.reshaped({rows, width})}});
  }
  return std::make_unique<TransformerState>(std::move(layers), lengths, source.steps, max_steps);
}

Tensor Transformer::step(DecoderState& state, std::span<const std::int32_t> tokens, Context& context) const {
  auto& decoder = static_cast<TransformerState&>(state);
  const std::int64_t position = state.position(), rows = static_cast<std::int64_t>(tokens.size());
  if (position >= decoder.capacity()) {
    fail(ExitCode::internal, "step {} of a decoder that was started for {} steps", position + 1,
         decoder.capacity());
  }
  decoder.begin_step(rows);
  const std::int64_t next_row = decoder.next_row();
  const auto next_row_value = static_cast<std::int32_t>(next_row);
  const Tensor next_row_on_device = Tensor::from<std::int32_t>(device(), {&next_row_value, 1}, Shape{});
  Tensor x = target_embedding_(Tensor::from<std::int32_t>(device(), tokens, {rows, 1}), context, position);
  for (std::size_t i = 0; i < decoder_blocks_.size(); ++i) {
    x = decoder_blocks_[i].step(x, decoder.past(i), decoder.memory(i), decoder.memory_lengths(),
                                next_row_on_device, next_row, context);
  }
  decoder.end_step(rows);
  return output(x);
}

std::vector<TranslationModel::AttentionMap> Transformer::attention_maps() const {
  return {{AttentionKind::encoder_self, config_.encoder_layers, config_.heads},
          {AttentionKind::decoder_self, config_.decoder_layers, config_.heads},
          {AttentionKind::cross, config_.decoder_layers, config_.heads}};
}

}  // namespace attn
