#include <cmath>

#include "common/masking.h"
#include "parallel.h"
#include "vector_loops.h"

namespace attn::eigen {
namespace {

template<class T>
constexpr T kBookScore = T(-1e6);

backend::KeyMask key_mask(const OpView& op, const attn_tensor& lengths) {
  const auto params = op.params<attn_masked_softmax_params>();
  const attn_tensor& weights = op.output(0);
  return {
      lengths,         params.causal != 0, params.causal_offset, leading(weights, 2), dims(weights).last(1),
      columns(weights)};
}

template<class T>
void softmax_row(std::int64_t count, const T* x, T* y) {
  const Vec<T> shift = broadcast(largest_of(count, x));
  Vec<T> sum = {};
  std::int64_t i = 0;
  for (; i + kWidth<T> <= count; i += kWidth<T>) {
    const Vec<T> e = exp_bounded<T>(load<T>(x + i) - shift);
    store<T>(y + i, e);
    sum += e;
  }
  if (i < count) {
    const Vec<T> part = load_part<T>(x + i, count - i, -std::numeric_limits<T>::infinity());
    const Vec<T> e = exp_bounded<T>(part - shift);
    store_partial(y + i, count - i, e);
    sum += e;
  }
  const Vec<T> factor = broadcast(T(1) / horizontal_sum<T>(sum));
  transform<T>(
      count, y, [=](Vec<T> e) { return e * factor; }, y);
}

}  // namespace

template<class T>
void run_masked_softmax(const OpView& op, KernelContext& context) {
  const attn_tensor& out = op.output(0);
  if (elements(out) == 0) return;
  const bool book = op.params<attn_masked_softmax_params>().masking == ATTN_MASK_BOOK;
  const backend::KeyMask mask = key_mask(op, op.input(1));
  const std::int64_t queries = dims(out).last(1), keys = columns(out);
  const T* scores = data<const T>(op.input(0));
  T* weights = data<T>(out);
  for_rows(context.threads, rows(out), keys, 4, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      const std::int64_t visible = mask.visible(row / queries, row % queries);
      const T* x = scores + row * keys;
      T* y = weights + row * keys;
      if (book && visible < keys) {
        std::copy(x, x + visible, y);
        std::fill(y + visible, y + keys, kBookScore<T>);
        softmax_row(keys, y, y);
      } else if (visible > 0) {
        softmax_row(visible, x, y);
      }
      if (!book) std::fill(y + visible, y + keys, T(0));
    }
  });
}

template<class T>
void run_masked_softmax_gradient(const OpView& op, KernelContext& context) {
  const attn_tensor& out = op.output(0);
  if (elements(out) == 0) return;
  const bool book = op.params<attn_masked_softmax_params>().masking == ATTN_MASK_BOOK;
  const backend::KeyMask mask = key_mask(op, op.input(2));
  const std::int64_t queries = dims(out).last(1), keys = columns(out);
  const T* weights = data<const T>(op.input(0));
  const T* d_weights = data<const T>(op.input(1));
  T* d_scores = data<T>(out);
  for_rows(context.threads, rows(out), keys, 2, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      const std::int64_t visible = mask.visible(row / queries, row % queries);
      const T* w = weights + row * keys;
      const T* d_w = d_weights + row * keys;
      T* d_s = d_scores + row * keys;
      const Vec<T> mean = broadcast(sum_of<T>(
          book ? keys : visible, [](Vec<T> a, Vec<T> b) { return a * b; }, w, d_w));
      transform<T>(
          visible, d_s, [=](Vec<T> a, Vec<T> b) { return a * (b - mean); }, w, d_w);
      std::fill(d_s + visible, d_s + keys, T(0));
    }
  });
}

template void run_masked_softmax<float>(const OpView&, KernelContext&);
template void run_masked_softmax<double>(const OpView&, KernelContext&);
template void run_masked_softmax_gradient<float>(const OpView&, KernelContext&);
template void run_masked_softmax_gradient<double>(const OpView&, KernelContext&);

}  // namespace attn::eigen
