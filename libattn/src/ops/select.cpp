#include "internal.h"

namespace attn::ops {

// z = condition ? x : y;  dx = condition ? dz : 0, dy = condition ? 0 : dz
const Operation select_operation{
    .kind = ATTN_OP_SELECT,
    .name = "select",
    .shapes =
        [](const Call& call) {
          require(call.input(1).dtype() == call.input(2).dtype(), "select: operands have types {} and {}",
                  name_of(call.input(1).dtype()), name_of(call.input(2).dtype()));
          const Shape operands = broadcast("select", call.input(1).shape(), call.input(2).shape());
          return TensorSpecs{{broadcast("select", call.input(0).shape(), operands), call.input(1).dtype()}};
        },
    .gradient =
        [](Gradient& g) {
          const Tensor zero = full(g.of(0), {}, 0.0);
          if (g.needs(1)) g.add(1, sum_to(select(g.input(0), g.of(0), zero), g.input(1).shape()));
          if (g.needs(2)) g.add(2, sum_to(select(g.input(0), zero, g.of(0)), g.input(2).shape()));
        },
};

Tensor select(const Tensor& condition, const Tensor& x, const Tensor& y) {
  return apply_one(select_operation, {condition.detached(), x, y});
}

}  // namespace attn::ops
