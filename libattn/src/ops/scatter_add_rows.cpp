#include "internal.h"

namespace attn::ops {

// table[ids] += rows, in the order of ids, in place.
const Operation scatter_add_rows_operation{
    .kind = ATTN_OP_SCATTER_ADD_ROWS,
    .name = "scatter_add_rows",
    .flops = [](const Call& call, const TensorSpecs&) { return as_double(call.input(0).elements()); },
    .in_out = 1u,
};

void scatter_add_rows(const Tensor& table, const Tensor& rows, const Tensor& ids, std::int32_t ignored_id) {
  require_rank("scatter_add_rows", "table", table, 2);
  require_type("scatter_add_rows", "ids", ids, DType::i32);
  require_shape("scatter_add_rows", "rows", rows, ids.shape().appended(table.size(1)));
  apply_to(scatter_add_rows_operation, table, {rows.detached(), ids}, attn_scatter_params{0, ignored_id});
}

}  // namespace attn::ops
