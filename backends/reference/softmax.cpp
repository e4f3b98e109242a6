#include <algorithm>
#include <cmath>
#include <limits>

#include "common/masking.h"
#include "kernels.h"
#include "types.h"

namespace attn::backend::reference {

namespace {

constexpr double book_score = -1e6;

KeyMask key_mask(const OpView& op, const attn_tensor& lengths) {
  const auto params = op.params<attn_masked_softmax_params>();
  const attn_tensor& weights = op.output(0);
  return {
      lengths,         params.causal != 0, params.causal_offset, leading(weights, 2), dims(weights).last(1),
      columns(weights)};
}

/// Softmax of the first `keys` scores, of which those from `visible` on count as the book's -1e6.
template<typename T>
void softmax_row(const T* scores, T* weights, int64_t keys, int64_t visible) {
  const auto score = [&](int64_t key) { return key < visible ? double{scores[key]} : book_score; };
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t key = 0; key < keys; ++key) largest = std::max(largest, score(key));
  double sum = 0;
  for (int64_t key = 0; key < keys; ++key) sum += std::exp(score(key) - largest);
  for (int64_t key = 0; key < keys; ++key)
    weights[key] = static_cast<T>(std::exp(score(key) - largest) / sum);
}

template<typename T>
void forward(const OpView& op) {
  const attn_tensor& out = op.output(0);
  const bool book = op.params<attn_masked_softmax_params>().masking == ATTN_MASK_BOOK;
  const KeyMask mask = key_mask(op, op.input(1));
  const int64_t entries = leading(out, 2), queries = dims(out).last(1), keys = columns(out);

  const T* scores = data<T>(op.input(0));
  T* weights = data<T>(out);
  for (int64_t entry = 0; entry < entries; ++entry) {
    for (int64_t query = 0; query < queries; ++query, scores += keys, weights += keys) {
      const int64_t visible = mask.visible(entry, query);
      const int64_t weighted = book ? keys : visible;
      softmax_row(scores, weights, weighted, visible);
      std::fill(weights + weighted, weights + keys, T{0});
    }
  }
}

template<typename T>
void backward(const OpView& op) {
  const attn_tensor& out = op.output(0);
  const bool book = op.params<attn_masked_softmax_params>().masking == ATTN_MASK_BOOK;
  const KeyMask mask = key_mask(op, op.input(2));
  const int64_t entries = leading(out, 2), queries = dims(out).last(1), keys = columns(out);

  const T *weights = data<T>(op.input(0)), *d_weights = data<T>(op.input(1));
  T* d_scores = data<T>(out);
  for (int64_t entry = 0; entry < entries; ++entry) {
    for (int64_t query = 0; query < queries; ++query, weights += keys, d_weights += keys, d_scores += keys) {
      const int64_t visible = mask.visible(entry, query);
      const int64_t weighted = book ? keys : visible;
      double mean = 0;  // of the gradients, as the weights weight them
      for (int64_t key = 0; key < weighted; ++key) mean += double{weights[key]} * d_weights[key];
      for (int64_t key = 0; key < visible; ++key) {
        d_scores[key] = static_cast<T>(weights[key] * (d_weights[key] - mean));
      }
      std::fill(d_scores + visible, d_scores + keys, T{0});
    }
  }
}

}  // namespace

void masked_softmax(const OpView& op) {
  with_float_type(op.output(0).dtype, [&](auto type) { forward<decltype(type)>(op); });
}

void masked_softmax_gradient(const OpView& op) {
  with_float_type(op.output(0).dtype, [&](auto type) { backward<decltype(type)>(op); });
}

}  // namespace attn::backend::reference
