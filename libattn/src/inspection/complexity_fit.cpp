#include "attn/inspection/complexity_fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attn {
namespace {

bool usable(double value) {
  return std::isfinite(value) && value > 0;
}

struct Point {
  double x, y;
};

}  // namespace

double PowerLaw::at(double x) const {
  return factor * std::pow(x, exponent);
}

std::optional<PowerLaw> fit_power_law(std::span<const double> x, std::span<const double> y,
                                      std::size_t most) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (usable(x[i]) && usable(y[i])) points.push_back({std::log(x[i]), std::log(y[i])});
  }
  if (points.size() > most) points.erase(points.begin(), points.end() - static_cast<std::ptrdiff_t>(most));
  if (points.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(points.size());
  double mean_x = 0, mean_y = 0;
  for (const Point& point : points) {
    mean_x += point.x / count;
    mean_y += point.y / count;
  }
  double xx = 0, xy = 0;
  for (const Point& point : points) {
    xx += (point.x - mean_x) * (point.x - mean_x);
    xy += (point.x - mean_x) * (point.y - mean_y);
  }
  if (xx == 0) return std::nullopt;
  PowerLaw law;
  law.exponent = xy / xx;
  law.factor = std::exp(mean_y - law.exponent * mean_x);
  law.points = points.size();
  law.first_x = std::exp(points.front().x);
  if (points.size() >= 3) {
    double residuals = 0;
    for (const Point& point : points) {
      const double residual = point.y - mean_y - law.exponent * (point.x - mean_x);
      residuals += residual * residual;
    }
    law.standard_error = std::sqrt(residuals / (count - 2) / xx);
  }
  return law;
}

std::optional<Crossing> find_crossing(std::span<const double> x, std::span<const double> rising,
                                      std::span<const double> other) {
  std::vector<Point> ratios;  // x and log(rising / other)
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (usable(rising[i]) && usable(other[i])) ratios.push_back({x[i], std::log(rising[i] / other[i])});
  }
  if (ratios.empty()) return std::nullopt;
  if (ratios.back().y < 0) return Crossing{Crossing::Kind::above, ratios.back().x};
  // From the end: the last point at which it is still below.
  const auto below =
      std::find_if(ratios.rbegin(), ratios.rend(), [](const Point& ratio) { return ratio.y < 0; });
  if (below == ratios.rend()) return Crossing{Crossing::Kind::below, ratios.front().x};
  const Point& after = *std::prev(below);
  const double part = -below->y / (after.y - below->y);
  return Crossing{Crossing::Kind::at,
                  std::exp(std::log(below->x) + part * (std::log(after.x) - std::log(below->x)))};
}

}  // namespace attn
