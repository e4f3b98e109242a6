#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attn/runtime/dtype.h"

namespace attn {

/// Columns 2j and 2j + 1 of sinusoidal encodings of this width repeat after 2 pi base^(2j / width) positions:
/// one wavelength for each column.
std::vector<double> position_wavelengths(std::int64_t width, double base = 10000.0);

/// The linear map that moves every position by `shift` (Vaswani et al., 2017, section 3.5): one rotation
/// [2, 2] for each pair of columns, [width / 2, 2, 2] row-major. With w the frequency of a pair,
/// [[cos(shift w), sin(shift w)], [-sin(shift w), cos(shift w)]] times (sin(p w), cos(p w)) is
/// (sin((p + shift) w), cos((p + shift) w)). The last column of an odd width is a sine without its cosine,
/// which no such map moves; it has no rotation.
std::vector<double> position_rotation(std::int64_t shift, std::int64_t width, double base = 10000.0);

/// The largest difference between the moved encoding of a position p and the encoding of p + shift, over
/// p = 0 .. count - 1 and all pairs of columns, everything computed in `type`.
double rotation_error(std::int64_t shift, std::int64_t count, std::int64_t width, DType type = DType::f32,
                      double base = 10000.0);

/// Cosines of the angles between the rows of `encoding` [count, width]: [count, count]. A row of zeros has
/// cosine 0 with every row.
std::vector<float> position_similarity(const std::vector<double>& encoding, std::int64_t count,
                                       std::int64_t width);

/// What a file of positional encodings is to hold.
struct PositionTable {
  std::string type;  ///< "sinusoidal" or "learned"
  std::int64_t count = 0, width = 0;
  std::vector<double> encoding = {};  ///< [count, width]
  double base = 10000.0;              ///< of sinusoidal ones
  DType dtype = DType::f32;           ///< in which the encoding is stored
  std::int64_t shifts = 0;            ///< rotations for shifts 1 .. shifts; sinusoidal only
  bool similarity = false;
  std::string checkpoint_sha256 = {};  ///< of learned ones
};

/// Sinusoidal encodings of positions 0 .. count - 1. Throws Error(usage) for a count or width below 1.
PositionTable sinusoidal_table(std::int64_t count, std::int64_t width, double base = 10000.0);

/// Writes format "attn.positions" (docs/file-formats.md), whole or not at all. Returns the largest
/// rotation error, 0 without rotations. Throws Error(file).
double write_positions(const std::filesystem::path& path, const PositionTable& table,
                       const std::string& command_line);

}  // namespace attn
