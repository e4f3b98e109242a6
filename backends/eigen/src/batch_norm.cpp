// Normalisation of each column over the rows, and its gradient.
#include <cmath>

#include "column_sums.h"
#include "parallel.h"
#include "vector_loops.h"

namespace attn::eigen {
namespace {

template<class T>
void reciprocal_deviations(std::int64_t width, const T* variance, double epsilon, T* to) {
  for (std::int64_t i = 0; i < width; ++i) to[i] = T(1) / std::sqrt(variance[i] + static_cast<T>(epsilon));
}
template<class T>
void scale_all(std::int64_t count, T factor, T* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] *= factor;
}
template<class T>
T share_of(std::int64_t row_count) {
  return row_count > 0 ? T(1) / static_cast<T>(row_count) : T(0);
}
template<class T>
void copy_or_add(std::int64_t count, const T* from, T* to, bool accumulate) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = accumulate ? to[i] + from[i] : from[i];
}

}  // namespace

template<class T>
void run_batch_norm(const OpView& op, KernelContext& context) {
  const attn_tensor& input = op.input(0);
  const std::int64_t row_count = input.dims[0], width = input.dims[1];
  const T* x = data<const T>(input);
  const T* gain = data<const T>(op.input(1));
  const T* bias = data<const T>(op.input(2));
  T* y = data<T>(op.output(0));
  T* mean = data<T>(op.output(1));
  T* variance = data<T>(op.output(2));
  sum_rows_of(context, row_count, width, x, width, mean, false);
  scale_all(width, share_of<T>(row_count), mean);
  const auto square = [](Vec<T> a) { return a * a; };
  sum_rows<T>(
      context, row_count, width,
      [=](std::int64_t i, std::int64_t j) { return square(load<T>(x + i * width + j) - load<T>(mean + j)); },
      [=](std::int64_t i, std::int64_t j, std::int64_t n) {
        return square(load_partial(x + i * width + j, n) - load_partial(mean + j, n));
      },
      variance, false);
  scale_all(width, share_of<T>(row_count), variance);
  const auto factor = context.workspace.take<T>(width);
  reciprocal_deviations(width, variance, op.params<attn_batch_norm_params>().epsilon, factor.data());
  for_rows(context.threads, row_count, width, 2, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      transform<T>(
          width, y + row * width,
          [](Vec<T> a, Vec<T> m, Vec<T> f, Vec<T> g, Vec<T> b) { return (a - m) * f * g + b; },
          x + row * width, mean, factor.data(), gain, bias);
    }
  });
}

template<class T>
void run_batch_norm_gradient(const OpView& op, KernelContext& context) {
  const attn_tensor& input = op.input(0);
  const std::int64_t row_count = input.dims[0], width = input.dims[1];
  const T* x = data<const T>(input);
  const T* gain = data<const T>(op.input(1));
  const T* mean = data<const T>(op.input(2));
  const T* d_y = data<const T>(op.input(4));
  const auto scratch = context.workspace.take<T>(3 * width);
  T* const factor = scratch.data();
  T* const d_gain = factor + width;
  T* const d_bias = d_gain + width;
  reciprocal_deviations(width, data<const T>(op.input(3)), op.params<attn_batch_norm_params>().epsilon,
                        factor);
  const auto product = [](Vec<T> d, Vec<T> a, Vec<T> m, Vec<T> f) { return d * ((a - m) * f); };
  sum_rows<T>(
      context, row_count, width,
      [=](std::int64_t i, std::int64_t j) {
        return product(load<T>(d_y + i * width + j), load<T>(x + i * width + j), load<T>(mean + j),
                       load<T>(factor + j));
      },
      [=](std::int64_t i, std::int64_t j, std::int64_t n) {
        return product(load_partial(d_y + i * width + j, n), load_partial(x + i * width + j, n),
                       load_partial(mean + j, n), load_partial(factor + j, n));
      },
      d_gain, false);
  sum_rows_of(context, row_count, width, d_y, width, d_bias, false);
  if (op.has_output(1)) copy_or_add(width, d_gain, data<T>(op.output(1)), op.accumulates(1));
  if (op.has_output(2)) copy_or_add(width, d_bias, data<T>(op.output(2)), op.accumulates(2));
  if (!op.has_output(0)) return;
  T* d_x = data<T>(op.output(0));
  const bool accumulate = op.accumulates(0);
  const Vec<T> share = broadcast(share_of<T>(row_count));
  for_rows(context.threads, row_count, width, 2, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      T* to = d_x + row * width;
      const auto gradient = [=](Vec<T> d, Vec<T> a, Vec<T> m, Vec<T> f, Vec<T> g, Vec<T> sum_along,
                                Vec<T> sum) { return g * f * (d - share * (sum + (a - m) * f * sum_along)); };
      if (accumulate) {
        transform<T>(
            width, to, [=](Vec<T> old, auto... v) { return old + gradient(v...); }, to, d_y + row * width,
            x + row * width, mean, factor, gain, d_gain, d_bias);
      } else {
        transform<T>(width, to, gradient, d_y + row * width, x + row * width, mean, factor, gain, d_gain,
                     d_bias);
      }
    }
  });
}

#define ATTN_INSTANTIATE(T)                                       \
  template void run_batch_norm<T>(const OpView&, KernelContext&); \
  template void run_batch_norm_gradient<T>(const OpView&, KernelContext&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn::eigen
