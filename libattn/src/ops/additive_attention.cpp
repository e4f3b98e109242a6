#include "internal.h"

namespace attn::ops {
namespace {

Mask mask_of(const attn_attention_params& params, const Tensor& lengths) {
  return {lengths, params.causal != 0, params.causal_offset, static_cast<attn_masking>(params.masking)};
}

TensorSpecs additive_shapes(const Call& call) {
  const Tensor &query = call.input(0), &key = call.input(1), &value = call.input(3);
  require_rank("additive_attention", "query", query, 3);
  const std::int64_t batch = query.size(0), queries = query.size(1), hidden = query.size(2);
  require_rank("additive_attention", "key", key, 3);
  require_shape("additive_attention", "key", key, {batch, key.size(1), hidden});
  require_shape("additive_attention", "score_weight", call.input(2), {hidden});
  require_rank("additive_attention", "value", value, 3);
  require_shape("additive_attention", "value", value, {batch, key.size(1), value.size(2)});
  require_lengths("additive_attention", call.input(4), batch, queries);
  return {{{batch, queries, value.size(2)}, query.dtype()}, {{batch, queries, key.size(1)}, query.dtype()}};
}

// tanh(query + key), [batch, queries, keys, hidden]
Tensor features_of(const Tensor& query, const Tensor& key) {
  return tanh(add(query.reshaped({query.size(0), query.size(1), 1, query.size(2)}),
                  key.reshaped({key.size(0), 1, key.size(1), key.size(2)})));
}

Tensors additive_decomposed(const Call& call, std::span<const Into>) {
  const auto& params = call.params.as<attn_attention_params>();
  const Tensor features = features_of(call.input(0), call.input(1));
  const std::int64_t hidden = features.size(3);
  const Tensor scores =
      matmul(features.reshaped({features.shape().leading(), hidden}), call.input(2).reshaped({hidden, 1}));
  const Tensor weights =
      masked_softmax(scores.reshaped(features.shape().without_last()), mask_of(params, call.input(4)));
  const Tensor kept = dropout(weights, {params.dropout_rate, call.input(5), params.stream});
  return {matmul(kept, call.input(3)), weights};
}

TensorSpecs additive_gradient_shapes(const Call& call) {
  TensorSpecs specs;
  for (std::size_t i = 0; i < 4; ++i) specs.push_back({call.input(i).shape(), call.input(i).dtype()});
  return specs;
}

// With F = tanh(query + key), P the weights, D their dropout:  dV = D(P)^T dO,  dP = D(dO V^T),  dS = softmax
// gradient, dw = sum(dS F),  dZ = dS w (1 - F^2),  dquery = sum over keys of dZ,  dkey = sum over queries of
// dZ
Tensors additive_gradient_decomposed(const Call& call, std::span<const Into>) {
  const auto& params = call.params.as<attn_attention_params>();
  const Dropout drop{params.dropout_rate, call.input(5), params.stream};
  const Tensor &weights = call.input(6), &d_output = call.input(7);
  const Tensor features = features_of(call.input(0), call.input(1));
  const std::int64_t hidden = features.size(3), pairs = features.shape().leading();
  const Tensor d_weights = dropout(matmul(d_output, call.input(3), {.transpose_b = true}), drop);
  const Tensor d_scores = masked_softmax_gradient(weights, d_weights, mask_of(params, call.input(4)));
  const Tensor d_sums = multiply(multiply(d_scores.reshaped(d_scores.shape().appended(1)), call.input(2)),
                                 affine(square(features), -1.0, 1.0));
  const std::array<int, 1> over_keys{2}, over_queries{1};
  Tensors results{{}, {}, {}, {}};
  if (call.wants(0)) results[0] = sum(d_sums, over_keys);
  if (call.wants(1)) results[1] = sum(d_sums, over_queries);
  if (call.wants(2)) {
    results[2] = matmul(d_scores.reshaped({1, pairs}), features.reshaped({pairs, hidden})).reshaped({hidden});
  }
  if (call.wants(3)) results[3] = matmul(dropout(weights, drop), d_output, {.transpose_a = true});
  return results;
}

double additive_flops(const Call& call, double factor) {
  const Tensor &query = call.input(0), &key = call.input(1);
  const double pairs = as_double(query.size(0)) * as_double(query.size(1)) * as_double(key.size(1));
  return factor * pairs * (4 * as_double(query.size(2)) + 5 + 2 * as_double(call.input(3).size(2)));
}

}  // namespace

const Operation additive_attention_operation{
    .kind = ATTN_OP_ADDITIVE_ATTENTION,
    .name = "additive_attention",
    .shapes = additive_shapes,
    .gradient =
        [](Gradient& g) {
          if (!g.of(0).defined()) return;
          const std::array<Into, 4> into{g.into(0), g.into(1), g.into(2), g.into(3)};
          apply_operation(Call{&additive_attention_gradient_operation,
                               {g.input(0), g.input(1), g.input(2), g.input(3), g.input(4), g.input(5),
                                g.output(1), g.of(0)},
                               g.params<attn_attention_params>(),
                               15u},
                          into);
        },
    .flops = [](const Call& call, const TensorSpecs&) { return additive_flops(call, 1); },
    .decomposition = additive_decomposed,
};

const Operation additive_attention_gradient_operation{
    .kind = ATTN_OP_ADDITIVE_ATTENTION_GRADIENT,
    .name = "additive_attention_gradient",
    .shapes = additive_gradient_shapes,
    .flops = [](const Call& call, const TensorSpecs&) { return additive_flops(call, 2); },
    .decomposition = additive_gradient_decomposed,
    .accumulates = true,
};

AttentionResult additive_attention(const Tensor& query, const Tensor& key, const Tensor& score_weight,
                                   const Tensor& value, const Mask& mask, const Dropout& dropout) {
  require_random("additive_attention", dropout);
  const attn_attention_params params{
      0, 0, 1, mask.masking, mask.causal, dropout.stream, mask.causal_offset, 1.0, dropout.rate};
  Tensors outputs =
      apply_operation(Call{&additive_attention_operation,
                           {query, key, score_weight, value, mask.valid_lengths, dropout.random},
                           params,
                           3u});
  return {outputs[0], outputs[1].detached()};
}

}  // namespace attn::ops
