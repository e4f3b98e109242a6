#pragma once
// The windows of a 1-d convolution as rows of a matrix, and the transpose of that map.
#include "movement.cuh"

namespace attn::cuda {

Window window_of(const attn_window_params& params, const attn_tensor& x, int64_t positions);

/// y [batch, positions, kernel*channels] from x [batch, steps, channels].
template<typename T>
void unfold(const Call& call, T* y, const T* x, int64_t batch, const Window& window);
/// The transpose: x from y.
template<typename T>
void fold(const Call& call, T* x, const T* y, int64_t batch, const Window& window, bool accumulate);

}  // namespace attn::cuda
