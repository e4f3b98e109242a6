#pragma once

namespace attn::cuda {

/// Heads of more columns do not fit into the registers of a block and are left to the decomposition.
constexpr int most_head_columns = 256;

}  // namespace attn::cuda
