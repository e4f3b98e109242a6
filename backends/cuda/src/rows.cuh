#pragma once
// Kernels in which a block shares a row [columns]: softmax, log-sum-exp, the largest elements.
#include "device.cuh"

namespace attn::cuda {

/// What a block needs to know of a row of scores [entries, queries, keys].
struct ScoreRows {
  int64_t count, queries, keys;  // count = entries * queries
  KeyMask mask;
  bool book;
};

template<typename T>
__device__ T book_score() {
  return T(-1e6);
}

/// Softmax of score(key) for the first `weighted` keys, 0 for the others. All threads of the block must call
/// it. `to` may be where the scores are: a thread reads each element before it writes it, and no other's.
template<typename T, typename Score>
__device__ void softmax_of_row(T* to, int64_t keys, int64_t weighted, Score score) {
  T largest = minus_infinity<T>();
  for (int64_t key = threadIdx.x; key < weighted; key += blockDim.x) {
    largest = Maximum{}(score(key), largest);
  }
  largest = block_maximum(largest);
  T sum{0};
  for (int64_t key = threadIdx.x; key < weighted; key += blockDim.x) sum += exp(score(key) - largest);
  sum = block_sum(sum);
  for (int64_t key = threadIdx.x; key < keys; key += blockDim.x) {
    to[key] = key < weighted ? exp(score(key) - largest) / sum : T{0};
  }
}

/// The scores that threads of the block have written for the visible keys become weights, where they are, for
/// all threads. Returns how many keys have one: all of them with the book's masking. All threads must call
/// it.
template<typename T>
__device__ int64_t weights_of_scores(T* scores, int64_t keys, int64_t visible, bool book) {
  __syncthreads();
  const int64_t weighted = book ? keys : visible;
  softmax_of_row(scores, keys, weighted,
                 [&](int64_t key) { return key < visible ? scores[key] : book_score<T>(); });
  __syncthreads();
  return weighted;
}

template<typename T>
__global__ void softmax_kernel(T* weights, const T* scores, ScoreRows rows) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t entry = row / rows.queries;
    const int64_t visible = rows.mask.visible(entry, row - entry * rows.queries);
    const T* from = scores + row * rows.keys;
    softmax_of_row(weights + row * rows.keys, rows.keys, rows.book ? rows.keys : visible,
                   [&](int64_t key) { return key < visible ? from[key] : book_score<T>(); });
  }
}

template<typename T>
__global__ void softmax_gradient_kernel(T* d_scores, const T* weights, const T* d_weights, ScoreRows rows) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t entry = row / rows.queries, start = row * rows.keys;
    const int64_t visible = rows.mask.visible(entry, row - entry * rows.queries);
    const int64_t weighted = rows.book ? rows.keys : visible;
    T mean{0};  // of the gradients, as the weights weight them
    for (int64_t key = threadIdx.x; key < weighted; key += blockDim.x) {
      mean += weights[start + key] * d_weights[start + key];
    }
    mean = block_sum(mean);
    for (int64_t key = threadIdx.x; key < rows.keys; key += blockDim.x) {
      const int64_t i = start + key;
      d_scores[i] = key < visible ? weights[i] * (d_weights[i] - mean) : T{0};
    }
  }
}

/// Calls use(key, sum) in lane 0 of a warp for each of the first `count` keys, with the sum of term(key, i)
/// over i < terms: a warp for each key.
template<typename T, typename Term, typename Use>
__device__ void for_each_key_sum(int64_t count, int64_t terms, Term term, Use use) {
  const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
  for (int64_t key = warp; key < count; key += static_cast<int>(blockDim.x) / lanes) {
    T sum{0};
    for (int64_t i = lane; i < terms; i += lanes) sum += term(key, i);
    sum = warp_reduce(sum, Sum{});
    if (lane == 0) use(key, sum);
  }
}

/// max + log(sum(exp(x - max))) of a row, in every thread: no exponential can overflow.
template<typename T>
__device__ T log_sum_exp_of_row(const T* x, int64_t columns) {
  T largest = minus_infinity<T>();
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) largest = Maximum{}(x[i], largest);
  largest = block_maximum(largest);
  if (!isfinite(largest)) return largest;  // the same in all threads
  T sum{0};
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) sum += exp(x[i] - largest);
  return largest + log(block_sum(sum));
}

template<typename T>
__global__ void log_sum_exp_kernel(T* y, const T* x, int64_t count, int64_t columns) {
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const T value = log_sum_exp_of_row(x + row * columns, columns);
    if (threadIdx.x == 0) y[row] = value;
  }
}

/// An element and where it is. An index of -1: none.
template<typename T>
struct Ranked {
  T value;
  int32_t index;
};

/// The order of argmax and top_k: NaN first so that it does not go unnoticed, then descending; of equals the
/// first.
template<typename T>
__device__ bool ranks_before(const Ranked<T>& a, const Ranked<T>& b) {
  if (a.index < 0 || b.index < 0) return b.index < 0 && a.index >= 0;
  const bool a_is_nan = isnan(a.value), b_is_nan = isnan(b.value);
  if (a_is_nan != b_is_nan) return a_is_nan;
  if (!a_is_nan && a.value != b.value) return a.value > b.value;
  return a.index < b.index;
}

template<typename T>
__device__ Ranked<T> first_of_block(Ranked<T> best) {
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    const Ranked<T> other = {__shfl_xor_sync(all_lanes, best.value, offset),
                             __shfl_xor_sync(all_lanes, best.index, offset)};
    if (ranks_before(other, best)) best = other;
  }
  const int warps = static_cast<int>(blockDim.x) / lanes;
  if (warps == 1) return best;
  ATTN_SHARED(T, values, lanes);
  ATTN_SHARED(int32_t, indices, lanes);
  if (threadIdx.x % lanes == 0) {
    values[threadIdx.x / lanes] = best.value;
    indices[threadIdx.x / lanes] = best.index;
  }
  __syncthreads();
  best = {values[0], indices[0]};
  for (int warp = 1; warp < warps; ++warp) {
    const Ranked<T> other = {values[warp], indices[warp]};
    if (ranks_before(other, best)) best = other;
  }
  __syncthreads();  // before the next call writes again
  return best;
}

/// The k first elements of each row, one after another. `values` may be NULL.
template<typename T>
__global__ void top_k_kernel(T* values, int32_t* indices, const T* x, int64_t count, int64_t columns, int k) {
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const T* from = x + row * columns;
    Ranked<T> last = {T{0}, -1};
    for (int rank = 0; rank < k; ++rank) {
      Ranked<T> best = {T{0}, -1};
      for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
        const Ranked<T> candidate = {from[i], static_cast<int32_t>(i)};
        const bool is_left = rank == 0 || ranks_before(last, candidate);
        if (is_left && ranks_before(candidate, best)) best = candidate;
      }
      last = first_of_block(best);
      if (threadIdx.x == 0) {
        if (values != nullptr) values[row * k + rank] = last.value;
        indices[row * k + rank] = last.index;
      }
    }
  }
}

}  // namespace attn::cuda
