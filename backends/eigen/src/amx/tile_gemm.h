#pragma once
/*
 * Products of float32 matrices on the processor's matrix tiles (AMX), which multiply bfloat16 numbers and add
 * in float32. Each number is cut into three bfloat16 numbers; of the nine products of parts the six largest
 * are taken. Those left out are below 2^-25 of the product, less than one rounding in float32, and a sum has
 * fewer roundings than the usual chain of multiply-adds, so that the result is no less accurate.
 *
 * Every element is one chain in an order that depends on the depth alone.
 */
#include "gemm.h"

namespace attn::eigen::tiles {

/// Whether this process may use the tiles; asks the operating system once.
bool granted();

/// Products of a smaller depth are left to multiply-adds, which are as fast or faster: cutting the operands
/// and storing the tiles would take most of the time.
inline constexpr std::int64_t kMinimumDepth = 128;

/// multiply_here of gemm.h. Needs granted(), and a depth above 0.
void multiply_here(Workspace& workspace, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                   float alpha, MatrixView<float> a, MatrixView<float> b, float beta, float* c,
                   std::int64_t c_step, const Epilogue<float>& epilogue);

}  // namespace attn::eigen::tiles
