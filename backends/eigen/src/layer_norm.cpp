// Layer normalisation of sum = residual + dropout(x), and its gradient: Ba et al., "Layer Normalization"
// (2016).
#include <cmath>

#include "parallel.h"
#include "random.h"
#include "vector_loops.h"

namespace attn::eigen {
namespace {

// Rows are handled in blocks of about this many elements, which stay in cache between the passes over them.
constexpr std::int64_t kBlock = 2048;

std::int64_t rows_per_block(std::int64_t width) {
  return std::max<std::int64_t>(kBlock / std::max<std::int64_t>(width, 1), 1);
}

template<class T>
DropoutMask<T> mask_of(const attn_layer_norm_params& params, const attn_tensor& random) {
  return {params.dropout_rate > 0 ? data<const std::int32_t>(random) : nullptr, params.stream,
          params.dropout_rate};
}

template<class T>
T* optional_output(const OpView& op, int index) {
  return op.has_output(index) ? data<T>(op.output(index)) : nullptr;
}

// Calls function(i, x...) with the vectors of arrays from element i on, the last one filled up with 0.
template<class T, class Function, class... Inputs>
void for_vectors(std::int64_t width, Function function, const Inputs*... x) {
  std::int64_t i = 0;
  for (; i + kWidth<T> <= width; i += kWidth<T>) function(i, kWidth<T>, load<T>(x + i)...);
  if (i < width) function(i, width - i, load_partial(x + i, width - i)...);
}
template<class T>
void store_some(T* to, std::int64_t count, Vec<T> x) {
  if (count == kWidth<T>)
    store<T>(to, x);
  else
    store_partial(to, count, x);
}
template<class T>
Vec<T> load_some(const T* from, std::int64_t count) {
  return count == kWidth<T> ? load<T>(from) : load_partial(from, count);
}

template<class T>
struct Forward {
  std::int64_t width;
  T share;  // 1 / width
  double epsilon;
  const T *x, *gain, *bias, *residual;
  T *y, *mean, *reciprocal_std, *sum;
  DropoutMask<T> mask;

  void normalise_row(std::int64_t row, const T* s) const {
    const T m = share * sum_of<T>(
                            width, [](Vec<T> a) { return a; }, s);
    const Vec<T> shift = broadcast(m);
    // The part beyond the row counts as 0, not as the square of the mean.
    Vec<T> squares[2] = {};
    std::int64_t i = 0;
    for (; i + 2 * kWidth<T> <= width; i += 2 * kWidth<T>) {
      for (int j = 0; j < 2; ++j) {
        const Vec<T> centred = load<T>(s + i + j * kWidth<T>) - shift;
        squares[j] += centred * centred;
      }
    }
    for (; i < width; i += kWidth<T>) {
      const std::int64_t left = std::min(width - i, kWidth<T>);
      const Vec<T> centred =
          left == kWidth<T> ? load<T>(s + i) - shift : load_part<T>(s + i, left, m) - shift;
      squares[0] += centred * centred;
    }
    const T variance = share * horizontal_sum<T>(squares[0] + squares[1]);
    const T r = T(1) / std::sqrt(variance + static_cast<T>(epsilon));
    mean[row] = m;
    reciprocal_std[row] = r;
    const Vec<T> factor = broadcast(r);
    transform<T>(
        width, y + row * width, [=](Vec<T> a, Vec<T> g, Vec<T> b) { return (a - shift) * factor * g + b; }, s,
        gain, bias);
  }

  // Rows [first, first + count); `buffer` holds their sums if these are not asked for.
  void run_block(std::int64_t first, std::int64_t count, T* buffer) const {
    const std::int64_t start = first * width;
    const T* s = x + start;
    if (mask.active() || residual != nullptr) {
      T* to = sum != nullptr ? sum + start : buffer;
      if (mask.active()) mask.apply(start, count * width, s, to);
      if (residual != nullptr) {
        transform<T>(
            count * width, to, [](Vec<T> a, Vec<T> b) { return a + b; }, residual + start,
            mask.active() ? to : s);
      }
      s = to;
    }
    for (std::int64_t row = 0; row < count; ++row) normalise_row(first + row, s + row * width);
  }
};

template<class T>
struct Backward {
  std::int64_t width;
  T share;
  const T *sum, *gain, *mean, *reciprocal_std, *d_y, *d_sum;
  T *d_x, *d_residual;
  bool add_to_x, add_to_residual;
  DropoutMask<T> mask;

  // d_gain and d_bias are sums so far, or null; `to` gets the gradient of the row of sum.
  void run_row(std::int64_t row, T* d_gain, T* d_bias, T* to) const {
    const std::int64_t start = row * width;
    const Vec<T> shift = broadcast(mean[row]), factor = broadcast(reciprocal_std[row]);
    Vec<T> total = {}, total_along = {};
    for_vectors<T>(
        width,
        [&](std::int64_t i, std::int64_t n, Vec<T> s, Vec<T> d, Vec<T> g) {
          const Vec<T> normalised = (s - shift) * factor, d_n = d * g;
          total += d_n;
          total_along += d_n * normalised;
          if (d_gain == nullptr) return;
          store_some<T>(d_gain + i, n, load_some(d_gain + i, n) + d * normalised);
          store_some<T>(d_bias + i, n, load_some(d_bias + i, n) + d);
        },
        sum + start, d_y + start, gain);
    if (to == nullptr) return;
    const Vec<T> average = broadcast(share * horizontal_sum<T>(total));
    const Vec<T> along = broadcast(share * horizontal_sum<T>(total_along));
    const auto gradient = [=](Vec<T> s, Vec<T> d, Vec<T> g) {
      return factor * (d * g - average - (s - shift) * factor * along);
    };
    if (d_sum == nullptr) {
      transform<T>(width, to, gradient, sum + start, d_y + start, gain);
    } else {
      transform<T>(
          width, to, [=](Vec<T> s, Vec<T> d, Vec<T> g, Vec<T> more) { return gradient(s, d, g) + more; },
          sum + start, d_y + start, gain, d_sum + start);
    }
  }

  // `buffer` has room for the elements of the block.
  void run_block(std::int64_t first, std::int64_t count, T* d_gain, T* d_bias, T* buffer) const {
    const std::int64_t start = first * width, size = count * width;
    T* to = nullptr;  // where the gradient of the sum goes first
    if (d_residual != nullptr && !add_to_residual)
      to = d_residual + start;
    else if (d_x != nullptr && !add_to_x && d_residual == nullptr)
      to = d_x + start;
    else if (d_x != nullptr || d_residual != nullptr)
      to = buffer;
    for (std::int64_t row = 0; row < count; ++row) {
      run_row(first + row, d_gain, d_bias, to == nullptr ? nullptr : to + row * width);
    }
    const auto plus = [](Vec<T> a, Vec<T> b) { return a + b; };
    if (d_residual != nullptr && add_to_residual) {
      transform<T>(size, d_residual + start, plus, d_residual + start, to);
    }
    if (d_x == nullptr) return;
    if (add_to_x) {
      if (mask.active()) {
        mask.apply(start, size, to, buffer);
        to = buffer;
      }
      transform<T>(size, d_x + start, plus, d_x + start, to);
    } else if (mask.active() || to != d_x + start) {
      mask.apply(start, size, to, d_x + start);
    }
  }
};

// y (+)= the sum over blocks of parts[block], in this order.
template<class T>
void add_parts(std::int64_t blocks, std::int64_t width, const T* parts, std::int64_t step, T* y,
               bool accumulate) {
  if (y == nullptr) return;
  if (!accumulate) std::fill_n(y, width, T(0));
  for (std::int64_t block = 0; block < blocks; ++block) {
    transform<T>(
        width, y, [](Vec<T> a, Vec<T> b) { return a + b; }, y, parts + block * step);
  }
}

}  // namespace

template<class T>
void run_layer_norm(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &gain = op.input(1);
  const auto params = op.params<attn_layer_norm_params>();
  const std::int64_t width = elements(gain), row_count = leading(x, gain.rank);
  const Forward<T> forward{width,
                           width > 0 ? T(1) / static_cast<T>(width) : T(0),
                           params.epsilon,
                           data<const T>(x),
                           data<const T>(gain),
                           data<const T>(op.input(2)),
                           op.has_input(3) ? data<const T>(op.input(3)) : nullptr,
                           data<T>(op.output(0)),
                           data<T>(op.output(1)),
                           data<T>(op.output(2)),
                           optional_output<T>(op, 3),
                           mask_of<T>(params, op.input(4))};
  const bool needs_buffer = forward.sum == nullptr && (forward.mask.active() || forward.residual != nullptr);
  const std::int64_t block = rows_per_block(width);
  for_rows(context.threads, row_count, width, 4, [&](std::int64_t first, std::int64_t count) {
    const auto buffer = context.workspace.take<T>(needs_buffer ? block * width : 0);
    for (std::int64_t row = first; row < first + count; row += block) {
      forward.run_block(row, std::min(block, first + count - row), buffer.data());
    }
  });
}

template<class T>
void run_layer_norm_gradient(const OpView& op, KernelContext& context) {
  const attn_tensor &sum = op.input(0), &gain = op.input(1);
  const auto params = op.params<attn_layer_norm_params>();
  const std::int64_t width = elements(gain), row_count = leading(sum, gain.rank);
  const Backward<T> backward{width,
                             width > 0 ? T(1) / static_cast<T>(width) : T(0),
                             data<const T>(sum),
                             data<const T>(gain),
                             data<const T>(op.input(2)),
                             data<const T>(op.input(3)),
                             data<const T>(op.input(4)),
                             op.has_input(5) ? data<const T>(op.input(5)) : nullptr,
                             optional_output<T>(op, 0),
                             optional_output<T>(op, 3),
                             op.accumulates(0),
                             op.accumulates(3),
                             mask_of<T>(params, op.input(6))};
  T* d_gain = optional_output<T>(op, 1);
  T* d_bias = optional_output<T>(op, 2);
  const bool sums = d_gain != nullptr || d_bias != nullptr;
  // Sums over rows are taken block by block whatever the number of threads.
  const std::int64_t inner = rows_per_block(width);
  const std::int64_t block = 4 * inner;
  const std::int64_t blocks = (row_count + block - 1) / block, step = 2 * padded<T>(width);
  const auto parts = context.workspace.take<T>(sums ? blocks * step : 0);
  for_pieces(context.threads, blocks, 4, [&](std::int64_t first_block, std::int64_t block_count) {
    const auto buffer = context.workspace.take<T>(inner * width);
    for (std::int64_t number = first_block; number < first_block + block_count; ++number) {
      T* part = sums ? parts.data() + number * step : nullptr;
      T* part_of_bias = sums ? part + step / 2 : nullptr;
      if (sums) std::fill_n(part, step, T(0));
      const std::int64_t end = std::min(row_count, (number + 1) * block);
      for (std::int64_t row = number * block; row < end; row += inner) {
        backward.run_block(row, std::min(inner, end - row), part, part_of_bias, buffer.data());
      }
    }
  });
  add_parts(blocks, width, parts.data(), step, d_gain, op.accumulates(1));
  add_parts(blocks, width, parts.data() + step / 2, step, d_bias, op.accumulates(2));
}

#define ATTN_INSTANTIATE(T)                                       \
  template void run_layer_norm<T>(const OpView&, KernelContext&); \
  template void run_layer_norm_gradient<T>(const OpView&, KernelContext&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn::eigen
