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

// query [batch * n, queries, width] -> [batch, n * queries, width], n neighbours that share their keys.
Tensor beside_shared_keys(const Tensor& query, std::int64_t batch) {
  if (batch == query.size(0) || batch == 0) return query;
  return query.reshaped({batch, query.size(0) / batch * query.size(1), query.size(2)});
}

// The inverse for weights [batch, heads, n * queries, keys] -> [rows, heads, queries, keys].
Tensor weights_of_rows(const Tensor& weights, std::int64_t rows) {
  const std::int64_t batch = weights.size(0), heads = weights.size(1), keys = weights.size(3);
  if (batch == rows || batch == 0) return weights;
  const std::int64_t neighbours = rows / batch, queries = weights.size(2) / neighbours;
  return ops::swap_axes(weights.reshaped({batch, heads, neighbours, queries * keys}), 1, 2)
      .reshaped({rows, heads, queries, keys});
}

// The inverse for what has no heads, [batch, n * queries, width] -> [batch * n, queries, width] like the
// rows of `query`.
Tensor like_rows_of(const Tensor& query, const Tensor& x) {
  if (x.size(0) == query.size(0)) return x;
  return x.reshaped({query.size(0), query.size(1), x.size(2)});
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
  const Tensor projected_query = beside_shared_keys(W_q_(query), projected_keys.size(0));
  const ops::AttentionResult result = ops::additive_attention(projected_query, projected_keys, w_v_->tensor,
                                                              value, mask, context.dropout(dropout_));
  if (context.requested(site.kind, site.layer))
    context.give_weights(like_rows_of(query, weights(projected_query, projected_keys, mask)));
  if (context.observed()) {
    context.report(site.kind, site.layer,
                   result.weights.reshaped({query.size(0), 1, query.size(1), result.weights.size(2)}));
  }
  return like_rows_of(query, result.output);
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
  const Tensor queries = beside_shared_keys(query, projected_keys.size(0));
  const ops::AttentionResult result = ops::attention(
      queries, projected_keys, value, {1, 1.0, mask, context.dropout(dropout_), context.observed()});
  if (context.observed())
    context.report(site.kind, site.layer, weights_of_rows(result.weights, query.size(0)));
  if (context.requested(site.kind, site.layer)) {
    context.give_weights(like_rows_of(query, weights_of_heads(queries, projected_keys, 1, 1.0, mask, {})));
  }
  return like_rows_of(query, result.output);
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
  const Tensor projected = beside_shared_keys(W_q_(query), memory.keys.size(0));
  const ops::AttentionResult result =
      ops::attention(projected, memory.keys, memory.values,
                     {options_.heads, scale(), mask, context.dropout(options_.dropout), context.observed()});
  report(
      query, projected, result, [&] { return memory.keys; }, mask, context);
  return W_o_(like_rows_of(query, result.output));
}

Tensor MultiHeadAttention::attend(const Tensor& query, const SharedKeyValueCache& memory, ops::Mask mask,
                                  Context& context) const {
  mask.masking = options_.masking;
  const Tensor projected = beside_shared_keys(W_q_(query), memory.rows.size(0));
  const ops::AttentionResult result =
      ops::cached_attention(projected, memory.keys, memory.values, memory.rows,
                            {options_.heads, scale(), mask, {}, context.observed()});
  report(
      query, projected, result, [&] { return ops::gather_rows(memory.keys, memory.rows); }, mask, context);
  return W_o_(like_rows_of(query, result.output));
}

double MultiHeadAttention::scale() const {
  return reciprocal_root(options_.hidden / options_.heads);
}

void MultiHeadAttention::report(const Tensor& query, const Tensor& projected,
                                const ops::AttentionResult& result, const std::function<Tensor()>& keys,
                                const ops::Mask& mask, Context& context) const {
  const AttentionSite& site = options_.site;
  if (context.observed())
    context.report(site.kind, site.layer, weights_of_rows(result.weights, query.size(0)));
  if (!context.requested(site.kind, site.layer)) return;
  context.give_weights(like_rows_of(
      query, weights_of_heads(projected, keys(), options_.heads, scale(), mask, context.requested_head())));
}

}  // namespace attn
