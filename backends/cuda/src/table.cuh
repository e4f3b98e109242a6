#pragma once
// Sums into the rows of a table that ids name. The warp of an id's first occurrence adds up all its rows in
// the order of the ids, so that no two warps write to the same place and no sum depends on which is first.
#include "device.cuh"

namespace attn::cuda {

constexpr int scatter_warps = 4;

/// Calls add(position) in ascending order for each position at which `id` stands, if `first` is the first.
template<typename Add>
__device__ void for_each_occurrence(const int32_t* ids, int64_t count, int64_t first, Add add) {
  const int32_t id = ids[first];
  const int lane = static_cast<int>(threadIdx.x);
  for (int64_t start = 0; start < first; start += lanes) {
    const int64_t position = start + lane;
    if (__any_sync(all_lanes, position < first && ids[position] == id)) return;
  }
  for (int64_t start = first; start < count; start += lanes) {
    const int64_t position = start + lane;
    unsigned found = __ballot_sync(all_lanes, position < count && ids[position] == id);
    for (; found != 0; found &= found - 1) add(start + __ffs(static_cast<int>(found)) - 1);
  }
}

/// table[ids] += x, over the columns that this warp has: threadIdx.x is the lane, threadIdx.y the warp.
template<typename T>
__global__ void scatter_add_kernel(T* table, const T* x, const int32_t* ids, int64_t count, int64_t width,
                                   int32_t ignored_id, IdCheck check) {
  const int64_t column = (static_cast<int64_t>(blockIdx.y) * scatter_warps + threadIdx.y) * lanes +
                         threadIdx.x;
  for (int64_t first = blockIdx.x; first < count; first += gridDim.x) {
    const int32_t id = ids[first];
    if (id == ignored_id && ignored_id != -1) continue;
    if (!accepts(check, id, first)) continue;
    T sum = column < width ? table[id * width + column] : T{0};
    bool added = false;
    for_each_occurrence(ids, count, first, [&](int64_t position) {
      added = true;
      if (column < width) sum += x[position * width + column];
    });
    if (added && column < width) table[id * width + column] = sum;
  }
}

}  // namespace attn::cuda
