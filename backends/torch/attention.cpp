// The masked softmax and the two kinds of attention, put together from products and softmaxes.
#include <algorithm>
#include <limits>

#include "kernels.h"

namespace attn::libtorch {

namespace {

constexpr double book_score = -1e6;

}  // namespace

HiddenKeys::HiddenKeys(const Call& call, int lengths, bool causal, int64_t causal_offset, int32_t masking,
                       at::IntArrayRef sizes)
    : book_(masking == ATTN_MASK_BOOK) {
  const int64_t queries = sizes[2], keys = sizes[3];
  const at::TensorOptions integers = call.options(ATTN_I32).dtype(at::kLong);
  at::Tensor visible;  // how many keys, from the first; broadcast over [B, heads, Q, 1]
  if (call.has_input(lengths)) {
    const attn_tensor& given = call.input(lengths);
    visible = call.in(lengths, {given.dims[0], 1, given.rank == 2 ? queries : 1, 1}).to(at::kLong);
  }
  if (causal) {
    // beyond these bounds nothing changes, and nothing overflows
    const int64_t first = 1 + std::min(std::max(causal_offset, -queries - 1), keys);
    const at::Tensor limit = at::arange(first, first + queries, integers).view({1, 1, queries, 1});
    visible = visible.defined() ? at::minimum(visible, limit) : limit;
  }
  if (visible.defined()) hidden_ = at::arange(keys, integers) >= visible;
}

at::Tensor HiddenKeys::masked(const at::Tensor& scores) const {
  if (!hidden_.defined()) return scores;
  return scores.masked_fill(hidden_, book_ ? book_score : -std::numeric_limits<double>::infinity());
}

void HiddenKeys::softmax_of_masked(const at::Tensor& weights, const at::Tensor& scores) const {
  at::Tensor target = weights;
  at::_softmax_out(target, scores, -1, /*half_to_float=*/false);
  // the softmax of a row without any key is NaN
  if (hidden_.defined() && !book_) target.masked_fill_(hidden_, 0);
}

at::Tensor HiddenKeys::gradient(const at::Tensor& weights, const at::Tensor& d_weights) const {
  // what would reach a weight that is exactly 0 counts for nothing, even if it is infinite
  const bool exact = hidden_.defined() && !book_;
  const at::Tensor reaching = exact ? d_weights.masked_fill(hidden_, 0) : d_weights;
  at::Tensor d_scores = at::_softmax_backward_data(reaching, weights, -1, weights.scalar_type());
  if (hidden_.defined()) d_scores.masked_fill_(hidden_, 0);
  return d_scores;
}

namespace {

/// [..., Q, K] as [B, heads, Q, K]: the lengths say what B is.
std::vector<int64_t> grouped_sizes(const Call& call, int lengths) {
  const attn_tensor& weights = call.output(0);
  const int64_t entries = leading(weights, 2);
  const int64_t batch = call.has_input(lengths) ? call.input(lengths).dims[0] : 1;
  return {batch, entries / batch, dims(weights).last(1), columns(weights)};
}

HiddenKeys hidden_keys(const Call& call, int lengths, at::IntArrayRef sizes) {
  const auto params = call.params<attn_masked_softmax_params>();
  return {call, lengths, params.causal != 0, params.causal_offset, params.masking, sizes};
}

}  // namespace

void masked_softmax(const Call& call) {
  if (elements(call.output(0)) == 0) return;
  const std::vector<int64_t> sizes = grouped_sizes(call, 1);
  const HiddenKeys hidden = hidden_keys(call, 1, sizes);
  hidden.softmax_of_masked(call.out(0, sizes), hidden.masked(call.in(0, sizes)));
}

void masked_softmax_gradient(const Call& call) {
  if (elements(call.output(0)) == 0) return;
  const std::vector<int64_t> sizes = grouped_sizes(call, 2);
  const HiddenKeys hidden = hidden_keys(call, 2, sizes);
  call.out(0, sizes).copy_(hidden.gradient(call.in(0, sizes), call.in(1, sizes)));
}

// ---- scaled dot-product attention

namespace {

/// [B, n, heads * width] as matrices [B * heads, n, width].
at::Tensor split_heads(const at::Tensor& x, int64_t heads) {
  const int64_t width = x.size(2) / heads;
  return x.view({x.size(0), x.size(1), heads, width})
      .transpose(1, 2)
      .reshape({x.size(0) * heads, x.size(1), width});
}

/// The inverse of split_heads().
at::Tensor join_heads(const at::Tensor& x, int64_t heads) {
  const int64_t batch = x.size(0) / heads;
  return x.view({batch, heads, x.size(1), x.size(2)})
      .transpose(1, 2)
      .reshape({batch, x.size(1), heads * x.size(2)});
}

/// What attention and its gradient have in common: the scores, and how they become weights.
struct Scores {
  attn_attention_params params;
  std::vector<int64_t> sizes, matrices;  // [B,H,Q,K] and [B*H,Q,K]
  at::Tensor query, key, value;          // [B*H, n, width]; the query is scaled
  HiddenKeys hidden;
  Dropout dropout;

  explicit Scores(const Call& call)
      : params(call.params<attn_attention_params>()),
        sizes{call.input(0).dims[0], params.heads, call.input(0).dims[1], call.input(1).dims[1]},
        matrices{sizes[0] * sizes[1], sizes[2], sizes[3]},
        query(split_heads(call.in(0), params.heads) * params.scale),
        key(split_heads(call.in(1), params.heads)),
        value(split_heads(call.in(2), params.heads)),
        hidden(call, 3, params.causal != 0, params.causal_offset, params.masking, sizes),
        dropout(call, 4, params.stream, params.dropout_rate, sizes) {}

  at::Tensor raw() const { return batch_product(query, key.transpose(1, 2)).view(sizes); }
};

}  // namespace

namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

/// Over the keys that have a weight; those of the book's mask have one only in rows where all are hidden.
at::Tensor log_sum_exp(const Scores& scores, const at::Tensor& raw, const at::Tensor& masked,
                       const at::Tensor& weights) {
  if (scores.params.masking == ATTN_MASK_BOOK) {
    const at::Tensor equal = scores.hidden.masked(at::zeros_like(raw)), shares = at::empty_like(raw);
    scores.hidden.softmax_of_masked(shares, equal);
    return at::logsumexp(raw.masked_fill(shares == 0, nothing), {-1});
  }
  // the largest weight is exp(largest score - log_sum_exp)
  const at::Tensor largest = masked.amax(-1);
  return (largest - weights.amax(-1).log_()).masked_fill_(largest == nothing, nothing);
}

}  // namespace

void attention(const Call& call) {
  const Scores scores(call);
  const at::Tensor raw = scores.raw(), masked = scores.hidden.masked(raw);
  const at::Tensor weights = call.has_output(2) ? call.out(2) : at::empty_like(masked);
  scores.hidden.softmax_of_masked(weights, masked);
  call.out(1).copy_(log_sum_exp(scores, raw, masked, weights));
  const at::Tensor output = batch_product(scores.dropout(weights).view(scores.matrices), scores.value);
  call.out(0).copy_(join_heads(output, scores.params.heads));
}

void attention_gradient(const Call& call) {
  const Scores scores(call);
  const int64_t heads = scores.params.heads;
  // not from log_sum_exp: with the book's mask its last digit is worth more than the weights
  const at::Tensor masked = scores.hidden.masked(scores.raw());
  const at::Tensor weights = at::empty_like(masked);
  scores.hidden.softmax_of_masked(weights, masked);
  const at::Tensor d_output = split_heads(call.in(7), heads);
  if (call.has_output(2)) {
    const at::Tensor dropped = scores.dropout(weights).view(scores.matrices);
    call.store(2, join_heads(batch_product(dropped.transpose(1, 2), d_output), heads));
  }
  if (!call.has_output(0) && !call.has_output(1)) return;
  const at::Tensor d_dropped = batch_product(d_output, scores.value.transpose(1, 2)).view(scores.sizes);
  const at::Tensor d_weights = scores.dropout(d_dropped);
  const at::Tensor d_scores = scores.hidden.gradient(weights, d_weights).view(scores.matrices);
  if (call.has_output(0)) {
    const at::Tensor d_query = batch_product(d_scores, scores.key).mul_(scores.params.scale);
    call.store(0, join_heads(d_query, heads));
  }
  if (call.has_output(1)) {
    call.store(1, join_heads(batch_product(d_scores.transpose(1, 2), scores.query), heads));
  }
}

// ---- additive attention

namespace {

/// The sizes of additive attention, how many of its queries are taken at once, and its mask and dropout.
struct Additive {
  attn_attention_params params;
  int64_t batch, queries, keys, width, at_once;
  HiddenKeys hidden;
  Dropout dropout;

  explicit Additive(const Call& call)
      : params(call.params<attn_attention_params>()),
        batch(call.input(0).dims[0]),
        queries(call.input(0).dims[1]),
        keys(call.input(1).dims[1]),
        width(call.input(0).dims[2]),
        at_once(std::max<int64_t>(1, largest_sums / (batch * keys * width))),
        hidden(call, 4, params.causal != 0, params.causal_offset, params.masking, {batch, 1, queries, keys}),
        dropout(call, 5, params.stream, params.dropout_rate, {batch, queries, keys}) {}

  /// Calls part(first, tanh(query + key) [B, count, K, U]) for some of the queries after others.
  template<typename Part>
  void for_each_part(const at::Tensor& query, const at::Tensor& key, Part part) const {
    for (int64_t first = 0; first < queries; first += at_once) {
      const int64_t count = std::min(at_once, queries - first);
      part(first, (query.narrow(1, first, count).unsqueeze(2) + key.unsqueeze(1)).tanh_());
    }
  }

 private:
  static constexpr int64_t largest_sums = int64_t{1} << 22;  // elements
};

}  // namespace

void additive_attention(const Call& call) {
  const Additive sizes(call);
  const at::Tensor score_weight = call.in(2);
  const at::Tensor scores = at::empty({sizes.batch, sizes.queries, sizes.keys}, score_weight.options());
  sizes.for_each_part(call.in(0), call.in(1), [&](int64_t first, const at::Tensor& sums) {
    const at::Tensor part = at::mv(sums.view({-1, sizes.width}), score_weight);
    scores.narrow(1, first, sums.size(1)).copy_(part.view({sizes.batch, sums.size(1), sizes.keys}));
  });
  const std::vector<int64_t> grouped{sizes.batch, 1, sizes.queries, sizes.keys};
  const at::Tensor weights = call.out(1);
  sizes.hidden.softmax_of_masked(weights.view(grouped), sizes.hidden.masked(scores.view(grouped)));
  multiply_batch(call.out(0), sizes.dropout(weights), call.in(3));
}

void additive_attention_gradient(const Call& call) {
  const Additive sizes(call);
  const at::Tensor query = call.in(0), key = call.in(1), score_weight = call.in(2), weights = call.in(6);
  const at::Tensor d_output = call.in(7);
  if (call.has_output(3)) call.store(3, batch_product(sizes.dropout(weights).transpose(1, 2), d_output));
  if (!call.has_output(0) && !call.has_output(1) && !call.has_output(2)) return;

  const std::vector<int64_t> grouped{sizes.batch, 1, sizes.queries, sizes.keys};
  const at::Tensor d_weights = sizes.dropout(batch_product(d_output, call.in(3).transpose(1, 2)));
  const at::Tensor d_scores =
      sizes.hidden.gradient(weights.view(grouped), d_weights.view(grouped)).view(weights.sizes());
  const at::Tensor d_query = at::empty_like(query), d_key = at::zeros_like(key);
  const at::Tensor d_score_weight = at::zeros_like(score_weight);
  sizes.for_each_part(query, key, [&](int64_t first, at::Tensor sums) {
    const at::Tensor d_part = d_scores.narrow(1, first, sums.size(1));
    d_score_weight.add_(at::mv(sums.view({-1, sizes.width}).t(), d_part.reshape({-1})));
    const at::Tensor d_sums = sums.mul_(sums).neg_().add_(1).mul_(d_part.unsqueeze(3));  // tanh' times d
    d_query.narrow(1, first, sums.size(1)).copy_(d_sums.sum(2));
    d_key.add_(d_sums.sum(1));
  });
  if (call.has_output(0)) call.store(0, d_query.mul_(score_weight));
  if (call.has_output(1)) call.store(1, d_key.mul_(score_weight));
  if (call.has_output(2)) call.store(2, d_score_weight);
}

}  // namespace attn::libtorch
