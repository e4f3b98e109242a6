#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "attn/inspection/complexity_fit.h"
#include "support/catch.h"

using namespace attn;

TEST_CASE("a power law is found exactly, with a standard error of zero", "[fit]") {
  const std::vector<double> x{16, 32, 64, 128};
  std::vector<double> y;
  for (const double value : x) y.push_back(3 * std::pow(value, 1.5));
  const auto law = fit_power_law(x, y, 10);
  REQUIRE(law);
  CHECK(law->exponent == Approx(1.5));
  CHECK(law->factor == Approx(3));
  CHECK(*law->standard_error == Approx(0).margin(1e-12));
  CHECK(law->points == 4);
  CHECK(law->at(10) == Approx(3 * std::pow(10, 1.5)));
}

TEST_CASE("the standard error is that of linear regression", "[fit]") {
  // log2 y = 0, 1, 2, 4 over log2 x = 0, 1, 2, 3: slope 1.3, residuals 0.2, -0.1, -0.4, 0.3 give
  // sqrt(0.30 / 2 / 5).
  const std::vector<double> x{1, 2, 4, 8}, y{1, 2, 4, 16};
  const auto law = fit_power_law(x, y, 4);
  REQUIRE(law);
  CHECK(law->exponent == Approx(1.3));
  CHECK(*law->standard_error == Approx(std::sqrt(0.30 / 2 / 5)));
}

TEST_CASE("only the asymptotic part is fitted, and gaps are left out", "[fit]") {
  const double gap = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x{1, 2, 4, 8, 16}, y{100, 100, 16, gap, 256};
  const auto law = fit_power_law(x, y, 2);
  REQUIRE(law);
  CHECK(law->exponent == Approx(2));
  CHECK(law->points == 2);
  CHECK(law->first_x == Approx(4));
  CHECK_FALSE(law->standard_error);
  CHECK_FALSE(fit_power_law(std::array{1.0, 2.0}, std::array{gap, 1.0}, 2));
  CHECK_FALSE(fit_power_law(std::array{2.0, 2.0}, std::array{1.0, 3.0}, 2));
}

TEST_CASE("curves cross where their ratio is one", "[fit]") {
  const std::vector<double> x{64, 128, 256, 512};
  std::vector<double> square, line;
  for (const double value : x) {
    square.push_back(value * value);
    line.push_back(200 * value);
  }
  const auto crossing = find_crossing(x, square, line);
  REQUIRE(crossing);
  CHECK(crossing->kind == Crossing::Kind::at);
  CHECK(crossing->x == Approx(200));
  const auto never = find_crossing(x, line, std::vector<double>{1e9, 1e9, 1e9, 1e9});
  CHECK((never && never->kind == Crossing::Kind::above && never->x == 512));
  const auto always = find_crossing(x, square, std::vector<double>{1, 1, 1, 1});
  CHECK((always && always->kind == Crossing::Kind::below && always->x == 64));
  CHECK_FALSE(find_crossing(x, square, std::vector<double>(4, 0.0)));
}
