#pragma once
// One element at a time; an output may share the memory of the input, as each element is read before it is
// written by the same thread.
#include "device.cuh"

namespace attn::cuda {

/// Into i32: towards zero, the nearest representable value if out of range, 0 for NaN.
template<typename To, typename From>
__device__ To convert(From value) {
  return static_cast<To>(value);
}
template<>
__device__ inline int32_t convert<int32_t, double>(double value) {
  if (!(value > INT32_MIN)) return value <= INT32_MIN ? INT32_MIN : 0;
  return value < INT32_MAX ? static_cast<int32_t>(value) : INT32_MAX;
}
template<>
__device__ inline int32_t convert<int32_t, float>(float value) {
  return convert<int32_t>(static_cast<double>(value));
}

template<typename T>
__global__ void fill_kernel(T* y, int64_t count, double value) {
  for (int64_t i = first_element(); i < count; i += element_step()) y[i] = convert<T>(value);
}

template<typename To, typename From>
__global__ void cast_kernel(To* y, const From* x, int64_t count) {
  for (int64_t i = first_element(); i < count; i += element_step()) y[i] = convert<To>(x[i]);
}

/// Computed in `Real`: the type of the elements, or f64 for integers.
template<typename T, typename Real>
__global__ void affine_kernel(T* y, const T* x, int64_t count, Real scale, Real shift) {
  for (int64_t i = first_element(); i < count; i += element_step()) {
    y[i] = convert<T>(scale * static_cast<Real>(x[i]) + shift);
  }
}

template<typename T>
__device__ T sigmoid(T x) {
  // exp of a negative number alone: it cannot overflow
  const T tail = exp(-fabs(x));
  return (x >= T{0} ? T{1} : tail) / (T{1} + tail);
}

template<typename T>
__device__ T apply_unary(int function, T x) {
  switch (function) {
    case ATTN_UNARY_NEGATE:
      return -x;
    case ATTN_UNARY_EXP:
      return exp(x);
    case ATTN_UNARY_LOG:
      return log(x);
    case ATTN_UNARY_SQRT:
      return sqrt(x);
    case ATTN_UNARY_RSQRT:
      return T{1} / sqrt(x);
    case ATTN_UNARY_SQUARE:
      return x * x;
    case ATTN_UNARY_RECIPROCAL:
      return T{1} / x;
    case ATTN_UNARY_TANH:
      return tanh(x);
    case ATTN_UNARY_SIGMOID:
      return sigmoid(x);
    case ATTN_UNARY_RELU:
      return x < T{0} ? T{0} : x;  // false for NaN, which so stays NaN
    case ATTN_UNARY_GELU:
      return T(0.5) * x * erfc(-x * T(0.70710678118654752));
    case ATTN_UNARY_SIN:
      return sin(x);
    case ATTN_UNARY_COS:
      return cos(x);
    case ATTN_UNARY_ERF:
      return erf(x);
    default:
      return fabs(x);  // ATTN_UNARY_ABS
  }
}

template<typename T>
__global__ void unary_kernel(T* y, const T* x, int64_t count, int function) {
  for (int64_t i = first_element(); i < count; i += element_step()) y[i] = apply_unary(function, x[i]);
}

template<typename T>
__device__ T apply_binary(int function, T a, T b) {
  switch (function) {
    case ATTN_BINARY_ADD:
      return a + b;
    case ATTN_BINARY_SUBTRACT:
      return a - b;
    case ATTN_BINARY_MULTIPLY:
      return a * b;
    case ATTN_BINARY_DIVIDE:
      return a / b;
    case ATTN_BINARY_MAXIMUM:
      return a > b || isnan(a) ? a : b;
    case ATTN_BINARY_MINIMUM:
      return a < b || isnan(a) ? a : b;
    case ATTN_BINARY_GREATER:
      return a > b ? T{1} : T{0};
    default:
      return a == b ? T{1} : T{0};  // ATTN_BINARY_EQUAL
  }
}
/// Integers wrap around; a division by zero gives 0.
template<>
__device__ inline int32_t apply_binary(int function, int32_t a, int32_t b) {
  const auto left = static_cast<uint32_t>(a), right = static_cast<uint32_t>(b);
  switch (function) {
    case ATTN_BINARY_ADD:
      return static_cast<int32_t>(left + right);
    case ATTN_BINARY_SUBTRACT:
      return static_cast<int32_t>(left - right);
    case ATTN_BINARY_MULTIPLY:
      return static_cast<int32_t>(left * right);
    case ATTN_BINARY_DIVIDE:
      return b == 0 ? 0 : static_cast<int32_t>(static_cast<int64_t>(a) / b);
    case ATTN_BINARY_MAXIMUM:
      return a > b ? a : b;
    case ATTN_BINARY_MINIMUM:
      return a < b ? a : b;
    case ATTN_BINARY_GREATER:
      return a > b ? 1 : 0;
    default:
      return a == b ? 1 : 0;  // ATTN_BINARY_EQUAL
  }
}

template<typename T>
__global__ void binary_kernel(T* y, const T* a, const T* b, Walk<2> walk, int function) {
  for (int64_t i = first_element(); i < walk.count; i += element_step()) {
    int64_t from[2];
    walk.offsets(i, from);
    y[i] = apply_binary(function, a[from[0]], b[from[1]]);
  }
}

template<typename T>
__global__ void select_kernel(T* y, const T* condition, const T* a, const T* b, Walk<3> walk) {
  for (int64_t i = first_element(); i < walk.count; i += element_step()) {
    int64_t from[3];
    walk.offsets(i, from);
    y[i] = condition[from[0]] != T{0} ? a[from[1]] : b[from[2]];
  }
}

/// Four elements a thread: they share a block of random words.
template<typename T>
__global__ void dropout_kernel(T* y, const T* x, int64_t count, Dropout<T> dropout) {
  for (int64_t four = first_element() * 4; four < count; four += element_step() * 4) {
    for (int64_t i = four; i < four + 4 && i < count; ++i) y[i] = dropout(x[i], static_cast<uint64_t>(i));
  }
}

}  // namespace attn::cuda
