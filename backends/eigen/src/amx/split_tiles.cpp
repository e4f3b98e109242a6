#include "amx/split_tiles.h"

#include <immintrin.h>

#include <algorithm>

namespace attn::eigen::tiles {
namespace {

constexpr int kPieceRows = 8, kStraightPieces = 16 / kPieceRows, kTransposedPieces = 2 + kStraightPieces;

std::uint16_t first_lanes(std::int64_t count) {
  return static_cast<std::uint16_t>((1U << std::clamp<std::int64_t>(count, 0, 16)) - 1);
}

template<class Block>
bool is_whole(const Block& block) {
  return block.rows == 16 && block.lanes == 0xffff;
}

template<class Block>
__m512 row(const Block& block, std::int64_t index) {
  return index < block.rows ? _mm512_maskz_loadu_ps(block.lanes, block.data + index * block.step)
                            : _mm512_setzero_ps();
}

/*
 * x in the lower halves, y in the upper ones. The high part is x rounded to 8 bits, ties away from zero; the
 * remainder has at most 15 bits and is cut into the middle part (8 bits) and the low part: nothing is lost,
 * except of numbers below 2^-102, whose lowest bits are denormal parts and count as 0 in the multiplication.
 * Infinity and NaN leave a NaN in a lower part at least. Finite numbers above 3.396e38 round to infinity.
 */
void split_and_store(__m512 x, __m512 y, std::uint16_t* to) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000U)), half = _mm512_set1_epi32(0x8000);
  const __m512i x_high = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), half), upper);
  const __m512i y_high = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(y), half), upper);
  _mm512_store_si512(to, _mm512_or_si512(_mm512_srli_epi32(x_high, 16), y_high));
  const __m512 x_rest = _mm512_sub_ps(x, _mm512_castsi512_ps(x_high));
  const __m512 y_rest = _mm512_sub_ps(y, _mm512_castsi512_ps(y_high));
  const __m512i x_middle = _mm512_and_si512(_mm512_castps_si512(x_rest), upper);
  const __m512i y_middle = _mm512_and_si512(_mm512_castps_si512(y_rest), upper);
  _mm512_store_si512(to + kTileSize, _mm512_or_si512(_mm512_srli_epi32(x_middle, 16), y_middle));
  const __m512i x_low = _mm512_castps_si512(_mm512_sub_ps(x_rest, _mm512_castsi512_ps(x_middle)));
  const __m512i y_low = _mm512_castps_si512(_mm512_sub_ps(y_rest, _mm512_castsi512_ps(y_middle)));
  _mm512_store_si512(to + 2 * kTileSize,
                     _mm512_ternarylogic_epi32(_mm512_srli_epi32(x_low, 16), y_low, upper, 0xf8));
}

template<class Block>
void transpose_block(const Block& block, float* to, std::int64_t to_step) {
  __m512 a[16], b[16];
  if (is_whole(block)) {
    for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_ps(block.data + i * block.step);
  } else {
    for (int i = 0; i < 16; ++i) a[i] = row(block, i);
  }
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
  }
  const auto low = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  const auto high = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  for (int i = 0; i < 16; i += 4) {  // a[i + j]: column j of each quarter, of four rows
    a[i] = low(b[i], b[i + 2]);
    a[i + 1] = high(b[i], b[i + 2]);
    a[i + 2] = low(b[i + 1], b[i + 3]);
    a[i + 3] = high(b[i + 1], b[i + 3]);
  }
  for (int j = 0; j < 4; ++j) {
    const __m512 even_top = _mm512_shuffle_f32x4(a[j], a[4 + j], 0x88);
    const __m512 odd_top = _mm512_shuffle_f32x4(a[j], a[4 + j], 0xdd);
    const __m512 even_bottom = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0x88);
    const __m512 odd_bottom = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0xdd);
    _mm512_store_ps(to + to_step * j, _mm512_shuffle_f32x4(even_top, even_bottom, 0x88));
    _mm512_store_ps(to + to_step * (8 + j), _mm512_shuffle_f32x4(even_top, even_bottom, 0xdd));
    _mm512_store_ps(to + to_step * (4 + j), _mm512_shuffle_f32x4(odd_top, odd_bottom, 0x88));
    _mm512_store_ps(to + to_step * (12 + j), _mm512_shuffle_f32x4(odd_top, odd_bottom, 0xdd));
  }
}

}  // namespace

void transpose(const float* from, std::int64_t from_step, float* to, std::int64_t to_step) {
  struct Whole {
    const float* data;
    std::int64_t step, rows = 16;
    std::uint16_t lanes = 0xffff;
  };
  transpose_block(Whole{from, from_step}, to, to_step);
}

Packing::Packing(Side side, const Lines& lines, std::uint16_t* to)
    : lines_(lines), inner_together_(lines.inner_step == 1), to_(to) {
  straight_ = inner_together_ == (side == Side::kLeft);
  const std::int64_t tiles = (lines.count + kLines - 1) / kLines * ((lines.depth + kInner - 1) / kInner);
  left_ = tiles * (straight_ ? kStraightPieces : kTransposedPieces);
  if (left_ > 0) begin_tile();
}

void Packing::begin_tile() {
  const float* from = lines_.data + line_ * lines_.line_step + inner_ * lines_.inner_step;
  const std::int64_t lines = std::min(kLines, lines_.count - line_);
  const std::int64_t first = std::min<std::int64_t>(16, lines_.depth - inner_);
  const std::int64_t second = std::clamp<std::int64_t>(lines_.depth - inner_ - 16, 0, 16);
  if (inner_together_) {
    x_ = {from, lines_.line_step, lines, first_lanes(first)};
    y_ = {from + 16, lines_.line_step, lines, first_lanes(second)};
  } else {
    x_ = {from, lines_.inner_step, first, first_lanes(lines)};
    y_ = {from + 16 * lines_.inner_step, lines_.inner_step, second, first_lanes(lines)};
  }
}

void Packing::pack_rows(std::int64_t first, const Block& x, const Block& y) {
  std::uint16_t* to = to_ + first * kInner;
  if (is_whole(x) && is_whole(y)) {
    const float *from_x = x.data + first * x.step, *from_y = y.data + first * y.step;
    for (int i = 0; i < kPieceRows; ++i)
      split_and_store(_mm512_loadu_ps(from_x + i * x.step), _mm512_loadu_ps(from_y + i * y.step),
                      to + i * kInner);
  } else {
    for (int i = 0; i < kPieceRows; ++i)
      split_and_store(row(x, first + i), row(y, first + i), to + i * kInner);
  }
}

void Packing::advance() {
  if (straight_) {
    pack_rows(kPieceRows * piece_, x_, y_);
  } else if (piece_ < 2) {
    transpose_block(piece_ == 0 ? x_ : y_, transposed_[piece_], 16);
  } else {
    const Block x{transposed_[0], 16, 16, 0xffff}, y{transposed_[1], 16, 16, 0xffff};
    pack_rows(kPieceRows * (piece_ - 2), x, y);
  }
  --left_;
  if (++piece_ < (straight_ ? kStraightPieces : kTransposedPieces)) return;
  piece_ = 0;
  to_ += kStepSize;
  inner_ += kInner;
  if (inner_ >= lines_.depth) {
    inner_ = 0;
    line_ += kLines;
  }
  if (left_ > 0) begin_tile();
}

}  // namespace attn::eigen::tiles
