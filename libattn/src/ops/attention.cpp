#include <limits>

#include "internal.h"

namespace attn::ops {
namespace {

// [batch, steps, heads * size] -> [batch, heads, steps, size]
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return swap_axes(x.reshaped({x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

// The inverse of split_heads.
Tensor merge_heads(const Tensor& x) {
  return swap_axes(x, 1, 2).reshaped({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Mask mask_of(const attn_attention_params& params, const Tensor& lengths) {
  return {lengths, params.causal != 0, params.causal_offset, static_cast<attn_masking>(params.masking)};
}

TensorSpecs attention_shapes(const Call& call) {
  const auto& params = call.params.as<attn_attention_params>();
  const Tensor &query = call.input(0), &key = call.input(1), &value = call.input(2);
  require_rank("attention", "query", query, 3);
  const std::int64_t batch = query.size(0), queries = query.size(1), heads = params.heads;
  require(heads >= 1 && query.size(2) % heads == 0,
          "attention: query is {}, its width is no multiple of {} heads", query.shape(), heads);
  require_rank("attention", "key", key, 3);
  require_shape("attention", "key", key, {batch, key.size(1), query.size(2)});
  require_rank("attention", "value", value, 3);
  require_shape("attention", "value", value, {batch, key.size(1), value.size(2)});
  require(value.size(2) % heads == 0, "attention: value is {}, its width is no multiple of {} heads",
          value.shape(), heads);
  require_lengths("attention", call.input(3), batch, queries);
  const DType type = query.dtype();
  return {{{batch, queries, value.size(2)}, type},
          {{batch, heads, queries}, type},
          {{batch, heads, queries, key.size(1)}, type}};
}

// log_sum_exp over the visible keys. Uniform weights of equal scores show which those are.
Tensor visible_log_sum_exp(const Tensor& scores, const Mask& mask) {
  const Tensor visible = masked_softmax(full(scores, scores.shape(), 0.0), mask);
  return log_sum_exp(select(visible, scores, full(scores, {}, -std::numeric_limits<double>::infinity())));
}

Tensors attention_decomposed(const Call& call, std::span<const Into>) {
  const auto& params = call.params.as<attn_attention_params>();
  const Mask mask = mask_of(params, call.input(3));
  const Tensor query = split_heads(call.input(0), params.heads),
               key = split_heads(call.input(1), params.heads);
  const Tensor scores = matmul(query, key, {.transpose_b = true, .alpha = params.scale});
  const Tensor weights = masked_softmax(scores, mask);
  const Tensor kept = dropout(weights, {params.dropout_rate, call.input(4), params.stream});
  const Tensor output = merge_heads(matmul(kept, split_heads(call.input(2), params.heads)));
  return {output, call.wants(1) ? visible_log_sum_exp(scores, mask) : Tensor{}, weights};
}

TensorSpecs attention_gradient_shapes(const Call& call) {
  return {{call.input(0).shape(), call.input(0).dtype()},
          {call.input(1).shape(), call.input(0).dtype()},
          {call.input(2).shape(), call.input(0).dtype()}};
}

// With P the weights and D their dropout:  dV = D(P)^T dO,  dP = D(dO V^T),  dS = softmax gradient of dP,
// dQ = scale dS K,  dK = scale dS^T Q
Tensors attention_gradient_decomposed(const Call& call, std::span<const Into>) {
  const auto& params = call.params.as<attn_attention_params>();
  const Mask mask = mask_of(params, call.input(3));
  const Dropout drop{params.dropout_rate, call.input(4), params.stream};
  const Tensor query = split_heads(call.input(0), params.heads),
               key = split_heads(call.input(1), params.heads),
               value = split_heads(call.input(2), params.heads),
               d_output = split_heads(call.input(7), params.heads);
  const Tensor weights =
      masked_softmax(matmul(query, key, {.transpose_b = true, .alpha = params.scale}), mask);
  const Tensor d_weights = dropout(matmul(d_output, value, {.transpose_b = true}), drop);
  const Tensor d_scores = masked_softmax_gradient(weights, d_weights, mask);
  Tensors results{{}, {}, {}};
  if (call.wants(0)) results[0] = merge_heads(matmul(d_scores, key, {.alpha = params.scale}));
  if (call.wants(1))
    results[1] = merge_heads(matmul(d_scores, query, {.transpose_a = true, .alpha = params.scale}));
  if (call.wants(2))
    results[2] = merge_heads(matmul(dropout(weights, drop), d_output, {.transpose_a = true}));
  return results;
}

void attention_gradient(Gradient& g) {
  if (!g.of(0).defined()) return;
  const std::array<Into, 3> into{g.into(0), g.into(1), g.into(2)};
  apply_operation(
      Call{&attention_gradient_operation,
           {g.input(0), g.input(1), g.input(2), g.input(3), g.input(4), g.output(0), g.output(1), g.of(0)},
           g.params<attn_attention_params>(),
           7u},
      into);
}

// Two products of queries x keys x width for each head, and the softmax.
double attention_flops(const Call& call, double products) {
  const Tensor &query = call.input(0), &key = call.input(1), &value = call.input(2);
  const double pairs = as_double(query.size(0)) * as_double(query.size(1)) * as_double(key.size(1));
  const double widths = 2 * products * as_double(query.size(2) + value.size(2)) / 2;
  return pairs * (widths + 5.0 * call.params.as<attn_attention_params>().heads);
}

}  // namespace

const Operation attention_operation{
    .kind = ATTN_OP_ATTENTION,
    .name = "attention",
    .shapes = attention_shapes,
    .gradient = attention_gradient,
    .flops = [](const Call& call, const TensorSpecs&) { return attention_flops(call, 2); },
    .decomposition = attention_decomposed,
};

const Operation attention_gradient_operation{
    .kind = ATTN_OP_ATTENTION_GRADIENT,
    .name = "attention_gradient",
    .shapes = attention_gradient_shapes,
    .flops = [](const Call& call, const TensorSpecs&) { return attention_flops(call, 5); },
    .decomposition = attention_gradient_decomposed,
    .accumulates = true,
};

AttentionResult attention(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options) {
  require_random("attention", options.dropout);
  const attn_attention_params params{0,
                                     0,
                                     static_cast<std::int32_t>(options.heads),
                                     options.mask.masking,
                                     options.mask.causal,
                                     options.dropout.stream,
                                     options.mask.causal_offset,
                                     options.scale,
                                     options.dropout.rate};
  Tensors outputs =
      apply_operation(Call{&attention_operation,
                           {query, key, value, options.mask.valid_lengths, options.dropout.random},
                           params,
                           options.return_weights ? 7u : 3u});
  return {outputs[0], outputs[2].detached()};
}

}  // namespace attn::ops
