#pragma once
// Kernels that only say where elements go. They move units of 1, 2, 4 or 8 bytes, whatever these mean.
#include "device.cuh"

namespace attn::cuda {

/// to[walk of tensor 0] = from[walk of tensor 1]
template<typename Unit>
__global__ void strided_copy_kernel(Unit* to, const Unit* from, Walk<2> walk) {
  for (int64_t i = first_element(); i < walk.count; i += element_step()) {
    int64_t at[2];
    walk.offsets(i, at);
    to[at[0]] = from[at[1]];
  }
}

template<typename T>
__global__ void strided_add_kernel(T* to, const T* from, Walk<2> walk) {
  for (int64_t i = first_element(); i < walk.count; i += element_step()) {
    int64_t at[2];
    walk.offsets(i, at);
    to[at[0]] += from[at[1]];
  }
}

template<typename Unit>
__global__ void gather_rows_kernel(Unit* y, const Unit* table, const int32_t* ids, int64_t count,
                                   int64_t width, IdCheck check) {
  for (int64_t i = first_element(); i < count; i += element_step()) {
    const int64_t position = i / width, column = i - position * width;
    const int32_t id = ids[position];
    y[i] = accepts(check, id, position) ? table[id * width + column] : Unit{0};
  }
}

/// cache[:, position : position + n] = x, of x [B,n,W] and cache [B,capacity,W].
template<typename T>
__global__ void kv_append_kernel(T* cache, const T* x, const int32_t* position, int64_t count, int64_t steps,
                                 int64_t capacity, int64_t width, IdCheck check) {
  const int32_t start = *position;
  // the check is made for the last start at which all steps have room
  if (!accepts(check, start, 0)) return;
  for (int64_t i = first_element(); i < count; i += element_step()) {
    const int64_t row = i / width, column = i - row * width;
    const int64_t entry = row / steps, step = row - entry * steps;
    cache[(entry * capacity + start + step) * width + column] = x[i];
  }
}

struct Window {
  int64_t kernel, stride, dilation, padding;
  int64_t steps, positions, channels;  // of x [B,steps,channels] and y [B,positions,kernel*channels]
};

template<typename T>
__global__ void unfold_kernel(T* y, const T* x, int64_t count, Window window) {
  for (int64_t i = first_element(); i < count; i += element_step()) {
    const int64_t tap_row = i / window.channels, channel = i - tap_row * window.channels;
    const int64_t row = tap_row / window.kernel, tap = tap_row - row * window.kernel;
    const int64_t entry = row / window.positions, position = row - entry * window.positions;
    const int64_t step = position * window.stride + tap * window.dilation - window.padding;
    const bool inside = step >= 0 && step < window.steps;
    y[i] = inside ? x[(entry * window.steps + step) * window.channels + channel] : T{0};
  }
}

/// Gathers what unfold scattered, tap after tap, so that the order of a sum is fixed.
template<typename T>
__global__ void fold_kernel(T* x, const T* y, int64_t count, Window window, bool accumulate) {
  for (int64_t i = first_element(); i < count; i += element_step()) {
    const int64_t row = i / window.channels, channel = i - row * window.channels;
    const int64_t entry = row / window.steps, step = row - entry * window.steps;
    T sum{0};
    for (int64_t tap = 0; tap < window.kernel; ++tap) {
      const int64_t from = step + window.padding - tap * window.dilation;
      if (from < 0) break;
      const int64_t position = from / window.stride;
      if (position * window.stride != from || position >= window.positions) continue;
      sum += y[((entry * window.positions + position) * window.kernel + tap) * window.channels + channel];
    }
    put(x + i, sum, accumulate);
  }
}

}  // namespace attn::cuda
