#pragma once
/*
 * Sums of products in tiles: the part of a matrix product that the tile unit does. For one source file.
 */
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "amx/split_tiles.h"

namespace attn::eigen::tiles {
namespace {

constexpr std::int64_t kBlock = 2 * kLines;  // rows and columns of the result in the square form
constexpr std::int64_t kStepBytes = 64;      // from row to row of a packed tile

/// GCC's instructions of tiles do not say what memory they read. After this, all that was written is there.
inline void finish_writing(const void* data) {
  asm volatile("" : : "r"(data) : "memory");
}

struct alignas(64) Configuration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

/// How rows and columns of the result are shared out among tiles 0..3.
enum class Form {
  kSquare,  // 2 x 2; operands in tiles 4, 5 and 6, 7
  kRow,     // 1 x 4, for few rows; operands in tile 4 and in 5..7
  kColumn,  // the same of the transposed result: b is the left operand, whose rows need no transposition
};

/// The configuration of the tiles while it lives.
class TileUse {
 public:
  TileUse(Form form, std::int64_t rows) {
    Configuration configuration;
    for (int tile = 0; tile < 8; ++tile) {
      const bool of_few_rows = form != Form::kSquare && tile < 5;
      const std::int64_t lines = of_few_rows ? std::min(rows, kLines) : kLines;
      configuration.rows[tile] = static_cast<std::uint8_t>(form == Form::kColumn ? kLines : lines);
      configuration.row_bytes[tile] =
          static_cast<std::uint16_t>(form == Form::kColumn ? 4 * lines : kStepBytes);
    }
    finish_writing(&configuration);
    _tile_loadconfig(&configuration);
  }
  ~TileUse() { _tile_release(); }
  TileUse(const TileUse&) = delete;
  TileUse& operator=(const TileUse&) = delete;
};

struct Operands {
  std::int64_t steps;
  const std::uint16_t *a, *b;
};

constexpr std::int64_t kProducts = 6;
constexpr std::int64_t kHigh = 0, kMiddle = kTileSize, kLow = 2 * kTileSize;

/*
 * The tiles of the result after all steps: tile_rows x tile_columns, at most 2 x 2. `beside` is called after
 * each of the products of parts, with its number: as many of its instructions as take less than the four
 * multiplications do not cost any time. The order of the products changes one operand at a time, for few
 * loads. It is the same in all functions, as the result's bits depend on it.
 */
template<int RowTiles, int ColumnTiles, class Beside>
void sum_products(const Operands& operands, Beside beside) {
  const std::int64_t tile_step = operands.steps * kStepSize;
  const std::uint16_t *a = operands.a, *b = operands.b;
  const auto left = [&](std::int64_t part) {
    _tile_loadd(4, a + part, kStepBytes);
    if constexpr (RowTiles > 1) _tile_loadd(5, a + part + tile_step, kStepBytes);
  };
  const auto right = [&](std::int64_t part) {
    _tile_loadd(6, b + part, kStepBytes);
    if constexpr (ColumnTiles > 1) _tile_loadd(7, b + part + tile_step, kStepBytes);
  };
  const auto multiply_add = [&](int product) {
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (ColumnTiles > 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (RowTiles > 1) _tile_dpbf16ps(2, 5, 6);
    if constexpr (RowTiles > 1 && ColumnTiles > 1) _tile_dpbf16ps(3, 5, 7);
    beside(product);
  };
  for (std::int64_t step = operands.steps; step > 0; --step, a += kStepSize, b += kStepSize) {
    left(kLow);
    right(kHigh);
    multiply_add(0);
    left(kMiddle);
    multiply_add(1);
    right(kMiddle);
    multiply_add(2);
    left(kHigh);
    multiply_add(3);
    right(kHigh);
    multiply_add(4);
    right(kLow);
    multiply_add(5);
  }
}

// The instructions name their tiles: these are no parameters.
template<bool Swapped, int Sum>
void multiply_add_one() {
  if constexpr (!Swapped && Sum == 0) _tile_dpbf16ps(0, 4, 5);
  if constexpr (!Swapped && Sum == 1) _tile_dpbf16ps(1, 4, 6);
  if constexpr (!Swapped && Sum == 2) _tile_dpbf16ps(2, 4, 7);
  if constexpr (!Swapped && Sum == 3) _tile_dpbf16ps(3, 4, 5);
  if constexpr (Swapped && Sum == 0) _tile_dpbf16ps(0, 5, 4);
  if constexpr (Swapped && Sum == 1) _tile_dpbf16ps(1, 6, 4);
  if constexpr (Swapped && Sum == 2) _tile_dpbf16ps(2, 7, 4);
  if constexpr (Swapped && Sum == 3) _tile_dpbf16ps(3, 5, 4);
}

/// The same for one row of tiles and up to four columns, with the right operand's tiles read as they are
/// needed: a multiplication waits for the one before it in the same tile of the result, so that with two
/// columns the unit would be idle half of the time.
template<Form form, int ColumnTiles, class Beside>
void sum_row_of_products(const Operands& operands, Beside beside) {
  const std::int64_t tile_step = operands.steps * kStepSize;
  const std::uint16_t *a = operands.a, *b = operands.b;
  const auto left = [&](std::int64_t part) { _tile_loadd(4, a + part, kStepBytes); };
  const auto multiply_add = [&](int product, std::int64_t part) {
    _tile_loadd(5, b + part, kStepBytes);
    multiply_add_one<form == Form::kColumn, 0>();
    if constexpr (ColumnTiles > 1) _tile_loadd(6, b + part + tile_step, kStepBytes);
    if constexpr (ColumnTiles > 1) multiply_add_one<form == Form::kColumn, 1>();
    if constexpr (ColumnTiles > 2) _tile_loadd(7, b + part + 2 * tile_step, kStepBytes);
    if constexpr (ColumnTiles > 2) multiply_add_one<form == Form::kColumn, 2>();
    if constexpr (ColumnTiles > 3) _tile_loadd(5, b + part + 3 * tile_step, kStepBytes);
    if constexpr (ColumnTiles > 3) multiply_add_one<form == Form::kColumn, 3>();
    beside(product);
  };
  for (std::int64_t step = operands.steps; step > 0; --step, a += kStepSize, b += kStepSize) {
    left(kLow);
    multiply_add(0, kHigh);
    left(kMiddle);
    multiply_add(1, kHigh);
    multiply_add(2, kMiddle);
    left(kHigh);
    multiply_add(3, kMiddle);
    multiply_add(4, kHigh);
    multiply_add(5, kLow);
  }
}

void clear_tiles() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

constexpr std::int64_t kSums = kBlock * kBlock;  // also 16 x 64

std::int64_t sums_step(Form form) {
  return form == Form::kSquare ? kBlock : 4 * kLines;
}

/// 32 x 32 or 16 x 64 sums, or four tiles one after the other.
void store_tiles(Form form, float* to) {
  const std::int64_t step = form == Form::kColumn ? kLines : sums_step(form);
  const std::int64_t bytes = step * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t across = form == Form::kColumn ? kLines * kLines : kLines;
  const std::int64_t third = form == Form::kSquare ? kLines * step : 2 * across;
  _tile_stored(0, to, bytes);
  _tile_stored(1, to + across, bytes);
  _tile_stored(2, to + third, bytes);
  _tile_stored(3, to + third + across, bytes);
}

}  // namespace
}  // namespace attn::eigen::tiles
