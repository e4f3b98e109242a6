#pragma once
// What the operations over windows of steps share.
#include "attn/ops/ops.h"

namespace attn::ops {

/// Steps that come out of a window over `steps` steps. Throws Error(internal) if no window fits.
std::int64_t output_steps(const char* operation, std::int64_t steps, const Window& window);
attn_window_params params_of(const Window& window);

}  // namespace attn::ops
