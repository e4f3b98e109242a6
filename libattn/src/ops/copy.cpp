#include "internal.h"

namespace attn::ops {

// y = x, with elements of its own.
const Operation copy_operation{
    .kind = ATTN_OP_COPY,
    .name = "copy",
    .gradient = [](Gradient& g) { g.add(0, g.of(0)); },
};

Tensor copy(const Tensor& x) {
  return apply_to(copy_operation, Tensor(x.shared_device(), x.shape(), x.dtype()), {x});
}

void copy_into(const Tensor& target, const Tensor& x) {
  require(target.elements() == x.elements() && target.dtype() == x.dtype(),
          "copy: {} {} cannot be copied into {} {}", name_of(x.dtype()), x.shape(), name_of(target.dtype()),
          target.shape());
  if (x.elements() > 0) apply_to(copy_operation, target, {x.detached()});
}

}  // namespace attn::ops
