#pragma once
#include <optional>
#include <span>

/// Power laws through measured points.
namespace attn {

/// y = factor x^exponent, by least squares of log y over log x.
struct PowerLaw {
  double exponent = 0;
  /// Standard error of the exponent from the residuals; nothing with fewer than three points.
  std::optional<double> standard_error;
  double factor = 0;
  std::size_t points = 0;  ///< that went into it
  double first_x = 0;      ///< the smallest x among them

  double at(double x) const;
};

/// Fits the `most` points with the largest x, the asymptotic part. x ascends; points that are not positive or
/// not finite are left out. Nothing with fewer than two points.
std::optional<PowerLaw> fit_power_law(std::span<const double> x, std::span<const double> y, std::size_t most);

/// Where one curve overtakes another.
struct Crossing {
  enum class Kind {
    below,  ///< above it at all common points: it overtakes at less than `x`, the first of them
    at,     ///< overtakes at `x`, interpolated on logarithmic axes
    above   ///< below it at the last common point, `x`
  } kind = Kind::at;
  double x = 0;
};

/// The x from which on `rising` stays above `other`, both given at ascending x; values that are not positive
/// are gaps. Nothing without a common point.
std::optional<Crossing> find_crossing(std::span<const double> x, std::span<const double> rising,
                                      std::span<const double> other);

}  // namespace attn
