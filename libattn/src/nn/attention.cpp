#include "attn/nn/attention.h"

#include <array>
#include <cmath>

#include "attn/core/error.h"

namespace attn {
namespace {

double reciprocal_root(std::int64_t size) {
  return 1.0 / std::sqrt(static_cast<double>(size));
}

const MultiHeadAttention::Options& checked(const MultiHeadAttention::Options& options) {
  if (options.heads < 1 || options.hidden % options.heads != 0) {
    fail(ExitCode::config, "multi-head attention: {} heads do not divide the width {}; choose a divisor",
         options.heads, options.hidden);
  }
  return options;
}

// Softmax of scale query key^T for one of the heads, or the mean over all: [batch, queries, keys].
Tensor weights_of_heads(const Tensor& query, const Tensor& key, std::int64_t heads, double scale,
                        const ops::Mask& mask, std::optional<std::int64_t> head) {
  const std::int64_t batch = query.size(0), size = query.size(2) / heads;
  const ops::MatmulOptions product{.transpose_b = true, .alpha = scale};
  if (head) {
    const auto columns = [&](const Tensor& x) { return ops::slice_axis(x, -1, *head * size, size); };
    return ops::masked_softmax(ops::matmul(columns(query), columns(key), product), mask);
  }
  const auto apart = [&](const Tensor& x) {
    return ops::swap_axes(x.reshaped({batch, x.size(1), heads, size}), 1, 2);
  };
  const std::array<int, 1> over_heads{1};
  return ops::mean(ops::masked_softmax(ops::matmul(apart(query), apart(key), product), mask), over_heads);
}

}  // namespace

Tensor DotProductAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                       const ops::Mask& mask, Context& context, AttentionSite site) const {
  const ops::AttentionResult result = ops::attention(
      query, key, value,
      {1, reciprocal_root(query.size(-1)), mask, context.dropout(dropout_), context.observed()});
  if (context.observed()) context.report(site.kind, site.layer, result.weights);
  return result.output;
}

AdditiveAttention::AdditiveAttention(const Scope& scope, std::int64_t query_size, std::int64_t key_size,
                                     std::int64_t hidden, double dropout)
    : W_q_(scope / "W_q", query_size, hidden, false),
      W_k_(scope / "W_k", key_size, hidden, false),
      w_v_((scope / "w_v").parameter("weight", Shape{hidden}, Initialization::xavier(hidden, 1))),
      dropout_(dropout) {}

Tensor AdditiveAttention::operator()(const Tensor& query, const Tensor& projected_keys, const Tensor& value,
                                     const ops::Mask& mask, Context& context, AttentionSite site) const {
  const Tensor projected_query = W_q_(query);
  const ops::AttentionResult result = ops::additive_attention(projected_query, projected_keys, w_v_->tensor,
                                                              value, mask, context.dropout(dropout_));
  if (context.requested(site.kind, site.layer))
    context.give_weights(weights(projected_query, projected_keys, mask));
  const Shape& shape = result.weights.shape();
  if (context.observed())
    context.report(site.kind, site.layer, result.weights.reshaped({shape[0], 1, shape[1], shape[2]}));
  return result.output;
}

Tensor AdditiveAttention::weights(const Tensor& projected_query, const Tensor& projected_keys,
                                  const ops::Mask& mask) const {
  const std::int64_t batch = projected_query.size(0), queries = projected_query.size(1),
                     keys = projected_keys.size(1), hidden = projected_query.size(2);
  const Tensor sums = ops::add(projected_query.reshaped({batch, queries, 1, hidden}),
                               projected_keys.reshaped({batch, 1, keys, hidden}));
  const Tensor scores = ops::linear(ops::tanh(sums), w_v_->tensor.reshaped({1, hidden}));
  return ops::masked_softmax(scores.reshaped({batch, queries, keys}), mask);
}

ScoredAttention::ScoredAttention(const Scope& scope, const Options& options) : dropout_(options.dropout) {
  if (options.scoring == Scoring::additive)
    additive_.emplace(scope, options.query_size, options.key_size, options.hidden, options.dropout);
  if (options.scoring == Scoring::general)
    W_.emplace(scope / "W", options.key_size, options.query_size, false);
}

Tensor ScoredAttention::project_keys(const Tensor& key) const {
  if (additive_) return additive_->project_keys(key);
  return W_ ? (*W_)(key) : key;
}

Tensor ScoredAttention::operator()(const Tensor& query, const Tensor& projected_keys, const Tensor& value,
                                   const ops::Mask& mask, Context& context, AttentionSite site) const {
  if (additive_) return (*additive_)(query, projected_keys, value, mask, context, site);
  const ops::AttentionResult result = ops::attention(
      query, projected_keys, value, {1, 1.0, mask, context.dropout(dropout_), context.observed()});
  if (context.observed()) context.report(site.kind, site.layer, result.weights);
  if (context.requested(site.kind, site.layer))
    context.give_weights(weights_of_heads(query, projected_keys, 1, 1.0, mask, {}));
  return result.output;
}

MultiHeadAttention::MultiHeadAttention(const Scope& scope, const Options& options)
    : options_(checked(options)),
      W_q_(scope / "W_q", options.query_size, options.hidden, options.bias),
      W_k_(scope / "W_k", options.key_size, options.hidden, options.bias),
      W_v_(scope / "W_v", options.value_size, options.hidden, options.bias),
      W_o_(scope / "W_o", options.hidden, options.hidden, options.bias) {}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                      ops::Mask mask, Context& context) const {
  return attend(query, project(key, value), std::move(mask), context);
}

Tensor MultiHeadAttention::attend(const Tensor& query, const KeyValueCache& memory, ops::Mask mask,
                                  Context& context) const {
  mask.masking = options_.masking;
  const double scale = reciprocal_root(options_.hidden / options_.heads);
  const Tensor projected = W_q_(query);
  const ops::AttentionResult result =
      ops::attention(projected, memory.keys, memory.values,
                     {options_.heads, scale, mask, context.dropout(options_.dropout), context.observed()});
  if (context.observed()) context.report(options_.site.kind, options_.site.layer, result.weights);
  if (context.requested(options_.site.kind, options_.site.layer)) {
    context.give_weights(
        weights_of_heads(projected, memory.keys, options_.heads, scale, mask, context.requested_head()));
  }
  return W_o_(result.output);
}

}  // namespace attn
