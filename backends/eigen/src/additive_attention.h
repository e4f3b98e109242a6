#pragma once
/*
 * Additive attention (Bahdanau et al., "Neural machine translation by jointly learning to align and
 * translate", 2014): scores = score_weight . tanh(query + key).
 */
#include <cstdint>

#include "attention.h"

namespace attn::eigen {

template<class T>
struct AdditiveAttentionProblem {
  std::int64_t batch = 0, queries = 0, keys = 0, units = 0, value_width = 0;
  const T* query = nullptr;         // [batch, queries, units]
  const T* key = nullptr;           // [batch, keys, units]
  const T* score_weight = nullptr;  // [units]
  const T* value = nullptr;         // [batch, keys, value_width]
  VisibleKeys visible;
  DropoutMask<T> dropout{nullptr, 0, 0.0};  // of the weights [batch, queries, keys]
};

template<class T>
struct AdditiveAttentionGradient {
  const T* weights = nullptr;   // [batch, queries, keys], before dropout
  const T* d_output = nullptr;  // [batch, queries, value_width]
  T* d_query = nullptr;         // each may be null: not computed
  T* d_key = nullptr;
  T* d_score_weight = nullptr;
  T* d_value = nullptr;
  bool add_to_query = false, add_to_key = false, add_to_score_weight = false, add_to_value = false;
};

/// output [batch, queries, value_width], weights [batch, queries, keys].
template<class T>
void additive_attention(const AdditiveAttentionProblem<T>& problem, T* output, T* weights, Threads& threads,
                        Workspace& workspace);

template<class T>
void additive_attention_gradient(const AdditiveAttentionProblem<T>& problem,
                                 const AdditiveAttentionGradient<T>& gradient, Threads& threads,
                                 Workspace& workspace);

}  // namespace attn::eigen
