// Operations that make few numbers of many.
#include <cmath>
#include <limits>
#include <numeric>

#include "column_sums.h"
#include "parallel.h"
#include "vector_loops.h"

namespace attn::eigen {
namespace {

// Rows are summed in pieces, so that long ones can be shared out and lose little to rounding.
constexpr std::int64_t kPiece = 16384;

template<class T>
double long_sum(KernelContext& context, std::int64_t count, const T* x) {
  if (count <= kPiece)
    return sum_of<T>(
        count, [](Vec<T> a) { return a; }, x);
  const std::int64_t pieces = (count + kPiece - 1) / kPiece;
  const auto sums = context.workspace.take<double>(pieces);
  for_pieces(context.threads, pieces, 2, [&](std::int64_t first, std::int64_t some) {
    for (std::int64_t piece = first; piece < first + some; ++piece) {
      const std::int64_t start = piece * kPiece;
      sums[piece] = sum_of<T>(
          std::min(kPiece, count - start), [](Vec<T> a) { return a; }, x + start);
    }
  });
  return std::accumulate(sums.data(), sums.data() + pieces, 0.0);
}

template<class T>
void sum_each_row(KernelContext& context, std::int64_t row_count, std::int64_t width, const T* x, T* y,
                  bool accumulate) {
  if (row_count == 1) {
    const double sum = long_sum(context, width, x);
    *y = static_cast<T>(accumulate ? *y + sum : sum);
    return;
  }
  for_rows(context.threads, row_count, width, 1, [=](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      double sum = 0;
      for (std::int64_t start = 0; start < width; start += kPiece) {
        sum += sum_of<T>(
            std::min(kPiece, width - start), [](Vec<T> a) { return a; }, x + row * width + start);
      }
      y[row] = static_cast<T>(accumulate ? y[row] + sum : sum);
    }
  });
}

// Axes in any arrangement: element after element, in the order of x.
template<class T>
void reduce_any(KernelContext& context, const Dims& sizes, const Dims& y_strides, const T* x, T* y,
                std::int64_t y_count, bool is_max, bool accumulate) {
  const auto totals = context.workspace.take<double>(y_count);
  std::fill_n(totals.data(), y_count, is_max ? -std::numeric_limits<double>::infinity() : 0.0);
  const Dims strides[1] = {y_strides};
  Odometer<1> position(sizes, strides);
  const std::int64_t count = sizes.elements();
  for (std::int64_t i = 0; i < count; ++i, position.next()) {
    double& total = totals[position.offset(0)];
    const double value = x[i];
    if (!is_max)
      total += value;
    else if (value > total || std::isnan(value))
      total = value;
  }
  for (std::int64_t i = 0; i < y_count; ++i) y[i] = static_cast<T>(accumulate ? y[i] + totals[i] : totals[i]);
}

// The order of argmax and top_k: descending, NaN first so that it does not go unnoticed.
template<class T>
bool ranks_before(T a, T b) {
  return std::isnan(a) ? !std::isnan(b) : a > b;
}

template<class T>
std::int64_t first_largest(std::int64_t count, const T* x) {
  const T largest = largest_of(count, x);
  const bool nan = std::isnan(largest);
  constexpr std::int64_t block = 64;
  std::int64_t start = 0;
  for (; start + block < count; start += block) {
    int found = 0;
    if (nan) {
      for (std::int64_t i = 0; i < block; ++i) found |= x[start + i] != x[start + i] ? 1 : 0;
    } else {
      for (std::int64_t i = 0; i < block; ++i) found |= x[start + i] == largest ? 1 : 0;
    }
    if (found != 0) break;
  }
  while (start + 1 < count && !(nan ? std::isnan(x[start]) : x[start] == largest)) ++start;
  return start;
}

// Whether one of the elements may belong before `worst`; NaN belongs before all numbers.
template<class T>
bool any_before(std::int64_t count, const T* x, T worst) {
  int found = 0;
  for (std::int64_t i = 0; i < count; ++i) found |= x[i] <= worst ? 0 : 1;
  return found != 0;
}

template<class T>
void top_k_of_row(std::int64_t count, const T* x, std::int64_t k, T* values, std::int32_t* indices) {
  constexpr std::int64_t block = 64;
  std::int64_t found = 0;
  const auto insert = [&](std::int64_t i) {
    if (found == k && !ranks_before(x[i], values[k - 1])) return;
    std::int64_t place = found < k ? found++ : k - 1;
    for (; place > 0 && ranks_before(x[i], values[place - 1]); --place) {
      values[place] = values[place - 1];
      indices[place] = indices[place - 1];
    }
    values[place] = x[i];
    indices[place] = static_cast<std::int32_t>(i);
  };
  for (std::int64_t start = 0; start < count; start += block) {
    const std::int64_t size = std::min(block, count - start);
    if (found == k && !any_before(size, x + start, values[k - 1])) continue;
    for (std::int64_t i = start; i < start + size; ++i) insert(i);
  }
}

template<class T>
void sorted_top_k_of_row(std::int64_t count, const T* x, std::int64_t k, std::int32_t* order, T* values,
                         std::int32_t* indices) {
  std::iota(order, order + count, 0);
  std::partial_sort(order, order + k, order + count, [x](std::int32_t a, std::int32_t b) {
    if (ranks_before(x[a], x[b])) return true;
    return !ranks_before(x[b], x[a]) && a < b;
  });
  for (std::int64_t i = 0; i < k; ++i) {
    values[i] = x[order[i]];
    indices[i] = order[i];
  }
}

}  // namespace

template<class T>
void run_reduce(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const auto params = op.params<attn_reduce_params>();
  const bool is_max = params.function == ATTN_REDUCE_MAX, accumulate = params.accumulate != 0;
  const std::int64_t x_count = elements(x), y_count = elements(y);
  T* to = data<T>(y);
  if (y_count == 0) return;
  if (x_count == 0) {
    if (!accumulate) std::fill_n(to, y_count, is_max ? -std::numeric_limits<T>::infinity() : T(0));
    return;
  }
  Dims sizes = dims(x), kept = sizes;
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    if ((params.axes >> axis & 1u) != 0) kept[axis] = 1;
  }
  Dims strides[2] = {backend::broadcast_strides(kept, sizes), backend::dense_strides(sizes)};
  join_axes(sizes, strides);
  const T* from = data<const T>(x);
  const bool last_reduced = strides[0].last() == 0;
  const bool rows_only = sizes.rank() == 1 || (sizes.rank() == 2 && strides[0][0] != 0);
  if (last_reduced && rows_only) {
    const std::int64_t width = sizes.last(), row_count = x_count / width;
    if (is_max) {
      for_rows(context.threads, row_count, width, 1, [=](std::int64_t first, std::int64_t count) {
        for (std::int64_t row = first; row < first + count; ++row)
          to[row] = largest_of(width, from + row * width);
      });
    } else {
      sum_each_row(context, row_count, width, from, to, accumulate);
    }
  } else if (!last_reduced && !is_max && sizes.rank() >= 2 && sizes.rank() <= 3 &&
             strides[0][sizes.rank() - 2] == 0) {
    const std::int64_t width = sizes.last(), row_count = sizes.last(1);
    for (std::int64_t entry = 0; entry < y_count / width; ++entry) {
      sum_rows_of(context, row_count, width, from + entry * row_count * width, width, to + entry * width,
                  accumulate);
    }
  } else {
    reduce_any(context, sizes, strides[0], from, to, y_count, is_max, accumulate);
  }
  if (params.function == ATTN_REDUCE_MEAN) {
    const T count = static_cast<T>(x_count / y_count);
    for (std::int64_t i = 0; i < y_count; ++i) to[i] /= count;
  }
}

template<class T>
void run_argmax(const OpView& op, KernelContext& context) {
  const attn_tensor& x = op.input(0);
  const std::int64_t width = columns(x);
  const T* from = data<const T>(x);
  auto* to = data<std::int32_t>(op.output(0));
  for_rows(context.threads, rows(x), width, 1, [=](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      to[row] = static_cast<std::int32_t>(first_largest(width, from + row * width));
    }
  });
}

template<class T>
void run_top_k(const OpView& op, KernelContext& context) {
  const attn_tensor& x = op.input(0);
  const std::int64_t width = columns(x), k = columns(op.output(0));
  const T* from = data<const T>(x);
  T* values = data<T>(op.output(0));
  auto* indices = data<std::int32_t>(op.output(1));
  for_rows(context.threads, rows(x), width, 4, [&](std::int64_t first, std::int64_t count) {
    const bool few = k <= 64;
    const auto order = context.workspace.take<std::int32_t>(few ? 0 : width);
    for (std::int64_t row = first; row < first + count; ++row) {
      const T* part = from + row * width;
      if (few)
        top_k_of_row(width, part, k, values + row * k, indices + row * k);
      else
        sorted_top_k_of_row(width, part, k, order.data(), values + row * k, indices + row * k);
    }
  });
}

template<class T>
void run_log_sum_exp(const OpView& op, KernelContext& context) {
  const attn_tensor& x = op.input(0);
  const std::int64_t width = columns(x);
  const T* from = data<const T>(x);
  T* to = data<T>(op.output(0));
  for_rows(context.threads, rows(x), width, 4, [=](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row)
      to[row] = log_sum_exp_of(width, from + row * width);
  });
}

template<class T>
void run_squared_norm(const OpView& op, KernelContext& context) {
  double total = 0;
  for (int input = 0; input < op.input_count(); ++input) {
    const T* x = data<const T>(op.input(input));
    const std::int64_t count = elements(op.input(input));
    const std::int64_t pieces = (count + kPiece - 1) / kPiece;
    const auto sums = context.workspace.take<double>(pieces);
    for_pieces(context.threads, pieces, 2, [&](std::int64_t first, std::int64_t some) {
      for (std::int64_t piece = first; piece < first + some; ++piece) {
        const std::int64_t start = piece * kPiece;
        sums[piece] = sum_of<T>(
            std::min(kPiece, count - start), [](Vec<T> a) { return a * a; }, x + start);
      }
    });
    total = std::accumulate(sums.data(), sums.data() + pieces, total);
  }
  *data<T>(op.output(0)) = static_cast<T>(total);
}

#define ATTN_INSTANTIATE(T)                                        \
  template void run_reduce<T>(const OpView&, KernelContext&);      \
  template void run_argmax<T>(const OpView&, KernelContext&);      \
  template void run_top_k<T>(const OpView&, KernelContext&);       \
  template void run_log_sum_exp<T>(const OpView&, KernelContext&); \
  template void run_squared_norm<T>(const OpView&, KernelContext&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn::eigen
