#include "kernels.h"
#include "norm.cuh"
#include "sums.h"

namespace attn::cuda {

template<typename T>
void run_layer_norm(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &gain = op.input(1);
  const auto params = op.params<attn_layer_norm_params>();
  const int64_t count = leading(x, gain.rank), columns = elements(gain);
  const LayerNormInput<T> input = {data<const T>(x), optional_data<const T>(op.input(3)),
                                   optional_data<T>(op.output(3)),
                                   Dropout<T>(op.input(4), params.stream, params.dropout_rate),
                                   !op.has_input(3) && params.dropout_rate == 0};
  launch(call.stream, row_blocks(count), row_threads(columns), layer_norm_kernel<T>, data<T>(op.output(0)),
         data<T>(op.output(1)), data<T>(op.output(2)), input, data<const T>(gain), data<const T>(op.input(2)),
         count, columns, static_cast<T>(params.epsilon));
}

/// Parts of d_gain, then of d_bias.
std::size_t layer_norm_gradient_workspace(const OpView& op) {
  const attn_tensor& gain = op.input(1);
  const int64_t count = leading(op.input(0), gain.rank);
  return 2 * column_sums_elements(count, elements(gain)) * backend::element_size(gain.dtype);
}

template<typename T>
void run_layer_norm_gradient(const OpView& op, Call& call) {
  const attn_tensor &sum = op.input(0), &gain = op.input(1);
  const auto params = op.params<attn_layer_norm_params>();
  const int64_t count = leading(sum, gain.rank), columns = elements(gain);
  const LayerNormGradient<T> in = {data<const T>(sum),
                                   data<const T>(gain),
                                   data<const T>(op.input(2)),
                                   data<const T>(op.input(3)),
                                   data<const T>(op.input(4)),
                                   optional_data<const T>(op.input(5)),
                                   count,
                                   columns};
  if (op.has_output(0) || op.has_output(3)) {
    launch(call.stream, row_blocks(count), row_threads(columns), layer_norm_gradient_kernel<T>,
           optional_data<T>(op.output(0)), op.accumulates(0), optional_data<T>(op.output(3)),
           op.accumulates(3), in, Dropout<T>(op.input(6), params.stream, params.dropout_rate));
  }
  if (!op.has_output(1) && !op.has_output(2)) return;
  T *d_gain = optional_data<T>(op.output(1)), *d_bias = optional_data<T>(op.output(2));
  const auto blocks = static_cast<unsigned>(divide_up(columns, column_lanes));
  const dim3 threads(column_lanes, column_parts);
  const RowParts cut(count);
  if (cut.count == 1) {
    launch(call.stream, blocks, threads, layer_norm_parameters_kernel<T>, d_gain, op.accumulates(1), d_bias,
           op.accumulates(2), in, cut.rows_per_part);
    return;
  }
  T* gain_parts = call.workspace_as<T>();
  T* bias_parts = gain_parts + cut.count * columns;
  launch(call.stream, dim3(blocks, static_cast<unsigned>(cut.count)), threads,
         layer_norm_parameters_kernel<T>, gain_parts, false, bias_parts, false, in, cut.rows_per_part);
  const auto total = [&](T* to, const T* parts, bool accumulate) {
    if (to == nullptr) return;
    launch(call.stream, blocks, threads, column_sums_kernel<T>, to, parts, cut.count, columns, cut.count,
           accumulate);
  };
  total(d_gain, gain_parts, op.accumulates(1));
  total(d_bias, bias_parts, op.accumulates(2));
}

template<typename T>
void run_batch_norm(const OpView& op, Call& call) {
  const attn_tensor& x = op.input(0);
  launch(call.stream, static_cast<unsigned>(divide_up(x.dims[1], column_lanes)),
         dim3(column_lanes, column_parts), batch_norm_kernel<T>, data<T>(op.output(0)), data<T>(op.output(1)),
         data<T>(op.output(2)), data<const T>(x), data<const T>(op.input(1)), data<const T>(op.input(2)),
         x.dims[0], x.dims[1], static_cast<T>(op.params<attn_batch_norm_params>().epsilon));
}

template<typename T>
void run_batch_norm_gradient(const OpView& op, Call& call) {
  const attn_tensor& x = op.input(0);
  const auto target = [&](int index) {
    return Target<T>{optional_data<T>(op.output(index)), op.accumulates(index)};
  };
  launch(call.stream, static_cast<unsigned>(divide_up(x.dims[1], column_lanes)),
         dim3(column_lanes, column_parts), batch_norm_gradient_kernel<T>, target(0), target(1), target(2),
         data<const T>(x), data<const T>(op.input(1)), data<const T>(op.input(2)), data<const T>(op.input(3)),
         data<const T>(op.input(4)), x.dims[0], x.dims[1],
         static_cast<T>(op.params<attn_batch_norm_params>().epsilon));
}

ATTN_FOR_BOTH_TYPES(run_layer_norm)
ATTN_FOR_BOTH_TYPES(run_layer_norm_gradient)
ATTN_FOR_BOTH_TYPES(run_batch_norm)
ATTN_FOR_BOTH_TYPES(run_batch_norm_gradient)

}  // namespace attn::cuda
