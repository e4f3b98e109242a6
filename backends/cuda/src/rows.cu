#include "kernels.h"
#include "rows.cuh"

namespace attn::cuda {

namespace {

ScoreRows score_rows(const OpView& op, const attn_tensor& lengths) {
  const attn_tensor& weights = op.output(0);
  const auto params = op.params<attn_masked_softmax_params>();
  const int64_t entries = leading(weights, 2), queries = dims(weights).last(1), keys = columns(weights);
  return {entries * queries, queries, keys,
          KeyMask(lengths, params.causal != 0, params.causal_offset, entries, queries, keys),
          params.masking == ATTN_MASK_BOOK};
}

template<typename T>
void start_top_k(Call& call, T* values, int32_t* indices, const attn_tensor& x, int64_t k) {
  launch(call.stream, row_blocks(rows(x)), row_threads(columns(x)), top_k_kernel<T>, values, indices,
         data<const T>(x), rows(x), columns(x), static_cast<int>(k));
}

}  // namespace

template<typename T>
void run_masked_softmax(const OpView& op, Call& call) {
  const ScoreRows rows = score_rows(op, op.input(1));
  if (rows.keys == 0) return;
  launch(call.stream, row_blocks(rows.count), row_threads(rows.keys), softmax_kernel<T>,
         data<T>(op.output(0)), data<const T>(op.input(0)), rows);
}

template<typename T>
void run_masked_softmax_gradient(const OpView& op, Call& call) {
  const ScoreRows rows = score_rows(op, op.input(2));
  if (rows.keys == 0) return;
  launch(call.stream, row_blocks(rows.count), row_threads(rows.keys), softmax_gradient_kernel<T>,
         data<T>(op.output(0)), data<const T>(op.input(0)), data<const T>(op.input(1)), rows);
}

template<typename T>
void run_log_sum_exp(const OpView& op, Call& call) {
  const attn_tensor& x = op.input(0);
  launch(call.stream, row_blocks(rows(x)), row_threads(columns(x)), log_sum_exp_kernel<T>,
         data<T>(op.output(0)), data<const T>(x), rows(x), columns(x));
}

template<typename T>
void run_argmax(const OpView& op, Call& call) {
  start_top_k<T>(call, nullptr, data<int32_t>(op.output(0)), op.input(0), 1);
}

template<typename T>
void run_top_k(const OpView& op, Call& call) {
  start_top_k<T>(call, data<T>(op.output(0)), data<int32_t>(op.output(1)), op.input(0),
                 columns(op.output(0)));
}

ATTN_FOR_BOTH_TYPES(run_masked_softmax)
ATTN_FOR_BOTH_TYPES(run_masked_softmax_gradient)
ATTN_FOR_BOTH_TYPES(run_log_sum_exp)
ATTN_FOR_BOTH_TYPES(run_argmax)
ATTN_FOR_BOTH_TYPES(run_top_k)

}  // namespace attn::cuda
