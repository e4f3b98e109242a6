#pragma once
/*
 * Vectors of the instruction set that this file is compiled for, from Eigen's packet layer. Packets of float
 * and double have the usual operators from the compiler.
 *
 * Every element goes through vector instructions, also at the end of an array, where Eigen's own expressions
 * fall back on scalar functions that round differently: so a result depends neither on the position of an
 * element nor on alignment.
 */
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace attn::eigen {

template<class T>
using Packet = typename Eigen::internal::packet_traits<T>::type;

/// Elements of a packet.
template<class T>
inline constexpr std::int64_t kLanes = Eigen::internal::unpacket_traits<Packet<T>>::size;

template<class T>
Packet<T> load(const T* from) {
  return Eigen::internal::ploadu<Packet<T>>(from);
}
template<class T>
void store(T* to, const Packet<T>& packet) {
  Eigen::internal::pstoreu(to, packet);
}
template<class T>
Packet<T> broadcast(T value) {
  return Eigen::internal::pset1<Packet<T>>(value);
}

/// The first `count` elements; the other lanes are `rest`.
template<class T>
Packet<T> load_part(const T* from, std::int64_t count, T rest = T(0)) {
  T lanes[kLanes<T>];
  for (T& lane : lanes) lane = rest;
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return load(lanes);
}
template<class T>
void store_part(T* to, const Packet<T>& packet, std::int64_t count) {
  T lanes[kLanes<T>];
  store(lanes, packet);
  for (std::int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}

/// y[i] = function(x[i]...) for packets x; y may be one of the x.
template<class T, class Function, class... Inputs>
void transform(std::int64_t count, T* y, Function function, const Inputs*... x) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) store<T>(y + i, function(load<T>(x + i)...));
  if (i < count) store_part<T>(y + i, function(load_part<T>(x + i, count - i)...), count - i);
}

/// A function of one number, lane by lane, for what has no vector form.
template<class T, class Function>
Packet<T> each_lane(const Packet<T>& x, Function function) {
  T lanes[kLanes<T>];
  store<T>(lanes, x);
  for (T& lane : lanes) lane = function(lane);
  return load(lanes);
}

template<class T>
T lanes_sum(const Packet<T>& x) {
  return Eigen::internal::predux(x);
}
template<class T>
T lanes_max(const Packet<T>& x) {
  return Eigen::internal::predux_max(x);
}

/// condition ? a : b, where condition comes from less_than() or equal_to().
template<class T>
Packet<T> choose(const Packet<T>& condition, const Packet<T>& a, const Packet<T>& b) {
  return Eigen::internal::pselect(condition, a, b);
}
template<class T>
Packet<T> less_than(const Packet<T>& a, const Packet<T>& b) {
  return Eigen::internal::pcmp_lt(a, b);
}
template<class T>
Packet<T> equal_to(const Packet<T>& a, const Packet<T>& b) {
  return Eigen::internal::pcmp_eq(a, b);
}
/// The greater one; NaN if one of them is.
template<class T>
Packet<T> maximum(const Packet<T>& a, const Packet<T>& b) {
  const Packet<T> b_unless_less = choose<T>(less_than<T>(b, a), a, b);
  return choose<T>(equal_to<T>(a, a), b_unless_less, a);
}
template<class T>
Packet<T> minimum(const Packet<T>& a, const Packet<T>& b) {
  const Packet<T> b_unless_greater = choose<T>(less_than<T>(a, b), a, b);
  return choose<T>(equal_to<T>(a, a), b_unless_greater, a);
}

/// Exactly 0 where the result would be subnormal; Eigen's own has a positive floor for some sets.
template<class T>
Packet<T> exponential(const Packet<T>& x) {
  const Packet<T> lowest = broadcast<T>(sizeof(T) == 4 ? T(-87.33654) : T(-708.3964185322641));
  return choose<T>(less_than<T>(x, lowest), broadcast<T>(T(0)), Eigen::internal::pexp(x));
}
template<class T>
Packet<T> logarithm(const Packet<T>& x) {
  return Eigen::internal::plog(x);
}
template<class T>
Packet<T> hyperbolic_tangent(const Packet<T>& x) {
  if constexpr (sizeof(T) == 4)
    return Eigen::internal::ptanh(x);
  else
    return each_lane<T>(x, [](T lane) { return std::tanh(lane); });
}
template<class T>
Packet<T> sigmoid(const Packet<T>& x) {
  const Packet<T> one = broadcast<T>(T(1));
  return one / (one + exponential<T>(-x));
}
template<class T>
Packet<T> rectify(const Packet<T>& x) {
  const Packet<T> zero = broadcast<T>(T(0));
  return choose<T>(less_than<T>(x, zero), zero, x);
}

/// sum over i of function(x[i]...), in an order that depends on `count` alone. function(0...) must be 0.
template<class T, class Function, class... Inputs>
T sum_of(std::int64_t count, Function function, const Inputs*... x) {
  constexpr std::int64_t lanes = kLanes<T>;
  Packet<T> sums[4];
  for (Packet<T>& sum : sums) sum = broadcast<T>(T(0));
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (int j = 0; j < 4; ++j) sums[j] += function(load<T>(x + i + j * lanes)...);
  }
  for (; i + lanes <= count; i += lanes) sums[0] += function(load<T>(x + i)...);
  if (i < count) sums[0] += function(load_part<T>(x + i, count - i)...);
  return lanes_sum<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// The largest element, -infinity for none.
template<class T>
T largest(std::int64_t count, const T* x) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  Packet<T> found = broadcast<T>(lowest);
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) found = maximum<T>(found, load<T>(x + i));
  if (i < count) found = maximum<T>(found, load_part<T>(x + i, count - i, lowest));
  return lanes_max<T>(found);
}

}  // namespace attn::eigen
