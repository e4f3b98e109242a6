#include "attn/decoding/ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/core/error.h"
#include "attn/ops/ops.h"

namespace attn {
namespace {

class EnsembleState final : public DecoderState {
 public:
  explicit EnsembleState(std::vector<std::unique_ptr<DecoderState>> members) : members_(std::move(members)) {}

  void select_rows(std::span<const std::int32_t> rows) override {
    for (const auto& member : members_) member->select_rows(rows);
  }
  DecoderState& member(std::size_t index) const { return *members_[index]; }
  void advance() noexcept { ++position_; }

 private:
  std::vector<std::unique_ptr<DecoderState>> members_;
};

Tensor log_softmax(const Tensor& logits) {
  return ops::subtract(logits, ops::log_sum_exp(logits).reshaped({logits.size(0), 1}));
}

// [steps * batch, vocabulary] with the rows of a sentence one after the other.
Tensor batch_major(const TranslationModel::Logits& logits, const TokenBatch& decoder_input) {
  if (logits.order == TokenOrder::batch_major) return logits.values;
  const std::int64_t vocabulary = logits.values.size(-1);
  const Tensor steps = logits.values.reshaped({decoder_input.steps, decoder_input.size, vocabulary});
  return ops::swap_axes(steps, 0, 1).reshaped({decoder_input.size * decoder_input.steps, vocabulary});
}

std::string shown(std::optional<std::size_t> number) {
  return number ? std::to_string(*number) : std::string("none");
}

std::optional<std::string> vocabulary_difference(const Vocabulary& first, const Vocabulary& second) {
  const auto a = first.ordinary_tokens(), b = second.ordinary_tokens();
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_a != a.end() && in_b != b.end()) {
    return fmt::format("entry {} is '{}' in one and '{}' in the other",
                       in_a - a.begin() + Vocabulary::special_count, *in_a, *in_b);
  }
  if (a.size() == b.size()) return std::nullopt;
  return fmt::format("{} and {} entries", first.size(), second.size());
}

std::optional<std::string> tokenizer_difference(const Tokenizer& first, const Tokenizer& second) {
  if (first.name() != second.name()) return fmt::format("{} and {}", first.name(), second.name());
  if (first.options().keep_spaces != second.options().keep_spaces) return "only one keeps spaces";
  if (first.resource() != second.resource())
    return fmt::format("{} with other models or codes", first.name());
  return std::nullopt;
}

}  // namespace

EnsembleModel::EnsembleModel(std::vector<std::unique_ptr<TranslationModel>> members, EnsembleAverage average)
    : members_(std::move(members)), average_(average) {
  if (members_.empty()) fail(ExitCode::internal, "an ensemble of no models");
  for (const auto& member : members_) {
    if (member->device() != members_.front()->device())
      fail(ExitCode::internal, "the models of an ensemble are on different devices");
  }
  parameters_ =
      std::make_unique<ParameterStore>(members_.front()->device(), members_.front()->parameters().dtype());
}

// Layers are counted on from member to member, whatever the kind of their attention.
Context EnsembleModel::member_context(Context& context, std::size_t member) const {
  Context own;
  if (!context.observed()) return own;
  std::int64_t layers_before = 0;
  for (std::size_t i = 0; i < member; ++i) {
    std::int64_t layers = 0;
    for (const AttentionMap& map : members_[i]->attention_maps()) layers = std::max(layers, map.layers);
    layers_before += layers;
  }
  own.observe([&context, layers_before](AttentionKind kind, std::int64_t layer, const Tensor& weights) {
    context.report(kind, layers_before + layer, weights);
  });
  return own;
}

Tensor EnsembleModel::averaged(std::span<const Tensor> logits) const {
  if (logits.size() == 1) return logits.front();
  std::vector<Tensor> members;
  for (const Tensor& member : logits) {
    if (member.shape() != logits.front().shape()) {
      fail(ExitCode::internal, "the models of an ensemble give logits of shapes {} and {}",
           logits.front().shape(), member.shape());
    }
    members.push_back(log_softmax(ops::cast(member, parameters_->dtype())));
  }
  const auto count = static_cast<double>(members.size());
  if (average_ == EnsembleAverage::log_probabilities) {
    Tensor sum = members.front();
    for (std::size_t i = 1; i < members.size(); ++i) sum = ops::add(sum, members[i]);
    return ops::affine(sum, 1.0 / count, 0.0);
  }
  // log(sum(exp(x))) without underflow where all members think little of a token.
  Tensor largest = members.front();
  for (std::size_t i = 1; i < members.size(); ++i) largest = ops::maximum(largest, members[i]);
  Tensor sum = ops::exp(ops::subtract(members.front(), largest));
  for (std::size_t i = 1; i < members.size(); ++i)
    sum = ops::add(sum, ops::exp(ops::subtract(members[i], largest)));
  return ops::affine(ops::add(largest, ops::log(sum)), 1.0, -std::log(count));
}

TranslationModel::Logits EnsembleModel::forward(const TokenBatch& source, const TokenBatch& decoder_input,
                                                Context& context) const {
  std::vector<Tensor> logits;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Context own = member_context(context, i);
    logits.push_back(batch_major(members_[i]->forward(source, decoder_input, own), decoder_input));
  }
  return {averaged(logits), TokenOrder::batch_major};
}

std::unique_ptr<DecoderState> EnsembleModel::encode(const TokenBatch& source, std::int64_t max_steps,
                                                    Context& context) const {
  std::vector<std::unique_ptr<DecoderState>> states;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Context own = member_context(context, i);
    states.push_back(members_[i]->encode(source, max_steps, own));
  }
  return std::make_unique<EnsembleState>(std::move(states));
}

Tensor EnsembleModel::step(DecoderState& state, std::span<const std::int32_t> tokens,
                           Context& context) const {
  auto& states = static_cast<EnsembleState&>(state);
  std::vector<Tensor> logits;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Context own = member_context(context, i);
    logits.push_back(members_[i]->step(states.member(i), tokens, own));
  }
  states.advance();
  return averaged(logits);
}

std::vector<TranslationModel::AttentionMap> EnsembleModel::attention_maps() const {
  std::vector<AttentionMap> maps;
  for (const auto& member : members_) {
    const auto own = member->attention_maps();
    maps.insert(maps.end(), own.begin(), own.end());
  }
  return maps;
}

std::optional<std::string> text_difference(const TextProcessing& first, const TextProcessing& second) {
  const auto sentence = [](const char* what, const std::optional<std::string>& difference) {
    return difference ? std::optional(fmt::format("the {} differ: {}", what, *difference)) : std::nullopt;
  };
  auto difference =
      sentence("source tokenizers", tokenizer_difference(first.source_tokenizer, second.source_tokenizer));
  if (!difference)
    difference =
        sentence("target tokenizers", tokenizer_difference(first.target_tokenizer, second.target_tokenizer));
  if (!difference)
    difference = sentence("source vocabularies",
                          vocabulary_difference(first.source_vocabulary, second.source_vocabulary));
  if (!difference)
    difference = sentence("target vocabularies",
                          vocabulary_difference(first.target_vocabulary, second.target_vocabulary));
  if (!difference && first.steps != second.steps) {
    difference = fmt::format(
        "their sources are cut or padded to different numbers of steps (data.steps): {} "
        "and {}",
        shown(first.steps), shown(second.steps));
  }
  return difference;
}

ModelConfig ensemble_config(std::span<const ModelConfig> members) {
  ModelConfig config = members.front();
  const auto limited = [](const ModelConfig& member) {
    return member.type == ModelConfig::Type::transformer && member.positions == PositionKind::learned;
  };
  for (const ModelConfig& member : members) {
    config.encode_padding = config.encode_padding || member.encode_padding;
    if (!limited(member)) continue;
    const std::int64_t positions =
        limited(config) ? std::min(config.max_length, member.max_length) : member.max_length;
    config.type = ModelConfig::Type::transformer;
    config.positions = PositionKind::learned;
    config.max_length = positions;
  }
  return config;
}

}  // namespace attn
