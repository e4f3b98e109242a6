#include "compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn::conformance {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Results below this part of the magnitude are what rounding leaves of a sum that cancels.
constexpr double noise = 1e-2;

double rounded(DType type, double value) {
  return type == DType::f32 ? static_cast<double>(static_cast<float>(value)) : value;
}

}  // namespace

std::string position_of(const Shape& shape, std::size_t index) {
  auto rest = static_cast<std::int64_t>(index);
  Shape position = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    position = position.with(axis, rest % shape[axis]);
    rest /= shape[axis];
  }
  return position.to_string();
}

Difference compare(const CaseTensor& found, const CaseTensor& expected, double magnitude, bool exact) {
  const bool real = found.type == DType::f32 || found.type == DType::f64;
  const Bounds bounds = bounds_of(found.type);
  double square = 0;
  std::size_t finite = 0;
  for (const double value : expected.values) {
    const double b = rounded(found.type, value);
    if (!std::isfinite(b)) continue;
    square += b * b;
    ++finite;
  }
  if (finite > 0) square /= static_cast<double>(finite);
  const double size = magnitude > 0 ? magnitude : 1.0;
  const double scale = std::max(std::sqrt(square), size);
  Difference result;
  double squared_error = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double a = found.values[i], b = rounded(found.type, expected.values[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double difference = std::abs(a - b);
    double error = difference / (bounds.atol * scale + bounds.rtol * std::abs(b));
    if (exact || !real || !std::isfinite(a) || !std::isfinite(b)) error = infinity;
    if (std::isfinite(difference)) squared_error += difference * difference;
    if (error > result.error) {
      result.error = error;
      result.worst = fmt::format("element {} is {:.9g}, expected {:.9g}", position_of(found.shape, i), a, b);
    }
  }
  if (finite > 0)
    result.nmse = squared_error / static_cast<double>(finite) / std::max(square, noise * noise * size * size);
  return result;
}

}  // namespace attn::conformance
