#pragma once
/*
 * Masked multi-head attention and its gradient without a matrix of all scores in memory: Dao et al.,
 * "FlashAttention" (2022). Scores are computed tile by tile; the softmax keeps a running maximum and sum.
 */
#include <algorithm>
#include <cstdint>

#include "random.h"
#include "threads.h"

namespace attn::eigen {

/// Which keys a query may see: always the first ones.
struct VisibleKeys {
  const std::int32_t* lengths = nullptr;  // [batch] or [batch, queries]; null: all keys
  bool length_per_query = false;
  bool causal = false;
  std::int64_t causal_offset = 0;

  std::int64_t count(std::int64_t batch, std::int64_t query, std::int64_t queries, std::int64_t keys) const {
    std::int64_t visible = keys;
    if (lengths != nullptr) {
      visible = std::min<std::int64_t>(visible, lengths[length_per_query ? batch * queries + query : batch]);
    }
    // Beyond these bounds nothing changes, and the sum cannot overflow.
    if (causal) visible = std::min(visible, query + 1 + std::clamp(causal_offset, -queries - 1, keys));
    return std::max<std::int64_t>(visible, 0);
  }
};

template<class T>
struct AttentionProblem {
  std::int64_t batch = 0, heads = 1, queries = 0, keys = 0;
  std::int64_t key_width = 0, value_width = 0;  // of one head
  const T* query = nullptr;                     // [batch, queries, heads * key_width]
  const T* key = nullptr;                       // [batch, keys, heads * key_width]
  const T* value = nullptr;                     // [batch, keys, heads * value_width]
  VisibleKeys visible;
  double scale = 1;
  DropoutMask<T> dropout{nullptr, 0, 0.0};  // of the weights [batch, heads, queries, keys]
};

template<class T>
struct AttentionResult {
  T* output = nullptr;       // [batch, queries, heads * value_width]
  T* log_sum_exp = nullptr;  // [batch, heads, queries]
  T* weights = nullptr;      // [batch, heads, queries, keys], before dropout; may be null
};

template<class T>
struct AttentionGradient {
  const T* output = nullptr;
  const T* log_sum_exp = nullptr;
  const T* d_output = nullptr;
  T* d_query = nullptr;  // each may be null: not computed
  T* d_key = nullptr;
  T* d_value = nullptr;
  bool add_to_query = false, add_to_key = false, add_to_value = false;
};

template<class T>
void attention(const AttentionProblem<T>& problem, const AttentionResult<T>& result, Threads& threads,
               Workspace& workspace);

template<class T>
void attention_gradient(const AttentionProblem<T>& problem, const AttentionGradient<T>& gradient,
                        Threads& threads, Workspace& workspace);

/// Pairs of batch entry and head that make up one task, so that a task is worth handing to a thread.
inline std::int64_t attention_pairs_per_task(std::int64_t cost_of_a_pair) {
  constexpr std::int64_t kCostOfATask = 1 << 19;
  return std::max<std::int64_t>(1, kCostOfATask / std::max<std::int64_t>(1, cost_of_a_pair));
}

/// Cuts a block of temporary memory into 64-byte aligned pieces; without a block it only counts.
template<class T>
class Pieces {
 public:
  explicit Pieces(T* data = nullptr) : data_(data) {}
  T* take(std::int64_t size) {
    T* piece = data_ == nullptr ? nullptr : data_ + used_;
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
    used_ += (size + kLine - 1) / kLine * kLine;
    return piece;
  }
  std::int64_t used() const { return used_; }

 private:
  T* data_;
  std::int64_t used_ = 0;
};

}  // namespace attn::eigen
