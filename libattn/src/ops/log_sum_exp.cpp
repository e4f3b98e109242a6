#include "internal.h"

namespace attn::ops {

// y = log(sum(exp(x)));  dx = dy exp(x - y)
const Operation log_sum_exp_operation{
    .kind = ATTN_OP_LOG_SUM_EXP,
    .name = "log_sum_exp",
    .shapes =
        [](const Call& call) {
          require(call.input(0).rank() >= 1, "log_sum_exp: x is a scalar, expected [..., classes]");
          return TensorSpecs{{call.input(0).shape().without_last(), call.input(0).dtype()}};
        },
    .gradient =
        [](Gradient& g) {
          const Shape column = g.output(0).shape().appended(1);
          g.add(0,
                multiply(g.of(0).reshaped(column), exp(subtract(g.input(0), g.output(0).reshaped(column)))));
        },
    .flops = [](const Call& call, const TensorSpecs&) { return 3 * as_double(call.input(0).elements()); },
};

Tensor log_sum_exp(const Tensor& x) {
  return apply_one(log_sum_exp_operation, {x});
}

}  // namespace attn::ops
