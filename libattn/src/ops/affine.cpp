#include "internal.h"

namespace attn::ops {

// y = scale x + shift;  dx = scale dy
const Operation affine_operation{
    .kind = ATTN_OP_AFFINE,
    .name = "affine",
    .shapes =
        [](const Call& call) {
          return TensorSpecs{{call.input(0).shape(), call.input(0).dtype()}};
        },
    .gradient = [](Gradient& g) { g.add(0, affine(g.of(0), g.params<attn_affine_params>().scale, 0.0)); },
    .flops = [](const Call&, const TensorSpecs& out) { return 2 * elements_of(out); },
};

Tensor affine(const Tensor& x, double scale, double shift) {
  return apply_one(affine_operation, {x}, attn_affine_params{0, 0, scale, shift});
}

}  // namespace attn::ops
