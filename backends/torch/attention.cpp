// The masked softmax and the two kinds of attention, put together from products and softmaxes.
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

}  // namespace attn::libtorch
