#pragma once
#include "call.h"

namespace attn::cuda {

/// y[column] = the sum over the rows of x [rows, columns], or y + that sum.
template<typename T>
void column_sums(const Call& call, T* y, const T* x, int64_t rows, int64_t columns, bool accumulate);

}  // namespace attn::cuda
