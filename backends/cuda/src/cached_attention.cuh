#pragma once
// Attention of few queries to rows of a cache: a block for each query of each head.
#include "rows.cuh"

namespace attn::cuda {

template<typename T>
struct CachedInput {
  const T *query, *cached_keys, *cached_values;
  const int32_t* rows;
  int64_t batch, queries, keys;
  int heads, key_columns, value_columns;  // columns of a head
  T scale;
  KeyMask mask;
  bool book;
  IdCheck check;

  __device__ int64_t key_step() const { return static_cast<int64_t>(heads) * key_columns; }
  __device__ int64_t value_step() const { return static_cast<int64_t>(heads) * value_columns; }
  /// The row of the cache that key number `key` is; -1, and a fault, if there is none.
  __device__ int64_t row_of(int64_t entry, int64_t key) const {
    const int64_t position = entry * keys + key;
    return accepts(check, rows[position], position) ? rows[position] : -1;
  }
};

/// One query of one head.
template<typename T>
struct CachedQuery {
  const CachedInput<T>& in;
  int64_t entry, head, number;  // number counts queries within the entry

  __device__ CachedQuery(const CachedInput<T>& input, int64_t row)
      : in(input),
        entry(row / (input.heads * input.queries)),
        head(row / input.queries % input.heads),
        number(row % input.queries) {}
  __device__ const T* query() const {
    return in.query + (entry * in.queries + number) * in.key_step() + head * in.key_columns;
  }
  __device__ T score_term(const T* query, int64_t key, int64_t column) const {
    const int64_t row = in.row_of(entry, key);
    if (row < 0) return T{0};
    return query[column] * in.cached_keys[row * in.key_step() + head * in.key_columns + column];
  }
  __device__ T value(int64_t key, int64_t column) const {
    const int64_t row = in.row_of(entry, key);
    return row < 0 ? T{0} : in.cached_values[row * in.value_step() + head * in.value_columns + column];
  }
  __device__ int64_t output_start() const {
    return (entry * in.queries + number) * in.value_step() + head * in.value_columns;
  }
};

/// weights [B,H,Q,K], also where nobody asked for them.
template<typename T>
__global__ void cached_attention_kernel(T* output, T* weights, CachedInput<T> in) {
  for (int64_t row = blockIdx.x; row < in.batch * in.heads * in.queries; row += gridDim.x) {
    const CachedQuery<T> one(in, row);
    const int64_t visible = in.mask.visible(one.entry, one.number);
    const T* query = one.query();
    T* to = weights + row * in.keys;
    for_each_key_sum<T>(
        visible, in.key_columns,
        [&](int64_t key, int64_t column) { return one.score_term(query, key, column); },
        [&](int64_t key, T sum) { to[key] = sum * in.scale; });
    const int64_t weighted = weights_of_scores(to, in.keys, visible, in.book);
    for (int64_t column = threadIdx.x; column < in.value_columns; column += blockDim.x) {
      T sum{0};
      for (int64_t key = 0; key < weighted; ++key) sum += to[key] * one.value(key, column);
      output[one.output_start() + column] = sum;
    }
  }
}

}  // namespace attn::cuda
