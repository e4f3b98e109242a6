#pragma once
/*
 * Loops over arrays in whole vectors: elementwise functions of several arrays, sums and maxima in an order
 * that depends on the length alone; and the functions of vector_math.h's vectors that Eigen provides.
 */
#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <limits>

#include "vector_math.h"

namespace attn::eigen {

/// The first `count` elements (0 < count <= width); the other lanes are `rest`.
template<class T>
Vec<T> load_part(const T* from, std::int64_t count, T rest) {
  Vec<T> lane;
  for (std::int64_t i = 0; i < kWidth<T>; ++i) lane[i] = static_cast<T>(i);
  return lane < broadcast(static_cast<T>(count)) ? load_partial(from, count) : broadcast(rest);
}

/// y[i] = function(x[i]...) on vectors; y may be one of the x.
template<class T, class Function, class... Inputs>
void transform(std::int64_t count, T* y, Function function, const Inputs*... x) {
  std::int64_t i = 0;
  for (; i + kWidth<T> <= count; i += kWidth<T>) store<T>(y + i, function(load<T>(x + i)...));
  if (i < count) store_partial(y + i, count - i, function(load_partial(x + i, count - i)...));
}

/// The sum over i of function(x[i]...), in an order that depends on `count` alone. function(0...) must be 0.
template<class T, class Function, class... Inputs>
T sum_of(std::int64_t count, Function function, const Inputs*... x) {
  constexpr std::int64_t width = kWidth<T>;
  Vec<T> sums[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * width <= count; i += 4 * width) {
    for (int j = 0; j < 4; ++j) sums[j] += function(load<T>(x + i + j * width)...);
  }
  for (; i + width <= count; i += width) sums[0] += function(load<T>(x + i)...);
  if (i < count) sums[0] += function(load_partial(x + i, count - i)...);
  return horizontal_sum<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// The larger one; NaN if one of them is.
template<class T>
Vec<T> maximum_or_nan(Vec<T> a, Vec<T> b) {
  const Vec<T> larger = a > b ? a : b;  // b where a is NaN
  return a == a ? larger : a;
}
template<class T>
Vec<T> minimum_or_nan(Vec<T> a, Vec<T> b) {
  const Vec<T> smaller = a < b ? a : b;
  return a == a ? smaller : a;
}

/// The largest element, -infinity for none; NaN if one of them is.
template<class T>
T largest_of(std::int64_t count, const T* x) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  Vec<T> found = broadcast(lowest);
  std::int64_t i = 0;
  for (; i + kWidth<T> <= count; i += kWidth<T>) found = maximum_or_nan<T>(found, load<T>(x + i));
  if (i < count) found = maximum_or_nan<T>(found, load_part<T>(x + i, count - i, lowest));
  T lanes[kWidth<T>];
  store<T>(lanes, found);
  T largest = lanes[0];
  for (const T lane : lanes) largest = lane > largest || std::isnan(lane) ? lane : largest;
  return largest;
}

/// log(sum(exp(x))), -infinity for no element.
template<class T>
T log_sum_exp_of(std::int64_t count, const T* x) {
  const T largest = largest_of(count, x);
  if (!std::isfinite(largest)) return largest;
  const Vec<T> shift = broadcast(largest);
  Vec<T> sums[2] = {};
  std::int64_t i = 0;
  for (; i + 2 * kWidth<T> <= count; i += 2 * kWidth<T>) {
    for (int j = 0; j < 2; ++j) sums[j] += exp_bounded<T>(load<T>(x + i + j * kWidth<T>) - shift);
  }
  for (; i < count; i += kWidth<T>) {
    const T* from = x + i;
    const std::int64_t left = count - i;
    const Vec<T> part =
        left >= kWidth<T> ? load<T>(from) : load_part<T>(from, left, -std::numeric_limits<T>::infinity());
    sums[0] += exp_bounded<T>(part - shift);
  }
  return largest + std::log(horizontal_sum<T>(sums[0] + sums[1]));
}

/// Negative numbers become 0, NaN stays.
template<class T>
Vec<T> rectify(Vec<T> x) {
  return x < Vec<T>{} ? Vec<T>{} : x;
}

/// A function of one number, lane by lane, for what has no vector form.
template<class T, class Function>
Vec<T> each_lane(Vec<T> x, Function function) {
  T lanes[kWidth<T>];
  store<T>(lanes, x);
  for (T& lane : lanes) lane = function(lane);
  return load<T>(lanes);
}

/// Eigen's vector type of the same width, if it has one.
template<class T>
using Packet = typename Eigen::internal::packet_traits<T>::type;
template<class T>
inline constexpr bool kHasPacket = sizeof(Packet<T>) == sizeof(Vec<T>);

template<class T>
Vec<T> logarithm(Vec<T> x) {
  if constexpr (kHasPacket<T> && Eigen::internal::packet_traits<T>::HasLog) {
    return reinterpret_cast<Vec<T>>(Eigen::internal::plog(reinterpret_cast<Packet<T>>(x)));
  } else {
    return each_lane<T>(x, [](T lane) { return std::log(lane); });
  }
}
template<class T>
Vec<T> sine(Vec<T> x) {
  if constexpr (kHasPacket<T> && Eigen::internal::packet_traits<T>::HasSin) {
    return reinterpret_cast<Vec<T>>(Eigen::internal::psin(reinterpret_cast<Packet<T>>(x)));
  } else {
    return each_lane<T>(x, [](T lane) { return std::sin(lane); });
  }
}
template<class T>
Vec<T> cosine(Vec<T> x) {
  if constexpr (kHasPacket<T> && Eigen::internal::packet_traits<T>::HasCos) {
    return reinterpret_cast<Vec<T>>(Eigen::internal::pcos(reinterpret_cast<Packet<T>>(x)));
  } else {
    return each_lane<T>(x, [](T lane) { return std::cos(lane); });
  }
}
template<class T>
Vec<T> square_root(Vec<T> x) {
  if constexpr (kHasPacket<T> && Eigen::internal::packet_traits<T>::HasSqrt) {
    const Vec<T> root = reinterpret_cast<Vec<T>>(Eigen::internal::psqrt(reinterpret_cast<Packet<T>>(x)));
    return x < broadcast(std::numeric_limits<T>::infinity()) ? root : x;  // Eigen's of infinity is NaN
  } else {
    return each_lane<T>(x, [](T lane) { return std::sqrt(lane); });
  }
}

}  // namespace attn::eigen
