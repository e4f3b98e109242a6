#pragma once
#include <cstdint>

namespace attn {

/// Which colours stand for values.
enum class Palette {
  viridis,   ///< dark blue over green to yellow, for values from 0 up; equal steps look equal, also in grey
  blue_red,  ///< blue over white to red, for values around 0 (ColorBrewer's RdBu, reversed)
};

/// How many colours a palette has.
inline constexpr int palette_size = 256;

/// Which of the palette's colours stands for the value that lies at `part` of the range: 0 is the lowest, 1
/// the highest. What lies outside is taken as the nearest end.
int palette_index(double part);

/// Colour `index` of [0, palette_size), as 0xRRGGBB in sRGB.
std::uint32_t palette_colour(Palette palette, int index);

}  // namespace attn
