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

template<typename T>
struct ScatterInput {
  const T* x;  // [count, width]
  const int32_t* ids;
  int64_t count, width;
  int32_t ignored_id;  // -1: none
  T scale;
  Dropout<T> dropout;  // of x
};

/// table[ids] += scale dropout(x), over the columns that this warp has: threadIdx.x is the lane, threadIdx.y
/// the warp.
template<typename T>
__global__ void scatter_add_kernel(T* table, ScatterInput<T> in, IdCheck check) {
  const int64_t column =
      (static_cast<int64_t>(blockIdx.y) * scatter_warps + threadIdx.y) * lanes + threadIdx.x;
  const bool has_column = column < in.width;
  for (int64_t first = blockIdx.x; first < in.count; first += gridDim.x) {
    const int32_t id = in.ids[first];
    if (id == in.ignored_id && id != -1) continue;
    if (!accepts(check, id, first)) continue;
    T sum = has_column ? table[id * in.width + column] : T{0};
    bool added = false;
    for_each_occurrence(in.ids, in.count, first, [&](int64_t position) {
      added = true;
      const int64_t i = position * in.width + column;
      if (has_column) sum += in.scale * in.dropout(in.x[i], static_cast<uint64_t>(i));
    });
    if (added && has_column) table[id * in.width + column] = sum;
  }
}

template<typename T>
struct EmbedInput {
  const T *table, *positions;  // positions may be NULL
  const int32_t* ids;
  int64_t count, steps, width;  // count elements of y [..., steps, width]
  int64_t position_offset;
  T scale;
};

template<typename T>
__global__ void embed_kernel(T* y, EmbedInput<T> in, Dropout<T> dropout, IdCheck check) {
  for (int64_t four = first_element() * 4; four < in.count; four += element_step() * 4) {
    for (int64_t i = four; i < four + 4 && i < in.count; ++i) {
      const int64_t token = i / in.width, column = i - token * in.width;
      const int32_t id = in.ids[token];
      T value = accepts(check, id, token) ? in.scale * in.table[id * in.width + column] : T{0};
      if (in.positions != nullptr) {
        value += in.positions[(token % in.steps + in.position_offset) * in.width + column];
      }
      y[i] = dropout(value, static_cast<uint64_t>(i));
    }
  }
}

/// d_positions [positions, width]: the sum over all sequences; 0 where no step is.
template<typename T>
__global__ void embed_positions_kernel(T* d_positions, bool accumulate, const T* d_y, int64_t positions,
                                       int64_t sequences, int64_t steps, int64_t width,
                                       int64_t position_offset, Dropout<T> dropout) {
  for (int64_t i = first_element(); i < positions * width; i += element_step()) {
    const int64_t position = i / width, column = i - position * width, step = position - position_offset;
    T sum{0};
    for (int64_t sequence = 0; step >= 0 && step < steps && sequence < sequences; ++sequence) {
      const int64_t from = (sequence * steps + step) * width + column;
      sum += dropout(d_y[from], static_cast<uint64_t>(from));
    }
    put(d_positions + i, sum, accumulate);
  }
}

}  // namespace attn::cuda
