#include "attn/decoding/alignment.h"

#include <algorithm>

#include "attn/core/error.h"
#include "attn/decoding/forced.h"

namespace attn {
namespace {

bool is_cross(AttentionKind kind) {
  return kind == AttentionKind::cross || kind == AttentionKind::rnn_cross;
}

// Adds up weights [batch, heads, queries, keys] over layers and heads. Bahdanau attention reports one query
// after the other, so that a report goes on where the one before it of the same layer ended.
class WeightSum {
 public:
  WeightSum(std::int64_t batch, std::int64_t queries, std::int64_t keys)
      : queries_(queries), keys_(keys), sums_(static_cast<std::size_t>(batch * queries * keys)) {}

  void add(std::int64_t layer, const Tensor& weights) {
    if (static_cast<std::size_t>(layer) >= next_query_.size())
      next_query_.resize(static_cast<std::size_t>(layer) + 1);
    std::int64_t& first_query = next_query_[static_cast<std::size_t>(layer)];
    const std::int64_t reported = weights.size(2);
    if (weights.size(3) != keys_ || first_query + reported > queries_) {
      fail(ExitCode::internal, "attention weights of shape {} for {} target and {} source tokens",
           weights.shape(), queries_, keys_);
    }
    const std::vector<double> values = weights.to_vector<double>();
    const double* value = values.data();
    for (std::int64_t b = 0; b < weights.size(0); ++b) {
      for (std::int64_t head = 0; head < weights.size(1); ++head) {
        double* sum = sums_.data() + (b * queries_ + first_query) * keys_;
        for (std::int64_t i = 0; i < reported * keys_; ++i) *sum++ += *value++;
      }
    }
    first_query += reported;
  }

  /// The summed weights of one target token.
  std::span<const double> of(std::size_t b, std::size_t query) const {
    const auto row = b * static_cast<std::size_t>(queries_) + query;
    return std::span(sums_).subspan(row * static_cast<std::size_t>(keys_), static_cast<std::size_t>(keys_));
  }

 private:
  std::int64_t queries_, keys_;
  std::vector<double> sums_;
  std::vector<std::int64_t> next_query_;  // of each layer
};

}  // namespace

bool can_align(const TranslationModel& model) {
  const auto maps = model.attention_maps();
  return std::any_of(maps.begin(), maps.end(), [](const auto& map) { return is_cross(map.kind); });
}

std::vector<std::vector<AlignmentLink>> attention_alignments(
    const TranslationModel& model, const TokenBatch& source, std::span<const std::int32_t> source_tokens,
    std::span<const std::vector<std::int32_t>> targets) {
  if (!can_align(model)) {
    fail(ExitCode::usage,
         "this model has no attention, so that its translations cannot be aligned; use a model of type "
         "seq2seq_attention or transformer");
  }
  std::vector<std::vector<AlignmentLink>> alignments(targets.size());
  const DecoderInput input = make_decoder_input(targets);
  if (input.ids.empty()) return alignments;
  WeightSum sum(source.size, input.steps, source.steps);
  Context context;
  context.observe([&](AttentionKind kind, std::int64_t layer, const Tensor& weights) {
    if (is_cross(kind)) sum.add(layer, weights);
  });
  model.forward(source, input.batch(), context);
  for (std::size_t b = 0; b < targets.size(); ++b) {
    if (source_tokens[b] <= 0) continue;
    for (std::size_t t = 0; t < targets[b].size(); ++t) {
      const auto weights = sum.of(b, t).first(static_cast<std::size_t>(source_tokens[b]));
      const auto largest = std::max_element(weights.begin(), weights.end());
      alignments[b].emplace_back(largest - weights.begin(), static_cast<std::int64_t>(t));
    }
  }
  return alignments;
}

}  // namespace attn
