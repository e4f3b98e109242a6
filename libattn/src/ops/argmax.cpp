#include "internal.h"

namespace attn::ops {

// The index of the largest element of each row.
const Operation argmax_operation{
    .kind = ATTN_OP_ARGMAX,
    .name = "argmax",
    .shapes =
        [](const Call& call) {
          require(call.input(0).rank() >= 1, "argmax: x is a scalar, expected [..., classes]");
          return TensorSpecs{{call.input(0).shape().without_last(), DType::i32}};
        },
    .flops = [](const Call& call, const TensorSpecs&) { return as_double(call.input(0).elements()); },
};

Tensor argmax(const Tensor& x) {
  return apply_one(argmax_operation, {x.detached()});
}

}  // namespace attn::ops
