#pragma once
// Bahdanau's additive attention: scores = score_weight . tanh(query + key), one block for each query.
#include "rows.cuh"

namespace attn::cuda {

template<typename T>
struct AdditiveInput {
  const T *query, *key, *score_weight, *value;
  int64_t batch, queries, keys, units, value_columns;
  KeyMask mask;
  bool book;
  Dropout<T> dropout;

  __device__ const T* query_row(int64_t entry, int64_t row) const {
    return query + (entry * queries + row) * units;
  }
  __device__ const T* key_row(int64_t entry, int64_t row) const { return key + (entry * keys + row) * units; }
  __device__ const T* value_row(int64_t entry, int64_t row) const {
    return value + (entry * keys + row) * value_columns;
  }
};

constexpr int additive_threads = 128;

template<typename T>
__global__ void additive_attention_kernel(T* output, T* weights, AdditiveInput<T> in) {
  for (int64_t row = blockIdx.x; row < in.batch * in.queries; row += gridDim.x) {
    const int64_t entry = row / in.queries;
    const int64_t visible = in.mask.visible(entry, row - entry * in.queries);
    const T* query = in.query_row(entry, row - entry * in.queries);
    T* to = weights + row * in.keys;
    for_each_key_sum<T>(
        visible, in.units,
        [&](int64_t key, int64_t unit) {
          return in.score_weight[unit] * tanh(query[unit] + in.key_row(entry, key)[unit]);
        },
        [&](int64_t key, T score) { to[key] = score; });
    const int64_t weighted = weights_of_scores(to, in.keys, visible, in.book);
    for (int64_t column = threadIdx.x; column < in.value_columns; column += blockDim.x) {
      T sum{0};
      for (int64_t key = 0; key < weighted; ++key) {
        const T weight = in.dropout(to[key], static_cast<uint64_t>(row * in.keys + key));
        sum += weight * in.value_row(entry, key)[column];
      }
      output[row * in.value_columns + column] = sum;
    }
  }
}

/// d_scores [B,Q,K].
template<typename T>
__global__ void additive_scores_gradient_kernel(T* d_scores, const T* weights, const T* d_output,
                                                AdditiveInput<T> in) {
  for (int64_t row = blockIdx.x; row < in.batch * in.queries; row += gridDim.x) {
    const int64_t entry = row / in.queries, start = row * in.keys;
    const int64_t visible = in.mask.visible(entry, row - entry * in.queries);
    const int64_t weighted = in.book ? in.keys : visible;
    for_each_key_sum<T>(
        weighted, in.value_columns,
        [&](int64_t key, int64_t column) {
          return d_output[row * in.value_columns + column] * in.value_row(entry, key)[column];
        },
        [&](int64_t key, T d_weight) {
          d_scores[start + key] = in.dropout(d_weight, static_cast<uint64_t>(start + key));
        });
    __syncthreads();
    T mean{0};
    for (int64_t key = threadIdx.x; key < weighted; key += blockDim.x) {
      mean += weights[start + key] * d_scores[start + key];
    }
    mean = block_sum(mean);
    for (int64_t key = threadIdx.x; key < in.keys; key += blockDim.x) {
      const int64_t i = start + key;
      d_scores[i] = key < visible ? weights[i] * (d_scores[i] - mean) : T{0};
    }
  }
}

/// d_query, which may be NULL, and each query's part of d_score_weight, [B*Q, units].
template<typename T>
__global__ void additive_query_gradient_kernel(T* d_query, bool accumulate, T* score_weight_parts,
                                               const T* d_scores, AdditiveInput<T> in) {
  for (int64_t i = first_element(); i < in.batch * in.queries * in.units; i += element_step()) {
    const int64_t row = i / in.units, unit = i - row * in.units, entry = row / in.queries;
    T sum{0}, weighted{0};
    for (int64_t key = 0; key < in.keys; ++key) {
      const T d_score = d_scores[row * in.keys + key];
      if (d_score == T{0}) continue;  // of keys that are not seen, above all
      const T activation = tanh(in.query[i] + in.key_row(entry, key)[unit]);
      sum += d_score * (T{1} - activation * activation);
      weighted += d_score * activation;
    }
    if (d_query != nullptr) put(d_query + i, in.score_weight[unit] * sum, accumulate);
    score_weight_parts[i] = weighted;
  }
}

template<typename T>
__global__ void additive_key_gradient_kernel(T* d_key, bool accumulate, const T* d_scores,
                                             AdditiveInput<T> in) {
  for (int64_t i = first_element(); i < in.batch * in.keys * in.units; i += element_step()) {
    const int64_t row = i / in.units, unit = i - row * in.units;
    const int64_t entry = row / in.keys, key = row - entry * in.keys;
    T sum{0};
    for (int64_t query = 0; query < in.queries; ++query) {
      const T d_score = d_scores[(entry * in.queries + query) * in.keys + key];
      if (d_score == T{0}) continue;
      const T activation = tanh(in.query_row(entry, query)[unit] + in.key[i]);
      sum += d_score * (T{1} - activation * activation);
    }
    put(d_key + i, in.score_weight[unit] * sum, accumulate);
  }
}

template<typename T>
__global__ void additive_value_gradient_kernel(T* d_value, bool accumulate, const T* weights,
                                               const T* d_output, AdditiveInput<T> in) {
  for (int64_t i = first_element(); i < in.batch * in.keys * in.value_columns; i += element_step()) {
    const int64_t row = i / in.value_columns, column = i - row * in.value_columns;
    const int64_t entry = row / in.keys, key = row - entry * in.keys;
    T sum{0};
    for (int64_t query = 0; query < in.queries; ++query) {
      const int64_t query_row = entry * in.queries + query, element = query_row * in.keys + key;
      const T weight = in.dropout(weights[element], static_cast<uint64_t>(element));
      sum += weight * d_output[query_row * in.value_columns + column];
    }
    put(d_value + i, sum, accumulate);
  }
}

}  // namespace attn::cuda
