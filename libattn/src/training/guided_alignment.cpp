#include "attn/training/guided_alignment.h"

#include <algorithm>

#include "attn/core/error.h"
#include "attn/ops/ops.h"

namespace attn {
namespace {

// A weight that has become 0 must not make the loss infinite, nor its gradient.
constexpr double least_weight = 1e-7;

TranslationModel::AttentionMap source_attention(const TranslationModel& model) {
  for (const TranslationModel::AttentionMap& map : model.attention_maps()) {
    if (map.kind == AttentionKind::cross || map.kind == AttentionKind::rnn_cross) return map;
  }
  fail(ExitCode::config,
       "training.guided_alignment_weight needs a model that attends to the source; choose model.type "
       "seq2seq-attention or transformer");
}

void require_below(const char* key, std::int64_t value, std::int64_t count, const char* what) {
  if (value >= 0 && value < count) return;
  fail(ExitCode::config,
       "training.{} is {}, but the model's attention to the source has {} {}, counted from 0", key, value,
       count, what);
}

}  // namespace

void GuidedAlignment::request(Context& context, const TranslationModel& model) const {
  const TranslationModel::AttentionMap map = source_attention(model);
  const std::int64_t layer = options_.layer.value_or(std::max<std::int64_t>(map.layers - 2, 0));
  require_below("guided_alignment_layer", layer, map.layers, "layers");
  if (options_.head) require_below("guided_alignment_head", *options_.head, map.heads, "heads");
  context.request_weights(map.kind, layer, options_.head);
}

// [batch, target steps, source steps]: an equal part for every source of a target token, 0 elsewhere.
std::vector<double> GuidedAlignment::expected_weights(const Batch& batch) const {
  const auto targets = static_cast<std::size_t>(batch.target_steps),
             sources = static_cast<std::size_t>(batch.source_steps);
  std::vector<double> expected(static_cast<std::size_t>(batch.size) * targets * sources, 0.0);
  for (std::size_t b = 0; b < batch.lines.size(); ++b) {
    const auto found = links_.find(batch.lines[b]);
    if (found == links_.end()) continue;
    const auto sentence = expected.begin() + static_cast<std::ptrdiff_t>(b * targets * sources);
    for (const GuidedLink& link : found->second) {
      if (link.source >= batch.source_valid_lengths[b] || link.target >= batch.target_valid_lengths[b])
        continue;
      sentence[static_cast<std::ptrdiff_t>(static_cast<std::size_t>(link.target) * sources) + link.source] =
          1.0;
    }
    for (std::size_t t = 0; t < targets; ++t) {
      const auto row = sentence + static_cast<std::ptrdiff_t>(t * sources);
      const auto count = static_cast<double>(std::count(row, row + batch.source_steps, 1.0));
      if (count > 1.0) std::for_each(row, row + batch.source_steps, [count](double& part) { part /= count; });
    }
  }
  return expected;
}

Tensor GuidedAlignment::objective(const Tensor& loss, const Context& context, const Batch& batch,
                                  double divisor) const {
  const Tensor weights = ops::concatenate_all(context.given_weights(), 1);
  const Tensor expected =
      Tensor::from<double>(weights.shared_device(), expected_weights(batch),
                           {batch.size, batch.target_steps, batch.source_steps}, weights.dtype());
  const Tensor logarithms = ops::log(ops::affine(weights, 1.0, least_weight));
  const Tensor summed = ops::sum(ops::multiply(expected, logarithms));
  return ops::add(loss, ops::affine(summed, -options_.weight / divisor, 0.0));
}

}  // namespace attn
