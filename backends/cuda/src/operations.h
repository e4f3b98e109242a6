#pragma once
// Which operations the plugin runs, and with how much workspace.
#include <string>

#include "call.h"

namespace attn::cuda {

/// Empty if run_operation() can run it; else why not. Judged without looking at data.
std::string why_not_supported(const attn_op& op);

/// For an operation that is supported.
std::size_t workspace_bytes(const OpView& op);

/// Puts the first of the operations into the stream, and as many after it as go into the same launch; returns
/// how many. Throws BackendError.
uint32_t run_operations(const attn_op* ops, uint32_t count, Call& call, std::size_t workspace_bytes_given);

}  // namespace attn::cuda
