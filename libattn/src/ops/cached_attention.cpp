#include "internal.h"

namespace attn::ops {
namespace {

TensorSpecs cached_attention_shapes(const Call& call) {
  const std::int64_t heads = call.params.as<attn_attention_params>().heads;
  const Tensor &query = call.input(0), &keys = call.input(1), &values = call.input(2), &rows = call.input(3);
  require_rank("cached_attention", "query", query, 3);
  const std::int64_t batch = query.size(0), queries = query.size(1);
  require(heads >= 1 && query.size(2) % heads == 0,
          "cached_attention: query is {}, its width is no multiple of {} heads", query.shape(), heads);
  require_rank("cached_attention", "keys", keys, 2);
  require_shape("cached_attention", "keys", keys, {keys.size(0), query.size(2)});
  require_rank("cached_attention", "values", values, 2);
  require_shape("cached_attention", "values", values, {keys.size(0), values.size(1)});
  require(values.size(1) % heads == 0,
          "cached_attention: values are {}, their width is no multiple of {} heads", values.shape(), heads);
  require_type("cached_attention", "rows", rows, DType::i32);
  require_rank("cached_attention", "rows", rows, 2);
  require_shape("cached_attention", "rows", rows, {batch, rows.size(1)});
  require_lengths("cached_attention", call.input(4), batch, queries);
  return {{{batch, queries, values.size(1)}, query.dtype()},
          {{batch, heads, queries, rows.size(1)}, query.dtype()}};
}

Tensors cached_attention_decomposed(const Call& call, std::span<const Into>) {
  const auto& params = call.params.as<attn_attention_params>();
  const Tensor& rows = call.input(3);
  AttentionOptions options;
  options.heads = params.heads;
  options.scale = params.scale;
  options.mask = {call.input(4), params.causal != 0, params.causal_offset,
                  static_cast<attn_masking>(params.masking)};
  options.return_weights = call.wants(1);
  const AttentionResult result =
      attention(call.input(0), gather_rows(call.input(1), rows), gather_rows(call.input(2), rows), options);
  return {result.output, result.weights};
}

double cached_attention_flops(const Call& call, const TensorSpecs& outputs) {
  const double pairs =
      as_double(call.input(3).size(1)) * as_double(call.input(0).size(1)) * as_double(call.input(0).size(0));
  const double widths = as_double(call.input(0).size(2)) + as_double(outputs[0].shape[2]);
  return pairs * (2 * widths + 5.0 * call.params.as<attn_attention_params>().heads);
}

}  // namespace

const Operation cached_attention_operation{
    .kind = ATTN_OP_CACHED_ATTENTION,
    .name = "cached_attention",
    .shapes = cached_attention_shapes,
    .flops = cached_attention_flops,
    .decomposition = cached_attention_decomposed,
};

AttentionResult cached_attention(const Tensor& query, const Tensor& keys, const Tensor& values,
                                 const Tensor& rows, const AttentionOptions& options) {
  require(options.dropout.rate == 0.0, "cached_attention: dropout of {}, expected none",
          options.dropout.rate);
  const attn_attention_params params{0,
                                     0,
                                     static_cast<std::int32_t>(options.heads),
                                     options.mask.masking,
                                     options.mask.causal,
                                     0,
                                     options.mask.causal_offset,
                                     options.scale,
                                     0.0};
  Tensors outputs = apply_operation(
      Call{&cached_attention_operation,
           {query.detached(), keys.detached(), values.detached(), rows, options.mask.valid_lengths},
           params,
           options.return_weights ? 3u : 1u});
  return {outputs[0], outputs[1]};
}

}  // namespace attn::ops
