#pragma once
#include "call.h"

namespace attn::cuda {

/// How many operations from the first, which is an Adam step, are steps that one launch can do: of the same
/// settings and control, on different parameters. At least 1.
uint32_t adam_steps(const attn_op* ops, uint32_t count);

/// Does that many in one launch.
template<typename T>
void run_adam_steps(const attn_op* ops, uint32_t count, Call& call);

}  // namespace attn::cuda
