#include "internal.h"

namespace attn::ops {

// y = x in another element type; to i32 rounds towards zero.
const Operation cast_operation{
    .kind = ATTN_OP_CAST,
    .name = "cast",
    .gradient = [](Gradient& g) { g.add(0, cast(g.of(0), g.input(0).dtype())); },
};

Tensor cast(const Tensor& x, DType type) {
  if (x.dtype() == type) return x;
  const Tensor input = type == DType::i32 ? x.detached() : x;
  return apply_to(cast_operation, Tensor(x.shared_device(), x.shape(), type), {input});
}

}  // namespace attn::ops
