// Operations that make few numbers of many.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels.h"
#include "types.h"

namespace attn::backend::reference {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// The larger of the two, NaN if either is.
double maximum(double a, double b) {
  return a > b || std::isnan(a) ? a : b;
}

/// Strides that lead from an index of x to the element of y into which it is reduced.
Dims reduced_strides(const Dims& sizes, uint32_t axes) {
  Dims kept = sizes;
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    if ((axes >> axis & 1u) != 0) kept[axis] = 1;
  }
  return broadcast_strides(kept, sizes);
}

template<typename T>
void reduce(const OpView& op) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const auto params = op.params<attn_reduce_params>();
  const bool is_max = params.function == ATTN_REDUCE_MAX;
  const Dims sizes = dims(x), strides = reduced_strides(sizes, params.axes);

  std::vector<double> totals(elements(y), is_max ? minus_infinity : 0.0);
  for (int64_t i = 0; i < elements(x); ++i) {
    double& total = totals[strided_offset(i, sizes, strides)];
    const double value = data<T>(x)[i];
    total = is_max ? maximum(total, value) : total + value;
  }

  const bool is_mean = params.function == ATTN_REDUCE_MEAN && elements(x) > 0;
  const int64_t count = is_mean ? elements(x) / elements(y) : 1;
  for (int64_t i = 0; i < elements(y); ++i) {
    const double old = params.accumulate != 0 ? data<T>(y)[i] : 0.0;
    data<T>(y)[i] = static_cast<T>(old + totals[i] / static_cast<double>(count));
  }
}

/// The order of argmax and top_k: descending, NaN first so that it does not go unnoticed.
template<typename T>
bool ranks_before(T a, T b) {
  return std::isnan(a) ? !std::isnan(b) : a > b;
}

/// max + log(sum(exp(x - max))): no exponential can overflow.
template<typename T>
double log_sum_exp(const T* row, int64_t count) {
  double largest = minus_infinity;
  for (int64_t i = 0; i < count; ++i) largest = maximum(largest, row[i]);
  if (!std::isfinite(largest)) return largest;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(row[i] - largest);
  return largest + std::log(sum);
}

}  // namespace

void reduce(const OpView& op) {
  with_float_type(op.input(0).dtype, [&](auto type) { reduce<decltype(type)>(op); });
}

void argmax(const OpView& op) {
  const attn_tensor& x = op.input(0);
  with_float_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t row = 0; row < rows(x); ++row) {
      const T* values = data<T>(x) + row * columns(x);
      // max_element keeps the first of equals
      const T* best =
          std::max_element(values, values + columns(x), [](T a, T b) { return ranks_before(b, a); });
      data<int32_t>(op.output(0))[row] = static_cast<int32_t>(best - values);
    }
  });
}

void top_k(const OpView& op) {
  const attn_tensor& x = op.input(0);
  const int64_t k = columns(op.output(0));
  std::vector<int32_t> order(columns(x));
  with_float_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t row = 0; row < rows(x); ++row) {
      const T* values = data<T>(x) + row * columns(x);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return ranks_before(values[a], values[b]); });
      for (int64_t i = 0; i < k; ++i) {
        data<T>(op.output(0))[row * k + i] = values[order[i]];
        data<int32_t>(op.output(1))[row * k + i] = order[i];
      }
    }
  });
}

void log_sum_exp(const OpView& op) {
  const attn_tensor& x = op.input(0);
  with_float_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t row = 0; row < rows(x); ++row) {
      data<T>(op.output(0))[row] =
          static_cast<T>(log_sum_exp(data<const T>(x) + row * columns(x), columns(x)));
    }
  });
}

void squared_norm(const OpView& op) {
  const attn_tensor& y = op.output(0);
  with_float_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    double sum = 0;
    for (int input = 0; input < op.input_count(); ++input) {
      const attn_tensor& x = op.input(input);
      for (int64_t i = 0; i < elements(x); ++i) {
        const double value = data<T>(x)[i];
        sum += value * value;
      }
    }
    *data<T>(y) = static_cast<T>(sum);
  });
}

}  // namespace attn::backend::reference
