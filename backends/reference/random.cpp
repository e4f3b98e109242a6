#include "common/dropout.h"
#include "kernels.h"
#include "types.h"

namespace attn::backend::reference {

void dropout(const OpView& op) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const auto params = op.params<attn_dropout_params>();
  DropoutMask mask(op.input(1), params.stream, params.rate);
  with_float_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < elements(y); ++i) {
      // not a product with 0: what is dropped is 0 even if it was infinite
      data<T>(y)[i] = mask.keeps(i) ? static_cast<T>(data<T>(x)[i] * mask.scale()) : T{0};
    }
  });
}

}  // namespace attn::backend::reference
