#include "internal.h"

namespace attn::ops {
namespace {

Shape gathered_shape(const Shape& ids, const Shape& table) {
  Shape shape = ids;
  for (int axis = 1; axis < table.rank(); ++axis) shape = shape.appended(table[axis]);
  return shape;
}

}  // namespace

// y = table[ids];  dtable[ids] += dy, in the order of ids
const Operation gather_rows_operation{
    .kind = ATTN_OP_GATHER_ROWS,
    .name = "gather_rows",
    .shapes =
        [](const Call& call) {
          const Tensor &table = call.input(0), &ids = call.input(1);
          require(table.rank() >= 1, "gather_rows: table is a scalar, expected [rows, ...]");
          require_type("gather_rows", "ids", ids, DType::i32);
          return TensorSpecs{{gathered_shape(ids.shape(), table.shape()), table.dtype()}};
        },
    .gradient =
        [](Gradient& g) {
          const Into into = g.into(0);
          if (!into.wanted) return;
          if (!into.accumulate) fill(into.target, 0.0);
          const std::int64_t rows = into.target.size(0),
                             width = rows == 0 ? 0 : into.target.elements() / rows;
          const Tensor ids = g.input(1);
          scatter_add_rows(into.target.reshaped({rows, width}), g.of(0).reshaped({ids.elements(), width}),
                           ids.reshaped({ids.elements()}));
        },
};

Tensor gather_rows(const Tensor& table, const Tensor& ids) {
  return apply_one(gather_rows_operation, {table, ids});
}

}  // namespace attn::ops
