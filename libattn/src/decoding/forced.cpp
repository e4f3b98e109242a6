#include "attn/decoding/forced.h"

#include <algorithm>
#include <cmath>

#include "attn/core/error.h"
#include "attn/ops/ops.h"
#include "attn/text/vocabulary.h"
#include "decoding/next_tokens.h"

namespace attn {
namespace {

constexpr std::int32_t ignored_label = -1;

// Where the logits of step t of sentence b stand.
std::size_t row_of(TokenOrder order, const DecoderInput& input, std::size_t b, std::size_t t) {
  return order == TokenOrder::batch_major ? b * static_cast<std::size_t>(input.steps) + t
                                          : t * static_cast<std::size_t>(input.size) + b;
}

}  // namespace

DecoderInput make_decoder_input(std::span<const std::vector<std::int32_t>> targets) {
  DecoderInput input;
  input.size = static_cast<std::int64_t>(targets.size());
  for (const auto& target : targets)
    input.steps = std::max(input.steps, static_cast<std::int64_t>(target.size()));
  input.ids.assign(static_cast<std::size_t>(input.size * input.steps), Vocabulary::pad);
  auto row = input.ids.begin();
  for (const auto& target : targets) {
    if (!target.empty()) {
      row[0] = Vocabulary::bos;
      std::copy(target.begin(), target.end() - 1, row + 1);
    }
    input.valid_lengths.push_back(static_cast<std::int32_t>(target.size()));
    row += input.steps;
  }
  return input;
}

std::vector<ForcedScore> forced_scores(const TranslationModel& model, const TokenBatch& source,
                                       std::span<const std::vector<std::int32_t>> targets) {
  Context context;
  return forced_scores(model, source, targets, context);
}

std::vector<ForcedScore> forced_scores(const TranslationModel& model, const TokenBatch& source,
                                       std::span<const std::vector<std::int32_t>> targets, Context& context) {
  if (source.size != static_cast<std::int64_t>(targets.size())) {
    fail(ExitCode::internal, "forced_scores: {} sources and {} targets", source.size, targets.size());
  }
  std::vector<ForcedScore> scores(targets.size());
  const DecoderInput input = make_decoder_input(targets);
  if (input.ids.empty()) return scores;
  const TranslationModel::Logits logits = model.forward(source, input.batch(), context);
  std::vector<std::int32_t> labels(input.ids.size(), ignored_label);
  for (std::size_t b = 0; b < targets.size(); ++b) {
    for (std::size_t t = 0; t < targets[b].size(); ++t)
      labels[row_of(logits.order, input, b, t)] = targets[b][t];
  }
  const Tensor label_tensor = Tensor::from<std::int32_t>(
      model.device(), std::span<const std::int32_t>(labels), Shape{static_cast<std::int64_t>(labels.size())});
  const std::vector<double> losses = ops::cross_entropy(logits.values, label_tensor).to_vector<double>();
  for (std::size_t b = 0; b < targets.size(); ++b) {
    for (std::size_t t = 0; t < targets[b].size(); ++t) {
      const double log_probability = -losses[row_of(logits.order, input, b, t)];
      if (!std::isfinite(log_probability)) fail_not_finite();
      scores[b].token_log_probabilities.push_back(log_probability);
      scores[b].log_probability += log_probability;
    }
  }
  return scores;
}

}  // namespace attn
