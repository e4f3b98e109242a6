#include "table.cuh"

#include "kernels.h"

namespace attn::cuda {

namespace {

/// A block an id and, in y, as many blocks as the columns take.
dim3 scatter_blocks(int64_t ids, int64_t width) {
  return dim3(row_blocks(ids).x, static_cast<unsigned>(divide_up(width, lanes * scatter_warps)));
}

}  // namespace

template<typename T>
void run_scatter_add_rows(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &ids = op.input(1), &table = op.output(0);
  const int64_t width = columns(table);
  launch(call.stream, scatter_blocks(elements(ids), width), dim3(lanes, scatter_warps), scatter_add_kernel<T>,
         data<T>(table), data<const T>(x), data<const int32_t>(ids), elements(ids), width,
         op.params<attn_scatter_params>().ignored_id, call.id_check(table.dims[0]));
}

ATTN_FOR_BOTH_TYPES(run_scatter_add_rows)

}  // namespace attn::cuda
