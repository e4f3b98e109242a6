#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "attn/nn/layers.h"

/// The scoring functions of the attention chapters, and multi-head attention.
namespace attn {

/// Where a layer's weights are reported to an observer.
struct AttentionSite {
  AttentionKind kind = AttentionKind::encoder_self;
  std::int64_t layer = 0;
};

/// softmax(query key^T / sqrt(size)) value, with dropout on the weights (D2L, "Scaled Dot-Product
/// Attention").
class DotProductAttention {
 public:
  explicit DotProductAttention(double dropout) : dropout_(dropout) {}

  /// query [batch, queries, size], key [batch, keys, size], value [batch, keys, value_size] -> [batch,
  /// queries, value_size].
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const ops::Mask& mask,
                    Context& context, AttentionSite site = {}) const;

 private:
  double dropout_;
};

/// Additive attention: score = w_v . tanh(W_q query + W_k key), all three without bias (Bahdanau et al.,
/// 2015).
class AdditiveAttention {
 public:
  AdditiveAttention(const Scope& scope, std::int64_t query_size, std::int64_t key_size, std::int64_t hidden,
                    double dropout);

  /// W_k key, [batch, keys, hidden]: the same for all queries, so a decoder computes it once.
  Tensor project_keys(const Tensor& key) const { return W_k_(key); }
  /// query [batch, queries, query_size], projected_keys from project_keys, value [batch, keys, value_size]
  /// -> [batch, queries, value_size]. As for MultiHeadAttention::attend, n neighbouring rows of `query` may
  /// share a row of the keys.
  Tensor operator()(const Tensor& query, const Tensor& projected_keys, const Tensor& value,
                    const ops::Mask& mask, Context& context, AttentionSite site = {}) const;

 private:
  Tensor weights(const Tensor& projected_query, const Tensor& projected_keys, const ops::Mask& mask) const;

  Linear W_q_, W_k_;
  ParameterHandle w_v_;
  double dropout_;
};

/// How a recurrent decoder scores a key by its state (Luong et al., 2015, section 3.1).
enum class Scoring {
  additive,  ///< w_v . tanh(W_q query + W_k key)
  dot,       ///< query . key
  general    ///< query . W key
};

/// The attention of a recurrent decoder: softmax over the keys of one of the scores, without scaling, and
/// with dropout on the weights.
class ScoredAttention {
 public:
  struct Options {
    Scoring scoring = Scoring::additive;
    std::int64_t query_size = 0, key_size = 0;  ///< equal for Scoring::dot
    std::int64_t hidden = 0;                    ///< units of Scoring::additive
    double dropout = 0.0;
  };

  /// Declares W_q, W_k and w_v of AdditiveAttention, or W [query_size, key_size]; dot has no parameters.
  ScoredAttention(const Scope& scope, const Options& options);

  /// What of a key does not depend on the query, [batch, keys, ...]: a decoder computes it once.
  Tensor project_keys(const Tensor& key) const;
  /// query [batch, queries, query_size], projected_keys from project_keys, value [batch, keys, value_size]
  /// -> [batch, queries, value_size]. As for MultiHeadAttention::attend, n neighbouring rows of `query` may
  /// share a row of the keys.
  Tensor operator()(const Tensor& query, const Tensor& projected_keys, const Tensor& value,
                    const ops::Mask& mask, Context& context, AttentionSite site = {}) const;

 private:
  std::optional<AdditiveAttention> additive_;
  std::optional<Linear> W_;
  double dropout_;
};

/// Projected keys and values, [batch, keys, width] each.
struct KeyValueCache {
  Tensor keys, values;
};

/// Projected keys and values of many hypotheses in one place, in any order: those of batch entry b are the
/// rows `rows`[b, ...] of keys and values [cache rows, width]. Hypotheses that began alike share rows.
struct SharedKeyValueCache {
  Tensor keys, values;
  Tensor rows;  ///< i32 [batch, keys]
};

/// Multi-head attention (Vaswani et al., 2017, section 3.2.2): head h attends with columns h * size ... of
/// the projections.
class MultiHeadAttention {
 public:
  struct Options {
    std::int64_t query_size = 0, key_size = 0, value_size = 0;  ///< widths of the operands
    std::int64_t hidden = 0;  ///< width of the projections and of the output
    std::int64_t heads = 1;   ///< divides hidden
    double dropout = 0.0;
    bool bias = false;
    attn_masking masking = ATTN_MASK_EXACT;
    AttentionSite site;
  };

  /// Throws Error(config) if heads do not divide hidden.
  MultiHeadAttention(const Scope& scope, const Options& options);

  /// query [batch, queries, query_size], key [batch, keys, key_size], value [batch, keys, value_size]
  /// -> [batch, queries, hidden].
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, ops::Mask mask,
                    Context& context) const;

  /// Projected keys and values, for attending to the same source at every step.
  KeyValueCache project(const Tensor& key, const Tensor& value) const { return {W_k_(key), W_v_(value)}; }
  /// Attention of query [batch * n, queries, query_size] to projected keys and values [batch, keys, hidden]
  /// -> [batch * n, queries, hidden]. Where n > 1, as for the hypotheses of a beam search, n neighbouring
  /// rows of the query share a row of the keys; the mask then is not causal and its lengths are [batch].
  /// Observers get the weights of each row of the query, [batch * n, heads, queries, keys].
  Tensor attend(const Tensor& query, const KeyValueCache& memory, ops::Mask mask, Context& context) const;
  /// The same for keys and values that hypotheses share, without dropout and without gradients: for decoding.
  Tensor attend(const Tensor& query, const SharedKeyValueCache& memory, ops::Mask mask,
                Context& context) const;

 private:
  double scale() const;
  // Gives weights to who asked for them; `projected` is the query as it went into the operation, and `keys`
  // makes [batch, keys, hidden].
  void report(const Tensor& query, const Tensor& projected, const ops::AttentionResult& result,
              const std::function<Tensor()>& keys, const ops::Mask& mask, Context& context) const;

  Options options_;
  Linear W_q_, W_k_, W_v_, W_o_;
};

}  // namespace attn
