#include "attn/inspection/positions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attn/core/error.h"
#include "attn/nn/positions.h"

namespace attn {
namespace {

double frequency(std::int64_t pair, std::int64_t width, double base) {
  return 1.0 / std::pow(base, 2.0 * static_cast<double>(pair) / static_cast<double>(width));
}

template<typename T>
double largest_error(std::int64_t shift, std::int64_t count, std::int64_t width, double base) {
  const std::vector<double> exact = sinusoidal_positions(count + shift, width, base);
  const std::vector<T> encoding(exact.begin(), exact.end());
  const std::vector<double> exact_rotation = position_rotation(shift, width, base);
  const std::vector<T> rotation(exact_rotation.begin(), exact_rotation.end());
  T largest = 0;
  for (std::int64_t position = 0; position < count; ++position) {
    for (std::int64_t pair = 0; pair < width / 2; ++pair) {
      const T* matrix = rotation.data() + pair * 4;
      const T* from = encoding.data() + position * width + pair * 2;
      const T* to = encoding.data() + (position + shift) * width + pair * 2;
      const T sine = matrix[0] * from[0] + matrix[1] * from[1];
      const T cosine = matrix[2] * from[0] + matrix[3] * from[1];
      largest = std::max({largest, std::abs(sine - to[0]), std::abs(cosine - to[1])});
    }
  }
  return static_cast<double>(largest);
}

}  // namespace

std::vector<double> position_wavelengths(std::int64_t width, double base) {
  std::vector<double> wavelengths;
  for (std::int64_t column = 0; column < width; ++column)
    wavelengths.push_back(2.0 * std::numbers::pi / frequency(column / 2, width, base));
  return wavelengths;
}

std::vector<double> position_rotation(std::int64_t shift, std::int64_t width, double base) {
  std::vector<double> rotation;
  for (std::int64_t pair = 0; pair < width / 2; ++pair) {
    const double angle = static_cast<double>(shift) * frequency(pair, width, base);
    const double cosine = std::cos(angle), sine = std::sin(angle);
    rotation.insert(rotation.end(), {cosine, sine, -sine, cosine});
  }
  return rotation;
}

double rotation_error(std::int64_t shift, std::int64_t count, std::int64_t width, DType type, double base) {
  return type == DType::f64 ? largest_error<double>(shift, count, width, base)
                            : largest_error<float>(shift, count, width, base);
}

std::vector<float> position_similarity(const std::vector<double>& encoding, std::int64_t count,
                                       std::int64_t width) {
  const auto product = [&](std::int64_t a, std::int64_t b) {
    double sum = 0.0;
    for (std::int64_t column = 0; column < width; ++column) {
      sum += encoding[static_cast<std::size_t>(a * width + column)] *
             encoding[static_cast<std::size_t>(b * width + column)];
    }
    return sum;
  };
  std::vector<double> norms;
  for (std::int64_t row = 0; row < count; ++row) norms.push_back(std::sqrt(product(row, row)));
  std::vector<float> cosines(static_cast<std::size_t>(count * count));
  for (std::int64_t a = 0; a < count; ++a) {
    for (std::int64_t b = 0; b < count; ++b) {
      const double norm = norms[static_cast<std::size_t>(a)] * norms[static_cast<std::size_t>(b)];
      cosines[static_cast<std::size_t>(a * count + b)] =
          norm > 0.0 ? static_cast<float>(product(a, b) / norm) : 0.0F;
    }
  }
  return cosines;
}

PositionTable sinusoidal_table(std::int64_t count, std::int64_t width, double base) {
  if (count < 1 || width < 1) {
    fail(ExitCode::usage, "{} positions of width {} cannot be encoded; both must be at least 1", count,
         width);
  }
  PositionTable table{"sinusoidal", count, width};
  table.encoding = sinusoidal_positions(count, width, base);
  table.base = base;
  return table;
}

}  // namespace attn
