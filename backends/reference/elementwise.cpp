// Operations on one element at a time: output element i depends on input element i alone, so that the output
// may share the memory of the input.
#include <cmath>

#include "kernels.h"
#include "types.h"

namespace attn::backend::reference {

void fill(const OpView& op) {
  const attn_tensor& y = op.output(0);
  const double value = op.params<attn_fill_params>().value;
  with_number_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < elements(y); ++i) data<T>(y)[i] = convert<T>(value);
  });
}

void cast(const OpView& op) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  with_number_type(x.dtype, [&](auto from) {
    with_number_type(y.dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      // every f32 and every i32 is an f64
      for (int64_t i = 0; i < elements(y); ++i) data<To>(y)[i] = convert<To>(data<From>(x)[i]);
    });
  });
}

void affine(const OpView& op) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const auto params = op.params<attn_affine_params>();
  with_number_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < elements(y); ++i) {
      data<T>(y)[i] = convert<T>(params.scale * data<T>(x)[i] + params.shift);
    }
  });
}

namespace {

double sigmoid(double x) {
  // exp of a negative number alone: it cannot overflow
  const double tail = std::exp(-std::abs(x));
  return (x >= 0 ? 1.0 : tail) / (1.0 + tail);
}

double apply(int32_t function, double x) {
  switch (function) {
    case ATTN_UNARY_NEGATE:
      return -x;
    case ATTN_UNARY_EXP:
      return std::exp(x);
    case ATTN_UNARY_LOG:
      return std::log(x);
    case ATTN_UNARY_SQRT:
      return std::sqrt(x);
    case ATTN_UNARY_RSQRT:
      return 1.0 / std::sqrt(x);
    case ATTN_UNARY_SQUARE:
      return x * x;
    case ATTN_UNARY_RECIPROCAL:
      return 1.0 / x;
    case ATTN_UNARY_TANH:
      return std::tanh(x);
    case ATTN_UNARY_SIGMOID:
      return sigmoid(x);
    case ATTN_UNARY_RELU:
      return x < 0 ? 0.0 : x;  // false for NaN, which so stays NaN
    case ATTN_UNARY_GELU:
      return 0.5 * x * std::erfc(-x * std::sqrt(0.5));
    case ATTN_UNARY_SIN:
      return std::sin(x);
    case ATTN_UNARY_COS:
      return std::cos(x);
    case ATTN_UNARY_ERF:
      return std::erf(x);
    default:
      return std::abs(x);  // ATTN_UNARY_ABS
  }
}

}  // namespace

void unary(const OpView& op) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const int32_t function = op.params<attn_unary_params>().function;
  with_float_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < elements(y); ++i) data<T>(y)[i] = convert<T>(apply(function, data<T>(x)[i]));
  });
}

}  // namespace attn::backend::reference
