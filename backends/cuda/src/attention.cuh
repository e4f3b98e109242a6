#pragma once
// Scaled dot-product attention without a matrix of all scores in memory: Dao et al., "FlashAttention: fast
// and memory-efficient exact attention with IO-awareness" (2022), with the softmax of Milakov and Gimelshein,
// "Online normalizer calculation for softmax" (2018). No atomic sums: every element of a result has one
// thread, which adds in a fixed order.
#include "tile.cuh"

namespace attn::cuda {

template<typename T>
struct AttentionInput {
  const T *query, *key, *value;
  int64_t batch, queries, keys;
  int heads, key_columns, value_columns;  // columns of a head
  T scale;
  KeyMask mask;
  Dropout<T> dropout;

  __device__ int64_t key_step() const { return static_cast<int64_t>(heads) * key_columns; }
  __device__ int64_t value_step() const { return static_cast<int64_t>(heads) * value_columns; }
};

/// The matrices of one head of one batch entry.
template<typename T>
struct Head {
  int64_t batch_entry, index;  // index counts heads over the whole batch
  int head;
  Rows<T> query, key, value;

  __device__ Head(const AttentionInput<T>& in, int64_t number)
      : batch_entry(number / in.heads), index(number), head(static_cast<int>(number % in.heads)) {
    query = {in.query + batch_entry * in.queries * in.key_step() + head * in.key_columns, in.queries,
             in.key_step(), in.key_columns};
    key = {in.key + batch_entry * in.keys * in.key_step() + head * in.key_columns, in.keys, in.key_step(),
           in.key_columns};
    value = {in.value + batch_entry * in.keys * in.value_step() + head * in.value_columns, in.keys,
             in.value_step(), in.value_columns};
  }
  /// Where row 0 of this head is in a tensor [B, queries, H * value columns].
  __device__ int64_t output_start(const AttentionInput<T>& in) const {
    return batch_entry * in.queries * in.value_step() + head * in.value_columns;
  }
  /// The number of an element of the weights, by which dropout counts.
  __device__ uint64_t element(const AttentionInput<T>& in, int64_t query_row, int64_t key_row) const {
    return static_cast<uint64_t>((index * in.queries + query_row) * in.keys + key_row);
  }
};

/// How many keys each of this thread's rows sees, and the most that any row of the tile does.
template<typename T, int R>
__device__ int64_t visible_of_rows(int64_t (&visible)[R], const AttentionInput<T>& in, const Head<T>& head,
                                   int64_t first) {
  ATTN_SHARED(int64_t, limits, tile_size<R>);
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int64_t row = first + tile_row<R>(r);
    visible[r] = row < in.queries ? in.mask.visible(head.batch_entry, row) : 0;
    if (threadIdx.x == 0) limits[tile_row<R>(r)] = visible[r];
  }
  __syncthreads();
  int64_t most = 0;
  for (int row = 0; row < tile_size<R>; ++row) most = limits[row] > most ? limits[row] : most;
  __syncthreads();
  return most;
}

/// A block for each tile of queries of each head.
template<typename T, int R, int C>
__global__ void __launch_bounds__(tile_threads)
    attention_kernel(T* output, T* log_sum_exp, AttentionInput<T> in, int64_t tiles) {
  ATTN_SHARED(T, weights, tile_size<R> * tile_pitch<R>);
  for (int64_t block = blockIdx.x; block < tiles * in.batch * in.heads; block += gridDim.x) {
    const Head<T> head(in, block / tiles);
    const int64_t first = block % tiles * tile_size<R>;
    int64_t visible[R];
    const int64_t last_key = visible_of_rows(visible, in, head, first);
    T sums[R], largest[R], result[R][C];
#pragma unroll
    for (int r = 0; r < R; ++r) {
      sums[r] = T{0};
      largest[r] = minus_infinity<T>();
#pragma unroll
      for (int c = 0; c < C; ++c) result[r][c] = T{0};
    }
    for (int64_t first_key = 0; first_key < last_key; first_key += tile_size<R>) {
      T scores[R][R];
      inner_products(scores, head.query, first, head.key, first_key);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        T here = largest[r];
#pragma unroll
        for (int c = 0; c < R; ++c) {
          const bool seen = first_key + tile_column<R>(c) < visible[r];
          scores[r][c] = seen ? scores[r][c] * in.scale : minus_infinity<T>();
          here = Maximum{}(scores[r][c], here);
        }
        here = reduce_tile_row(here, Maximum{});
        // what was summed up so far belongs to the old maximum
        const T factor = here == largest[r] ? T{1} : exp(largest[r] - here);
        T sum{0};
#pragma unroll
        for (int c = 0; c < R; ++c) {
          const T score = scores[r][c];
          const T weight = score == minus_infinity<T>() ? T{0} : exp(score - here);
          sum += weight;
          const uint64_t element = head.element(in, first + tile_row<R>(r), first_key + tile_column<R>(c));
          weights[tile_row<R>(r) * tile_pitch<R> + tile_column<R>(c)] = in.dropout(weight, element);
        }
        sums[r] = sums[r] * factor + reduce_tile_row(sum, Sum{});
        largest[r] = here;
#pragma unroll
        for (int c = 0; c < C; ++c) result[r][c] *= factor;
      }
      add_weighted_rows(result, weights, head.value, first_key);
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int64_t row = first + tile_row<R>(r);
#pragma unroll
      for (int c = 0; c < C; ++c) result[r][c] = visible[r] > 0 ? result[r][c] / sums[r] : T{0};
      if (threadIdx.x == 0 && row < in.queries) {
        log_sum_exp[head.index * in.queries + row] =
            visible[r] > 0 ? largest[r] + log(sums[r]) : minus_infinity<T>();
      }
    }
    store_rows(output + head.output_start(in), result, T{1}, first, in.queries, in.value_step(),
               in.value_columns, false);
  }
}

/// The weights themselves, for who asks: a block for each tile of them.
template<typename T, int R>
__global__ void __launch_bounds__(tile_threads)
    attention_weights_kernel(T* weights, const T* log_sum_exp, AttentionInput<T> in, int64_t query_tiles,
                             int64_t key_tiles) {
  const int64_t blocks = in.batch * in.heads * query_tiles * key_tiles;
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const Head<T> head(in, block / (query_tiles * key_tiles));
    const int64_t first = block / key_tiles % query_tiles * tile_size<R>;
    const int64_t first_key = block % key_tiles * tile_size<R>;
    T scores[R][R];
    inner_products(scores, head.query, first, head.key, first_key);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int64_t row = first + tile_row<R>(r);
      if (row >= in.queries) continue;
      const int64_t visible = in.mask.visible(head.batch_entry, row);
      const T shift = log_sum_exp[head.index * in.queries + row];
#pragma unroll
      for (int c = 0; c < R; ++c) {
        const int64_t key = first_key + tile_column<R>(c);
        if (key >= in.keys) continue;
        weights[head.element(in, row, key)] = key < visible ? exp(scores[r][c] * in.scale - shift) : T{0};
      }
    }
  }
}

template<typename T>
struct AttentionGradientInput {
  AttentionInput<T> forward;
  const T *log_sum_exp, *d_output;
  T* delta;  // [B,H,Q]: the inner product of an output with its gradient

  __device__ Rows<T> d_output_rows(const Head<T>& head) const {
    return {d_output + head.output_start(forward), forward.queries, forward.value_step(),
            forward.value_columns};
  }
};

constexpr int delta_warps = 4;

/// A warp for each query of each head.
template<typename T>
__global__ void attention_delta_kernel(AttentionGradientInput<T> in, const T* output) {
  const AttentionInput<T>& forward = in.forward;
  const int64_t count = forward.batch * forward.heads * forward.queries;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * delta_warps; first < count;
       first += static_cast<int64_t>(gridDim.x) * delta_warps) {
    const int64_t row = first + threadIdx.y;
    T sum{0};
    if (row < count) {
      const Head<T> head(forward, row / forward.queries);
      const int64_t start = head.output_start(forward) + row % forward.queries * forward.value_step();
      for (int column = static_cast<int>(threadIdx.x); column < forward.value_columns; column += lanes) {
        sum += output[start + column] * in.d_output[start + column];
      }
    }
    sum = warp_reduce(sum, Sum{});
    if (row < count && threadIdx.x == 0) in.delta[row] = sum;
  }
}

/// A block for each tile of queries of each head.
template<typename T, int R, int C>
__global__ void __launch_bounds__(tile_threads)
    attention_query_gradient_kernel(T* d_query, bool accumulate, AttentionGradientInput<T> gradient,
                                    int64_t tiles) {
  ATTN_SHARED(T, d_scores, tile_size<R> * tile_pitch<R>);
  AttentionInput<T>& in = gradient.forward;
  for (int64_t block = blockIdx.x; block < tiles * in.batch * in.heads; block += gridDim.x) {
    const Head<T> head(in, block / tiles);
    const Rows<T> d_output = gradient.d_output_rows(head);
    const int64_t first = block % tiles * tile_size<R>;
    int64_t visible[R];
    const int64_t last_key = visible_of_rows(visible, in, head, first);
    T result[R][C];
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int c = 0; c < C; ++c) result[r][c] = T{0};
    }
    for (int64_t first_key = 0; first_key < last_key; first_key += tile_size<R>) {
      T scores[R][R], d_weights[R][R];
      inner_products(scores, head.query, first, head.key, first_key);
      inner_products(d_weights, d_output, first, head.value, first_key);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const int64_t row = first + tile_row<R>(r), statistics = head.index * in.queries + row;
#pragma unroll
        for (int c = 0; c < R; ++c) {
          const int64_t key = first_key + tile_column<R>(c);
          T d_score{0};
          if (key < visible[r]) {
            const T weight = exp(scores[r][c] * in.scale - gradient.log_sum_exp[statistics]);
            const T d_weight = in.dropout(d_weights[r][c], head.element(in, row, key));
            d_score = weight * (d_weight - gradient.delta[statistics]);
          }
          d_scores[tile_row<R>(r) * tile_pitch<R> + tile_column<R>(c)] = d_score;
        }
      }
      add_weighted_rows(result, d_scores, head.key, first_key);
    }
    T* to = d_query + (head.query.data - in.query);
    store_rows(to, result, in.scale, first, in.queries, in.key_step(), in.key_columns, accumulate);
  }
}

template<typename T>
struct KeyValueGradient {
  T *d_key, *d_value;  // either may be NULL
  bool accumulate_key, accumulate_value;
};

/// A block for each tile of keys of each head; here the rows of a tile are keys and its columns queries.
template<typename T, int R, int C>
__global__ void __launch_bounds__(tile_threads)
    attention_key_gradient_kernel(KeyValueGradient<T> to, AttentionGradientInput<T> gradient, int64_t tiles) {
  ATTN_SHARED(T, weights, tile_size<R> * tile_pitch<R>);
  AttentionInput<T>& in = gradient.forward;
  for (int64_t block = blockIdx.x; block < tiles * in.batch * in.heads; block += gridDim.x) {
    const Head<T> head(in, block / tiles);
    const Rows<T> d_output = gradient.d_output_rows(head);
    const int64_t first = block % tiles * tile_size<R>;
    T key_result[R][C], value_result[R][C];
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int c = 0; c < C; ++c) key_result[r][c] = value_result[r][c] = T{0};
    }
    const int64_t start = in.mask.first_query(first) / tile_size<R> * tile_size<R>;
    const int64_t end = in.mask.may_be_seen(head.batch_entry, first) ? in.queries : 0;
    for (int64_t first_query = start; first_query < end; first_query += tile_size<R>) {
      T scores[R][R], d_weights[R][R];
      inner_products(scores, head.key, first, head.query, first_query);
      inner_products(d_weights, head.value, first, d_output, first_query);
#pragma unroll
      for (int c = 0; c < R; ++c) {
        const int64_t query = first_query + tile_column<R>(c), statistics = head.index * in.queries + query;
        const int64_t visible = query < in.queries ? in.mask.visible(head.batch_entry, query) : 0;
#pragma unroll
        for (int r = 0; r < R; ++r) {
          const int64_t key = first + tile_row<R>(r);
          T weight{0}, d_score{0}, dropped{0};
          if (key < visible) {
            const uint64_t element = head.element(in, query, key);
            weight = exp(scores[r][c] * in.scale - gradient.log_sum_exp[statistics]);
            dropped = in.dropout(weight, element);
            d_score = weight * (in.dropout(d_weights[r][c], element) - gradient.delta[statistics]);
          }
          weights[tile_row<R>(r) * tile_pitch<R> + tile_column<R>(c)] = dropped;
          d_weights[r][c] = d_score;
        }
      }
      add_weighted_rows(value_result, weights, d_output, first_query);
#pragma unroll
      for (int r = 0; r < R; ++r) {
#pragma unroll
        for (int c = 0; c < R; ++c) {
          weights[tile_row<R>(r) * tile_pitch<R> + tile_column<R>(c)] = d_weights[r][c];
        }
      }
      add_weighted_rows(key_result, weights, head.query, first_query);
    }
    if (to.d_key != nullptr) {
      store_rows(to.d_key + (head.key.data - in.key), key_result, in.scale, first, in.keys, in.key_step(),
                 in.key_columns, to.accumulate_key);
    }
    if (to.d_value != nullptr) {
      store_rows(to.d_value + (head.value.data - in.value), value_result, T{1}, first, in.keys,
                 in.value_step(), in.value_columns, to.accumulate_value);
    }
  }
}

}  // namespace attn::cuda
