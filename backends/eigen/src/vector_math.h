#pragma once
/*
 * Vectors of the widest registers of the instruction set that this file is compiled for, and elementary
 * functions on them. A function of an element gives the same bits wherever the element lies: loops run over
 * whole vectors, and the last, incomplete one goes through load_partial() and store_partial().
 */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Arrays of vectors stay in registers only if the loops over them are unrolled.
#if defined(__clang__)
#define ATTN_UNROLL _Pragma("unroll")
#else
#define ATTN_UNROLL _Pragma("GCC unroll 32")
#endif

namespace attn::eigen {
// Named by instruction set, so that one program may contain files compiled for several.
#if defined(__AVX512F__)
inline namespace avx512 {
#elif defined(__AVX2__)
inline namespace avx2 {
#else
inline namespace sse {
#endif

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template<class T>
struct VectorTypes;
template<>
struct VectorTypes<float> {
  using Real = float __attribute__((vector_size(kVectorBytes)));
  using Bits = std::uint32_t __attribute__((vector_size(kVectorBytes)));
};
template<>
struct VectorTypes<double> {
  using Real = double __attribute__((vector_size(kVectorBytes)));
  using Bits = std::uint64_t __attribute__((vector_size(kVectorBytes)));
};

template<class T>
using Vec = typename VectorTypes<T>::Real;
template<class T>
using BitVec = typename VectorTypes<T>::Bits;

/// Elements of a vector.
template<class T>
inline constexpr std::int64_t kWidth = static_cast<std::int64_t>(kVectorBytes / sizeof(T));

/// The next multiple of the vector width.
template<class T>
constexpr std::int64_t padded(std::int64_t count) {
  return (count + kWidth<T> - 1) / kWidth<T> * kWidth<T>;
}

inline Vec<float> broadcast(float x) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<float>>(_mm512_set1_ps(x));
#elif defined(__AVX2__)
  return reinterpret_cast<Vec<float>>(_mm256_set1_ps(x));
#else
  return Vec<float>{x, x, x, x};
#endif
}
inline Vec<double> broadcast(double x) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<double>>(_mm512_set1_pd(x));
#elif defined(__AVX2__)
  return reinterpret_cast<Vec<double>>(_mm256_set1_pd(x));
#else
  return Vec<double>{x, x};
#endif
}

template<class T>
inline Vec<T> load(const T* from) {
  Vec<T> x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
template<class T>
inline void store(T* to, Vec<T> x) {
  std::memcpy(to, &x, sizeof x);
}

/// The first `count` elements (0 < count <= width); the others are 0.
inline Vec<float> load_partial(const float* from, std::int64_t count) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<float>>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from));
#else
  Vec<float> x{};
  for (std::int64_t i = 0; i < count; ++i) x[i] = from[i];
  return x;
#endif
}
inline Vec<double> load_partial(const double* from, std::int64_t count) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<double>>(_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << count) - 1), from));
#else
  Vec<double> x{};
  for (std::int64_t i = 0; i < count; ++i) x[i] = from[i];
  return x;
#endif
}
inline void store_partial(float* to, std::int64_t count, Vec<float> x) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), reinterpret_cast<__m512>(x));
#else
  for (std::int64_t i = 0; i < count; ++i) to[i] = x[i];
#endif
}
inline void store_partial(double* to, std::int64_t count, Vec<double> x) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1u << count) - 1), reinterpret_cast<__m512d>(x));
#else
  for (std::int64_t i = 0; i < count; ++i) to[i] = x[i];
#endif
}

/// y[i] = function(x[i]) for whole vectors and one incomplete one. y may be x.
template<class T, class Function>
inline void map(std::int64_t count, const T* x, T* y, Function function) {
  std::int64_t i = 0;
  for (; i + kWidth<T> <= count; i += kWidth<T>) store<T>(y + i, function(load<T>(x + i)));
  if (i < count) store_partial(y + i, count - i, function(load_partial(x + i, count - i)));
}

/// The larger element; b where one of them is not a number.
inline Vec<float> maximum(Vec<float> a, Vec<float> b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<float>>(
      _mm512_maskz_max_ps(0xffff, reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vec<float>>(
      _mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<Vec<float>>(_mm_max_ps(reinterpret_cast<__m128>(a), reinterpret_cast<__m128>(b)));
#else
  return a > b ? a : b;
#endif
}
inline Vec<double> maximum(Vec<double> a, Vec<double> b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<double>>(
      _mm512_maskz_max_pd(0xff, reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vec<double>>(
      _mm256_max_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<Vec<double>>(
      _mm_max_pd(reinterpret_cast<__m128d>(a), reinterpret_cast<__m128d>(b)));
#else
  return a > b ? a : b;
#endif
}

/// 0, 1, 2, ...
template<class T, std::size_t... Index>
inline Vec<T> lane_numbers(std::index_sequence<Index...> /*lanes*/) {
  return Vec<T>{static_cast<T>(Index)...};
}

/// x, with `other` from lane `count` on.
template<class T>
inline Vec<T> first_lanes(std::int64_t count, Vec<T> x, T other) {
  const Vec<T> lanes = lane_numbers<T>(std::make_index_sequence<static_cast<std::size_t>(kWidth<T>)>{});
  return lanes < broadcast(static_cast<T>(std::min<std::int64_t>(count, kWidth<T>))) ? x : broadcast(other);
}

/// Lanes Index... of the lanes of a, then of b.
template<class V, std::size_t... Index, class Choose>
inline V shuffle(V a, V b, std::index_sequence<Index...> /*lanes*/, Choose choose) {
  return __builtin_shufflevector(a, b, decltype(choose)::lane(Index)...);
}

/// Lane i of the result is lane i + Distance, if there is one.
template<std::size_t Distance>
struct MoveDown {
  static constexpr int lane(std::size_t i) { return static_cast<int>(i + Distance); }
};

/// The lanes combined as a tree: each half with the other, then each quarter ...
template<class T, std::size_t Half = static_cast<std::size_t>(kWidth<T>) / 2, class Combine>
inline Vec<T> reduce_lanes(Vec<T> x, Combine combine) {
  if constexpr (Half == 0) {
    return x;
  } else {
    constexpr auto kLanes = std::make_index_sequence<static_cast<std::size_t>(kWidth<T>)>{};
    return reduce_lanes<T, Half / 2>(combine(x, shuffle(x, x, kLanes, MoveDown<Half>{})), combine);
  }
}

/// The sum of the elements.
template<class T>
inline T horizontal_sum(Vec<T> x) {
  return reduce_lanes<T>(x, [](Vec<T> a, Vec<T> b) { return a + b; })[0];
}

/// The largest element.
template<class T>
inline T horizontal_maximum(Vec<T> x) {
  return reduce_lanes<T>(x, [](Vec<T> a, Vec<T> b) { return maximum(a, b); })[0];
}

/// The lanes that one step of a transposition takes from a pair of rows that are Distance apart.
template<std::size_t Width, std::size_t Distance, bool First>
struct ExchangeLanes {
  static constexpr int lane(std::size_t i) {
    const bool from_second_row = (i & Distance) != 0;
    if (First) return static_cast<int>(from_second_row ? Width + i - Distance : i);
    return static_cast<int>(from_second_row ? Width + i : i + Distance);
  }
};

/// Transposes a square of `width` rows.
template<class T, std::size_t Distance = static_cast<std::size_t>(kWidth<T>) / 2>
inline void transpose(Vec<T> (&rows)[kWidth<T>]) {
  if constexpr (Distance > 0) {
    constexpr std::size_t kLanes = static_cast<std::size_t>(kWidth<T>);
    constexpr auto kAll = std::make_index_sequence<kLanes>{};
    ATTN_UNROLL
    for (std::size_t i = 0; i < kLanes; ++i) {
      if ((i & Distance) != 0) continue;
      const Vec<T> a = rows[i], b = rows[i + Distance];
      rows[i] = shuffle(a, b, kAll, ExchangeLanes<kLanes, Distance, true>{});
      rows[i + Distance] = shuffle(a, b, kAll, ExchangeLanes<kLanes, Distance, false>{});
    }
    transpose<T, Distance / 2>(rows);
  }
}

template<class T>
inline Vec<T> absolute(Vec<T> x) {
  return reinterpret_cast<Vec<T>>(
      reinterpret_cast<BitVec<T>>(x) &
      (std::numeric_limits<std::remove_reference_t<decltype(BitVec<T>{}[0])>>::max() >> 1));
}

/// Constants of exponentials. The polynomials p are near-minimax: b^r = 1 + r p(r) for |r| half a unit of the
/// exponent, with an error below half a unit in the last place.
template<class T>
struct ExponentialConstants;
template<>
struct ExponentialConstants<float> {
  // Adding it rounds to an integer, which then stands in the lowest bits.
  static constexpr float kRounder = 12582912.0f;
  static constexpr int kMantissaBits = 23;
  static constexpr int kBias = 127;
  static constexpr float kSmallestExponent = -126;
  static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  static constexpr float kE[] = {1.0000000107715701f,   0.50000000134577273f,   0.16666505260408124f,
                                 0.041666465006040049f, 0.0083691484908563465f, 0.0013933641031986701f};
  static constexpr float kTwo[] = {0.69314718802622879f,   0.24022650760568127f,   0.055503571142190778f,
                                   0.0096180825572778515f, 0.0013390863364671234f, 0.00015453162945120690f};
};
template<>
struct ExponentialConstants<double> {
  static constexpr double kRounder = 6755399441055744.0;
  static constexpr int kMantissaBits = 52;
  static constexpr int kBias = 1023;
  static constexpr double kSmallestExponent = -1022;
  static constexpr double kLn2High = 6.93145751953125e-1, kLn2Low = 1.42860682030941723212e-6;
  static constexpr double kE[] = {1.0,
                                  0.50000000000000056169,
                                  0.16666666666666670986,
                                  0.041666666666573142611,
                                  0.008333333333326140884,
                                  0.0013888888932488598181,
                                  0.00019841269874800491981,
                                  0.000024801504346997687255,
                                  2.7557255425746434282e-6,
                                  2.7626357241447222855e-7,
                                  2.5105206373957011116e-8};
  static constexpr double kTwo[] = {
      0.69314718055994530942,     0.2402265069591009822,    0.055504108664821594339,
      0.0096181291076068885273,   0.001333355814641693531,  0.00015403530441736050155,
      0.000015252733829836118394, 1.3215442587921689653e-6, 1.0178062445845773521e-7,
      7.0725859492692236999e-9,   4.4549605981865183938e-10};
};

/// 1 + r p(r).
template<class T, std::size_t N>
inline Vec<T> exponential_polynomial(Vec<T> r, const T (&p)[N]) {
  Vec<T> y = broadcast(p[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) y = y * r + broadcast(p[i]);
  return y * r + broadcast(T(1));
}

/// x 2^n for an x in [0.5, 2) whose result is a normal number; `rounded` is n + kRounder.
template<class T>
inline Vec<T> scale_by_power(Vec<T> x, Vec<T> rounded) {
  return reinterpret_cast<Vec<T>>(
      reinterpret_cast<BitVec<T>>(x) +
      (reinterpret_cast<BitVec<T>>(rounded) << ExponentialConstants<T>::kMantissaBits));
}

/// 2^x for x below the largest exponent, as in a softmax; 0 where the result would not be a normal number.
template<class T>
inline Vec<T> exp2_bounded(Vec<T> x) {
  using C = ExponentialConstants<T>;
  const Vec<T> rounded = x + broadcast(C::kRounder);
  const Vec<T> r = x - (rounded - broadcast(C::kRounder));
  const Vec<T> y = scale_by_power<T>(exponential_polynomial<T>(r, C::kTwo), rounded);
  return x < broadcast(C::kSmallestExponent) ? Vec<T>{} : y;
}

/// e^x for x below the logarithm of the largest number; 0 where the result would be less than about twice the
/// smallest normal number.
template<class T>
inline Vec<T> exp_bounded(Vec<T> x) {
  using C = ExponentialConstants<T>;
  const Vec<T> rounded = x * broadcast(T(1.44269504088896340736)) + broadcast(C::kRounder);
  const Vec<T> n = rounded - broadcast(C::kRounder);
  const Vec<T> r = (x - n * broadcast(C::kLn2High)) - n * broadcast(C::kLn2Low);
  const Vec<T> y = scale_by_power<T>(exponential_polynomial<T>(r, C::kE), rounded);
  return n <= broadcast(C::kSmallestExponent) || x < broadcast(C::kSmallestExponent) ? Vec<T>{} : y;
}

/// e^x for any x, with infinities, denormal results and NaN.
template<class T>
inline Vec<T> exponential(Vec<T> x) {
  using C = ExponentialConstants<T>;
  const T limit =
      T(0.75) * (C::kBias + C::kMantissaBits + 2);  // beyond this on both sides the result is 0 or inf
  Vec<T> bounded = x < broadcast(-limit) ? broadcast(-limit) : x;
  bounded = bounded > broadcast(limit) ? broadcast(limit) : bounded;
  const Vec<T> rounded = bounded * broadcast(T(1.44269504088896340736)) + broadcast(C::kRounder);
  const Vec<T> n = rounded - broadcast(C::kRounder);
  const Vec<T> r = (bounded - n * broadcast(C::kLn2High)) - n * broadcast(C::kLn2Low);
  const Vec<T> y = exponential_polynomial<T>(r, C::kE);
  // In two steps, because 2^n alone may be no normal number.
  const Vec<T> half = (n * broadcast(T(0.5)) + broadcast(C::kRounder));
  const Vec<T> rest = (n - (half - broadcast(C::kRounder))) + broadcast(C::kRounder);
  return scale_by_power<T>(y, half) * scale_by_power<T>(broadcast(T(1)), rest);
}

/// 1 / (1 + e^-x).
template<class T>
inline Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> e = exp_bounded<T>(-absolute<T>(x));
  const Vec<T> y = broadcast(T(1)) / (broadcast(T(1)) + e);
  return x < Vec<T>{} ? e * y : y;
}

/// The hyperbolic tangent; the polynomials for small arguments are those of the Cephes library (S. Moshier).
template<class T>
inline Vec<T> hyperbolic_tangent(Vec<T> x) {
  const Vec<T> magnitude = absolute<T>(x);
  const Vec<T> e = exp_bounded<T>(magnitude * broadcast(T(-2)));
  const Vec<T> large = (broadcast(T(1)) - e) / (broadcast(T(1)) + e);
  const Vec<T> z = x * x;
  Vec<T> small;
  if constexpr (sizeof(T) == 4) {
    Vec<T> p = broadcast(T(-5.70498872745e-3));
    p = p * z + broadcast(T(2.06390887954e-2));
    p = p * z + broadcast(T(-5.37397155531e-2));
    p = p * z + broadcast(T(1.33314422036e-1));
    p = p * z + broadcast(T(-3.33332819422e-1));
    small = p * z * x + x;
  } else {
    Vec<T> p = broadcast(T(-9.64399179425052238628e-1));
    p = p * z + broadcast(T(-9.92877231001918586564e1));
    p = p * z + broadcast(T(-1.61468768441708447952e3));
    Vec<T> q = z + broadcast(T(1.12811678491632931402e2));
    q = q * z + broadcast(T(2.23548839060100448583e3));
    q = q * z + broadcast(T(4.84406305325125486048e3));
    small = p / q * z * x + x;
  }
  const Vec<T> signed_large = x < Vec<T>{} ? -large : large;
  return magnitude < broadcast(T(0.625)) ? small : signed_large;
}

}  // inline namespace
}  // namespace attn::eigen
