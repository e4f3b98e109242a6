#include "internal.h"

namespace attn::ops {

// x[b, s, c] = sum of y[b, t, i C + c] over all t, i with t stride + i dilation - padding = s.
const Operation fold_1d_operation{
    .kind = ATTN_OP_FOLD_1D,
    .name = "fold_1d",
    .flops = [](const Call& call, const TensorSpecs&) { return as_double(call.input(0).elements()); },
};

void fold_1d_into(const Into& into, const Tensor& windows, const attn_window_params& window) {
  if (!into.wanted) return;
  attn_window_params params = window;
  params.accumulate = 0;
  if (!into.accumulate) {
    apply_to(fold_1d_operation, into.target, {windows}, params);
    return;
  }
  const Tensor folded = apply_to(
      fold_1d_operation, Tensor(into.target.shared_device(), into.target.shape(), into.target.dtype()),
      {windows}, params);
  copy_into(into.target, add(into.target.detached(), folded));
}

}  // namespace attn::ops
