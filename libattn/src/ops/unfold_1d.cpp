#include "internal.h"
#include "window.h"

namespace attn::ops {

std::int64_t output_steps(const char* operation, std::int64_t steps, const Window& window) {
  require(window.kernel >= 1 && window.stride >= 1 && window.dilation >= 1 && window.padding >= 0 &&
              window.padding_after >= 0,
          "{}: kernel {}, stride {}, dilation {} must be at least 1, padding {}, {} at least 0", operation,
          window.kernel, window.stride, window.dilation, window.padding, window.padding_after);
  const std::int64_t reach = window.dilation * (window.kernel - 1) + 1;
  const std::int64_t padded = steps + window.padding + window.padding_after;
  require(padded >= reach, "{}: a window over {} steps does not fit into {} steps with their padding",
          operation, reach, padded);
  return (padded - reach) / window.stride + 1;
}

attn_window_params params_of(const Window& window) {
  return {0, 0, window.kernel, window.stride, window.dilation, window.padding};
}

// y[b, t, i C + c] = x[b, t stride + i dilation - padding, c];  dx is the sum over the windows that a step
// stands in.
const Operation unfold_1d_operation{
    .kind = ATTN_OP_UNFOLD_1D,
    .name = "unfold_1d",
    .gradient = [](Gradient& g) { fold_1d_into(g.into(0), g.of(0), g.params<attn_window_params>()); },
};

Tensor unfold_1d(const Tensor& x, const Window& window) {
  require_rank("unfold_1d", "x", x, 3);
  const Shape shape{x.size(0), output_steps("unfold_1d", x.size(1), window), window.kernel * x.size(2)};
  return apply_to(unfold_1d_operation, Tensor(x.shared_device(), shape, x.dtype()), {x}, params_of(window));
}

}  // namespace attn::ops
