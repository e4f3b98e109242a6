#include "internal.h"

namespace attn::ops {

// y = mask x / (1 - rate), the mask drawn by Philox from (seed, step, stream, element);  dx is the same of
// dy.
const Operation dropout_operation{
    .kind = ATTN_OP_DROPOUT,
    .name = "dropout",
    .shapes =
        [](const Call& call) {
          return TensorSpecs{{call.input(0).shape(), call.input(0).dtype()}};
        },
    .gradient =
        [](Gradient& g) {
          const auto& params = g.params<attn_dropout_params>();
          g.add(0, dropout(g.of(0), {params.rate, g.input(1), params.stream}));
        },
    .flops = [](const Call&, const TensorSpecs& out) { return elements_of(out); },
};

Tensor dropout(const Tensor& x, const Dropout& dropout) {
  if (dropout.rate == 0.0) return x;
  require_random("dropout", dropout);
  return apply_one(dropout_operation, {x, dropout.random},
                   attn_dropout_params{0, dropout.stream, dropout.rate});
}

void require_random(const char* operation, const Dropout& dropout) {
  require(dropout.rate >= 0.0 && dropout.rate < 1.0,
          "{}: dropout rate is {}, expected at least 0 and below 1", operation, dropout.rate);
  if (dropout.rate == 0.0) return;
  require(dropout.random.defined() && dropout.random.dtype() == DType::i32 && dropout.random.elements() == 4,
          "{}: dropout needs its random counter, i32 [4]", operation);
}

}  // namespace attn::ops
