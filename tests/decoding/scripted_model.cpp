#include "decoding/scripted_model.h"

#include <cmath>

#include "attn/runtime/random.h"

namespace attn::test {
namespace {

using Tokens = std::vector<std::int32_t>;

RandomSequence random_of(std::uint64_t seed, std::string name, std::span<const std::int32_t> source,
                         std::span<const std::int32_t> tokens) {
  for (const std::int32_t token : source) name += '/' + std::to_string(token);
  name += ':';
  for (const std::int32_t token : tokens) name += '/' + std::to_string(token);
  return {seed, name};
}

class ScriptedState final : public DecoderState {
 public:
  ScriptedState(std::vector<Tokens> row_sources, std::size_t source_steps)
      : sources(std::move(row_sources)), tokens(sources.size()), steps(source_steps) {}

  void select_rows(std::span<const std::int32_t> rows) override {
    std::vector<Tokens> new_sources, new_tokens;
    for (const std::int32_t row : rows) {
      new_sources.push_back(sources.at(static_cast<std::size_t>(row)));
      new_tokens.push_back(tokens.at(static_cast<std::size_t>(row)));
    }
    sources = std::move(new_sources);
    tokens = std::move(new_tokens);
  }
  void advance() { ++position_; }

  std::vector<Tokens> sources, tokens;
  std::size_t steps;
};

Tokens row_of(const TokenBatch& batch, std::size_t row) {
  const auto begin = batch.ids.begin() + static_cast<std::ptrdiff_t>(row) * batch.steps;
  return {begin, begin + batch.valid_lengths[row]};
}

}  // namespace

ScriptedModel::ScriptedModel(const std::shared_ptr<Device>& device, std::int64_t vocabulary,
                             std::uint64_t seed, double sharpness, std::int64_t layers, std::int64_t heads)
    : vocabulary_(vocabulary), layers_(layers), heads_(heads), seed_(seed), sharpness_(sharpness) {
  parameters_ = std::make_unique<ParameterStore>(device, DType::f64);
}

std::vector<double> ScriptedModel::logits(std::span<const std::int32_t> source,
                                          std::span<const std::int32_t> tokens) const {
  RandomSequence random = random_of(seed_, "logits", source, tokens);
  return normal_values(random, vocabulary_, sharpness_);
}

std::vector<double> ScriptedModel::attention(std::span<const std::int32_t> source,
                                             std::span<const std::int32_t> tokens, std::int64_t layer,
                                             std::int64_t head, std::size_t keys) const {
  RandomSequence random =
      random_of(seed_, "attention/" + std::to_string(layer) + "/" + std::to_string(head), source, tokens);
  std::vector<double> weights(keys, 0.0);
  double sum = 0.0;
  for (std::size_t key = 0; key < source.size(); ++key) sum += weights[key] = std::exp(2.0 * random.normal());
  for (double& weight : weights) weight /= sum;
  return weights;
}

TranslationModel::Logits ScriptedModel::forward(const TokenBatch& source, const TokenBatch& decoder_input,
                                                Context& context) const {
  std::vector<double> all;
  const auto steps = static_cast<std::size_t>(decoder_input.steps);
  const auto keys = static_cast<std::size_t>(source.steps);
  for (std::size_t b = 0; b < static_cast<std::size_t>(source.size); ++b) {
    const Tokens row = row_of(source, b);
    for (std::size_t t = 0; t < steps; ++t) {
      const auto values = logits(row, decoder_input.ids.subspan(b * steps, t + 1));
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  for (std::int64_t layer = 0; context.observed() && layer < layers_; ++layer) {
    std::vector<double> weights;
    for (std::size_t b = 0; b < static_cast<std::size_t>(source.size); ++b) {
      const Tokens row = row_of(source, b);
      for (std::int64_t head = 0; head < heads_; ++head) {
        for (std::size_t t = 0; t < steps; ++t) {
          const auto values = attention(row, decoder_input.ids.subspan(b * steps, t + 1), layer, head, keys);
          weights.insert(weights.end(), values.begin(), values.end());
        }
      }
    }
    context.report(AttentionKind::cross, layer,
                   Tensor::from<double>(device(), std::span<const double>(weights),
                                        {source.size, heads_, decoder_input.steps, source.steps}));
  }
  return {Tensor::from<double>(device(), std::span<const double>(all),
                               {source.size * decoder_input.steps, vocabulary_}),
          TokenOrder::batch_major};
}

std::unique_ptr<DecoderState> ScriptedModel::encode(const TokenBatch& source, std::int64_t /*max_steps*/,
                                                    Context& /*context*/) const {
  std::vector<Tokens> sources;
  for (std::size_t b = 0; b < static_cast<std::size_t>(source.size); ++b)
    sources.push_back(row_of(source, b));
  return std::make_unique<ScriptedState>(std::move(sources), static_cast<std::size_t>(source.steps));
}

Tensor ScriptedModel::step(DecoderState& state, std::span<const std::int32_t> tokens,
                           Context& context) const {
  auto& scripted = static_cast<ScriptedState&>(state);
  const auto rows = static_cast<std::int64_t>(tokens.size());
  std::vector<double> all;
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    scripted.tokens.at(row).push_back(tokens[row]);
    const auto values = logits(scripted.sources[row], scripted.tokens[row]);
    all.insert(all.end(), values.begin(), values.end());
  }
  for (std::int64_t layer = 0; context.observed() && layer < layers_; ++layer) {
    std::vector<double> weights;
    for (std::size_t row = 0; row < tokens.size(); ++row) {
      for (std::int64_t head = 0; head < heads_; ++head) {
        const auto values =
            attention(scripted.sources[row], scripted.tokens[row], layer, head, scripted.steps);
        weights.insert(weights.end(), values.begin(), values.end());
      }
    }
    context.report(AttentionKind::cross, layer,
                   Tensor::from<double>(device(), std::span<const double>(weights),
                                        {rows, heads_, 1, static_cast<std::int64_t>(scripted.steps)}));
  }
  scripted.advance();
  return Tensor::from<double>(device(), std::span<const double>(all), {rows, vocabulary_});
}

std::vector<TranslationModel::AttentionMap> ScriptedModel::attention_maps() const {
  if (layers_ == 0) return {};
  return {{AttentionKind::cross, layers_, heads_}};
}

}  // namespace attn::test
