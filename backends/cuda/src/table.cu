#include "kernels.h"
#include "table.cuh"

namespace attn::cuda {

namespace {

template<typename T>
void scatter_add(const Call& call, T* table, const ScatterInput<T>& input, int64_t table_rows) {
  // a block an id and, in y, as many blocks as the columns take
  const dim3 blocks(row_blocks(input.count).x,
                    static_cast<unsigned>(divide_up(input.width, lanes * scatter_warps)));
  launch(call.stream, blocks, dim3(lanes, scatter_warps), scatter_add_kernel<T>, table, input,
         call.id_check(table_rows));
}

}  // namespace

template<typename T>
void run_scatter_add_rows(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &ids = op.input(1), &table = op.output(0);
  const ScatterInput<T> input = {data<const T>(x),
                                 data<const int32_t>(ids),
                                 elements(ids),
                                 columns(table),
                                 op.params<attn_scatter_params>().ignored_id,
                                 T{1},
                                 Dropout<T>(x, 0, 0)};
  scatter_add(call, data<T>(table), input, table.dims[0]);
}

template<typename T>
void run_embed(const OpView& op, Call& call) {
  const attn_tensor &table = op.input(0), &ids = op.input(1), &y = op.output(0);
  const auto params = op.params<attn_embed_params>();
  const EmbedInput<T> input = {data<const T>(table),
                               optional_data<const T>(op.input(2)),
                               data<const int32_t>(ids),
                               elements(y),
                               columns(ids),
                               table.dims[1],
                               params.position_offset,
                               static_cast<T>(params.scale)};
  launch(call.stream, element_blocks(divide_up(input.count, 4)), element_threads, embed_kernel<T>, data<T>(y),
         input, Dropout<T>(op.input(3), params.stream, params.dropout_rate), call.id_check(table.dims[0]));
}

template<typename T>
void run_embed_gradient(const OpView& op, Call& call) {
  const attn_tensor &ids = op.input(0), &d_y = op.input(1);
  const auto params = op.params<attn_embed_params>();
  const int64_t width = columns(d_y);
  const Dropout<T> dropout(op.input(2), params.stream, params.dropout_rate);
  if (op.has_output(0)) {
    const attn_tensor& d_table = op.output(0);
    if (!op.accumulates(0) && elements(d_table) > 0) {
      check(cudaMemsetAsync(d_table.data, 0, elements(d_table) * sizeof(T), call.stream),
            "clearing a tensor");
    }
    const ScatterInput<T> input = {data<const T>(d_y), data<const int32_t>(ids),     elements(ids), width,
                                   params.ignored_id,  static_cast<T>(params.scale), dropout};
    scatter_add(call, data<T>(d_table), input, d_table.dims[0]);
  }
  if (op.has_output(1)) {
    const attn_tensor& d_positions = op.output(1);
    launch(call.stream, element_blocks(elements(d_positions)), element_threads, embed_positions_kernel<T>,
           data<T>(d_positions), op.accumulates(1), data<const T>(d_y), d_positions.dims[0], rows(ids),
           columns(ids), width, params.position_offset, dropout);
  }
}

ATTN_FOR_BOTH_TYPES(run_scatter_add_rows)
ATTN_FOR_BOTH_TYPES(run_embed)
ATTN_FOR_BOTH_TYPES(run_embed_gradient)

}  // namespace attn::cuda
