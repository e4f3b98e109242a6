#include "vector_math.h"

#include <cmath>
#include <limits>

#include "support/catch.h"

namespace attn::eigen::test {
namespace {

/// The largest error in units in the last place over [low, high], apart from results that are not normal
/// numbers.
template<class T, class Function, class Exact>
double largest_error(double low, double high, Function function, Exact exact) {
  constexpr int kPoints = 20000;
  double worst = 0;
  for (int i = 0; i <= kPoints; ++i) {
    const T x = static_cast<T>(low + (high - low) * i / kPoints);
    const long double y = exact(static_cast<long double>(x));
    const T magnitude = std::fabs(static_cast<T>(y));
    if (magnitude < 4 * std::numeric_limits<T>::min()) continue;
    const T unit = std::nextafter(magnitude, std::numeric_limits<T>::infinity()) - magnitude;
    const T found = function(broadcast(x))[0];
    const double error = std::fabs(static_cast<double>((static_cast<long double>(found) - y) / unit));
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

template<class T>
void check_accuracy() {
  const double range = sizeof(T) == 4 ? 87 : 708;
  const auto exponential_function = [](long double x) { return std::exp(x); };
  CHECK(largest_error<T>(
            -range, range, [](Vec<T> x) { return exponential<T>(x); }, exponential_function) < 1.5);
  CHECK(largest_error<T>(
            -range, range / 2, [](Vec<T> x) { return exp_bounded<T>(x); }, exponential_function) < 1.5);
  CHECK(largest_error<T>(
            -range, range / 2, [](Vec<T> x) { return exp2_bounded<T>(x); },
            [](long double x) { return std::exp2(x); }) < 1.5);
  CHECK(largest_error<T>(
            -40, 40, [](Vec<T> x) { return sigmoid<T>(x); },
            [](long double x) { return 1 / (1 + std::exp(-x)); }) < 3);
  for (const double limit : {1.0, 40.0}) {
    CHECK(largest_error<T>(
              -limit, limit, [](Vec<T> x) { return hyperbolic_tangent<T>(x); },
              [](long double x) { return std::tanh(x); }) < 3);
  }
}

TEST_CASE("elementary functions are accurate to a few units in the last place") {
  check_accuracy<float>();
  check_accuracy<double>();
}

template<class T>
void check_limits() {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  CHECK(exponential<T>(broadcast(infinity))[0] == infinity);
  CHECK(exponential<T>(broadcast(-infinity))[0] == 0);
  CHECK(std::isnan(exponential<T>(broadcast(nan))[0]));
  CHECK(exponential<T>(broadcast(T(0)))[0] == 1);
  for (const T x : {-infinity, T(-1e30), T(-2000)}) {
    CHECK(exp_bounded<T>(broadcast(x))[0] == 0);
    CHECK(exp2_bounded<T>(broadcast(x))[0] == 0);
    CHECK(sigmoid<T>(broadcast(x))[0] == 0);
    CHECK(sigmoid<T>(broadcast(-x))[0] == 1);
    CHECK(hyperbolic_tangent<T>(broadcast(x))[0] == -1);
    CHECK(hyperbolic_tangent<T>(broadcast(-x))[0] == 1);
  }
  CHECK(std::isnan(exp_bounded<T>(broadcast(nan))[0]));
  CHECK(std::isnan(exp2_bounded<T>(broadcast(nan))[0]));
  CHECK(std::isnan(sigmoid<T>(broadcast(nan))[0]));
  CHECK(std::isnan(hyperbolic_tangent<T>(broadcast(nan))[0]));
}

TEST_CASE("elementary functions of infinities and NaN are what the C library gives") {
  check_limits<float>();
  check_limits<double>();
}

TEST_CASE("a mapped function gives the same bits wherever an element lies") {
  float x[64], whole[64];
  for (int i = 0; i < 64; ++i) x[i] = 0.37f * static_cast<float>(i - 30);
  const auto function = [](Vec<float> v) { return hyperbolic_tangent<float>(v); };
  map<float>(64, x, whole, function);
  for (int first = 0; first < 64; ++first) {
    for (int count = 1; first + count <= 64; ++count) {
      float part[65];
      part[count] = 77;
      map<float>(count, x + first, part, function);
      bool same = part[count] == 77;
      for (int i = 0; i < count; ++i) same = same && part[i] == whole[first + i];
      REQUIRE(same);
    }
  }
}

TEST_CASE("sums and maxima of the lanes of a vector") {
  Vec<float> x{};
  for (std::int64_t i = 0; i < kWidth<float>; ++i) x[i] = static_cast<float>(i * 7 % kWidth<float>);
  CHECK(horizontal_sum<float>(x) == static_cast<float>(kWidth<float> * (kWidth<float> - 1) / 2));
  CHECK(horizontal_maximum<float>(x) == static_cast<float>(kWidth<float> - 1));
}

}  // namespace
}  // namespace attn::eigen::test
