#include "additive_attention.cuh"
#include "kernels.h"
#include "sums.h"

namespace attn::cuda {

namespace {

template<typename T>
AdditiveInput<T> additive_input(const OpView& op) {
  const attn_tensor &query = op.input(0), &key = op.input(1), &value = op.input(3);
  const auto params = op.params<attn_attention_params>();
  const int64_t batch = query.dims[0], queries = query.dims[1], keys = key.dims[1];
  return {data<const T>(query),
          data<const T>(key),
          data<const T>(op.input(2)),
          data<const T>(value),
          batch,
          queries,
          keys,
          query.dims[2],
          value.dims[2],
          KeyMask(op.input(4), params.causal != 0, params.causal_offset, batch, queries, keys),
          params.masking == ATTN_MASK_BOOK,
          Dropout<T>(op.input(5), params.stream, params.dropout_rate)};
}

}  // namespace

template<typename T>
void run_additive_attention(const OpView& op, Call& call) {
  const AdditiveInput<T> in = additive_input<T>(op);
  launch(call.stream, row_blocks(in.batch * in.queries), additive_threads, additive_attention_kernel<T>,
         data<T>(op.output(0)), data<T>(op.output(1)), in);
}

/// d_scores, the parts of d_score_weight, the parts of their sum.
std::size_t additive_attention_gradient_workspace(const OpView& op) {
  const attn_tensor &query = op.input(0), &weights = op.input(6);
  return (elements(weights) + elements(query) + column_sums_elements(rows(query), columns(query))) *
         backend::element_size(query.dtype);
}

template<typename T>
void run_additive_attention_gradient(const OpView& op, Call& call) {
  const AdditiveInput<T> in = additive_input<T>(op);
  const T *weights = data<const T>(op.input(6)), *d_output = data<const T>(op.input(7));
  T* d_scores = call.workspace_as<T>();
  T* score_weight_parts = d_scores + elements(op.input(6));
  T* sum_parts = score_weight_parts + elements(op.input(0));
  const int64_t query_rows = in.batch * in.queries, key_rows = in.batch * in.keys;
  if (op.has_output(0) || op.has_output(1) || op.has_output(2)) {
    launch(call.stream, row_blocks(query_rows), additive_threads, additive_scores_gradient_kernel<T>,
           d_scores, weights, d_output, in);
  }
  if (op.has_output(0) || op.has_output(2)) {
    launch(call.stream, element_blocks(query_rows * in.units), element_threads,
           additive_query_gradient_kernel<T>, optional_data<T>(op.output(0)), op.accumulates(0),
           score_weight_parts, d_scores, in);
  }
  if (op.has_output(1)) {
    launch(call.stream, element_blocks(key_rows * in.units), element_threads, additive_key_gradient_kernel<T>,
           data<T>(op.output(1)), op.accumulates(1), d_scores, in);
  }
  if (op.has_output(2)) {
    column_sums(call, data<T>(op.output(2)), score_weight_parts, query_rows, in.units, op.accumulates(2),
                sum_parts);
  }
  if (op.has_output(3)) {
    launch(call.stream, element_blocks(key_rows * in.value_columns), element_threads,
           additive_value_gradient_kernel<T>, data<T>(op.output(3)), op.accumulates(3), weights, d_output,
           in);
  }
}

ATTN_FOR_BOTH_TYPES(run_additive_attention)
ATTN_FOR_BOTH_TYPES(run_additive_attention_gradient)

}  // namespace attn::cuda
