#include "internal.h"

namespace attn::ops {

// y = value, everywhere.
const Operation fill_operation{.kind = ATTN_OP_FILL, .name = "fill"};

Tensor fill(const Tensor& target, double value) {
  return apply_to(fill_operation, target, {}, attn_fill_params{0, 0, value});
}

Tensor full(const Tensor& like, const Shape& shape, double value) {
  return fill(Tensor(like.shared_device(), shape, like.dtype()), value);
}

}  // namespace attn::ops
