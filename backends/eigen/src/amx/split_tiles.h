#pragma once
/*
 * Operands of a product by tiles: float32 numbers as sums of three bfloat16 numbers, in tiles of 16 lines
 * (rows of the left operand, columns of the right one) by 32 inner indices.
 *
 * A tile is 16 rows of 64 bytes. The instruction multiplies pairs of neighbouring inner indices; here a pair
 * is made of the indices i and i + 16 of the 32, which needs no movement between lanes: the sum does not ask
 * which two indices are neighbours, as long as both operands agree.
 */
#include <cstdint>

#include "gemm.h"

namespace attn::eigen::tiles {

inline constexpr std::int64_t kLines = 16;                     // of a tile
inline constexpr std::int64_t kInner = 32;                     // inner indices of a tile
inline constexpr std::int64_t kTileSize = 512;                 // bfloat16 numbers
inline constexpr std::int64_t kParts = 3;                      // high, middle, low
inline constexpr std::int64_t kStepSize = kParts * kTileSize;  // of 16 lines and 32 inner indices

/// The order within a tile: the left operand has a row for each line, the right one for each pair of inner
/// indices.
enum class Side { kLeft, kRight };

/// to[i * to_step + j] = from[j * from_step + i] for 16 x 16 numbers; `to` is a multiple of 64 bytes, as is
/// its step.
void transpose(const float* from, std::int64_t from_step, float* to, std::int64_t to_step);

/// Packs `lines` lines of `depth` inner indices, element (line, inner) at data[line * line_step + inner *
/// inner_step] with one of the steps 1. Tile (t, s) of part p comes to to + ((t * steps + s) * kParts + p) *
/// kTileSize with steps = depth / kInner rounded up, and has 0 beyond the edges.
///
/// In small pieces, so that a caller can mix them with tile multiplications, which use other units of the
/// processor.
class Packing {
 public:
  struct Lines {
    std::int64_t count, depth;
    const float* data;
    std::int64_t line_step, inner_step;
  };

  Packing() = default;
  Packing(Side side, const Lines& lines, std::uint16_t* to);

  bool done() const { return left_ == 0; }
  /// Calls of advance() until it is done.
  std::int64_t pieces_left() const { return left_; }
  void advance();
  void finish() {
    while (!done()) advance();
  }

 private:
  struct Block {  // of 16 x 16 numbers
    const float* data;
    std::int64_t step;    // from row to row
    std::int64_t rows;    // that exist, the others are 0
    std::uint16_t lanes;  // that exist, a bit for each
  };
  void begin_tile();
  void pack_rows(std::int64_t first, const Block& x, const Block& y);

  Lines lines_{};
  std::int64_t left_ = 0, line_ = 0, inner_ = 0;
  int piece_ = 0;  // of the present tile
  bool straight_ = false, inner_together_ = false;
  Block x_{}, y_{};
  std::uint16_t* to_ = nullptr;
  alignas(64) float transposed_[2][256];
};

}  // namespace attn::eigen::tiles
