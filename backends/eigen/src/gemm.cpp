#include "gemm.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#if defined(ATTN_EIGEN_TILES)
#include "amx/tile_gemm.h"
#endif
#include "vector_loops.h"

namespace attn::eigen {
namespace {

// A tile of the result stays in registers: kTileRows x kTileVectors accumulators, and as many vectors of b.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kTileRows = 8, kTileVectors = 3;
#else
constexpr int kTileRows = 6, kTileVectors = 2;
#endif
constexpr std::int64_t kDepth = 512;              // of the part of b that is packed at a time
constexpr std::int64_t kRows = 48;                // of a and c that stay in cache for all panels of b
constexpr std::int64_t kColumns = 384;            // of b packed at a time: 768 KiB in float
constexpr std::int64_t kMinimumTask = 1'000'000;  // multiply-adds, some tens of microseconds

static_assert(kRows % kTileRows == 0);

template<class T>
struct Tile {
  std::int64_t depth;
  const T* a;
  std::int64_t a_step;  // from row to row if a is read in place
  const T* b;
  std::int64_t b_step;  // from one inner index to the next
  T* c;
  std::int64_t c_step;
  std::int64_t columns;  // that exist, at most Vectors * lanes
  T alpha;
  bool add;
};

// With Packed, a is kTileRows values for each inner index; otherwise it is row-major.
template<class T, int Rows, int Vectors, bool Packed>
void compute_tile(const Tile<T>& tile) {
  Vec<T> sums[Rows][Vectors];
  for (auto& row : sums) {
    for (Vec<T>& sum : row) sum = broadcast(T(0));
  }
  const T* a = tile.a;
  const T* b = tile.b;
  const std::int64_t a_step = tile.a_step, b_step = tile.b_step;
  for (std::int64_t k = tile.depth; k > 0; --k) {
    Vec<T> right[Vectors];
    for (int j = 0; j < Vectors; ++j) right[j] = load<T>(b + j * kWidth<T>);
    for (int i = 0; i < Rows; ++i) {
      const Vec<T> left = broadcast(Packed ? a[i] : a[i * a_step]);
      for (int j = 0; j < Vectors; ++j) sums[i][j] = left * right[j] + sums[i][j];
    }
    a += Packed ? kTileRows : 1;
    b += b_step;
  }
  const Vec<T> alpha = broadcast(tile.alpha);
  for (int i = 0; i < Rows; ++i) {
    T* c = tile.c + i * tile.c_step;
    for (int j = 0; j < Vectors; ++j) {
      const std::int64_t left = tile.columns - j * kWidth<T>;
      Vec<T> value = alpha * sums[i][j];
      if (left >= kWidth<T>) {
        if (tile.add) value = load<T>(c + j * kWidth<T>) + value;
        store<T>(c + j * kWidth<T>, value);
      } else {
        if (tile.add) value = load_partial(c + j * kWidth<T>, left) + value;
        store_partial(c + j * kWidth<T>, left, value);
      }
    }
  }
}

template<class T>
using TileFunction = void (*)(const Tile<T>&);

template<class T, bool Packed, std::size_t... Index>
constexpr auto tile_functions(std::index_sequence<Index...>) {
  return std::array<TileFunction<T>, sizeof...(Index)>{
      compute_tile<T, Index / kTileVectors + 1, Index % kTileVectors + 1, Packed>...};
}

template<class T, bool Packed>
TileFunction<T> tile_function(std::int64_t rows, std::int64_t vectors) {
  static constexpr auto functions =
      tile_functions<T, Packed>(std::make_index_sequence<kTileRows * kTileVectors>());
  return functions[static_cast<std::size_t>((rows - 1) * kTileVectors + vectors - 1)];
}

// to[k * to_step + i] = from[i * from_step + k] for i < rows and k < depth, 0 for rows <= i < to_rows.
template<class T>
void pack_transposed(std::int64_t rows, std::int64_t to_rows, std::int64_t depth, const T* from,
                     std::int64_t from_step, T* to, std::int64_t to_step) {
  constexpr std::int64_t lanes = Eigen::internal::unpacket_traits<Packet<T>>::size;
  std::int64_t i = 0;
  for (; i + lanes <= rows; i += lanes) {
    std::int64_t k = 0;
    for (; k + lanes <= depth; k += lanes) {
      Eigen::internal::PacketBlock<Packet<T>, static_cast<int>(lanes)> block;
      for (std::int64_t r = 0; r < lanes; ++r)
        block.packet[r] = Eigen::internal::ploadu<Packet<T>>(from + (i + r) * from_step + k);
      if constexpr (lanes > 1) Eigen::internal::ptranspose(block);
      for (std::int64_t r = 0; r < lanes; ++r)
        Eigen::internal::pstoreu(to + (k + r) * to_step + i, block.packet[r]);
    }
    for (; k < depth; ++k) {
      for (std::int64_t r = 0; r < lanes; ++r) to[k * to_step + i + r] = from[(i + r) * from_step + k];
    }
  }
  for (; i < to_rows; ++i) {
    for (std::int64_t k = 0; k < depth; ++k) to[k * to_step + i] = i < rows ? from[i * from_step + k] : T(0);
  }
}

// to[k * to_step + i] = from[k * from_step + i] for i < columns, 0 for columns <= i < to_columns.
template<class T>
void pack_rows(std::int64_t columns, std::int64_t to_columns, std::int64_t depth, const T* from,
               std::int64_t from_step, T* to, std::int64_t to_step) {
  const std::int64_t whole = columns / kWidth<T> * kWidth<T>;
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t i = 0; i < whole; i += kWidth<T>) store<T>(to + i, load<T>(from + i));
    for (std::int64_t i = whole; i < to_columns; ++i) to[i] = i < columns ? from[i] : T(0);
    from += from_step;
    to += to_step;
  }
}

// The rows of a transposed matrix in strips of kTileRows: to[strip * depth * kTileRows + k * kTileRows + i].
// All strips of one k together, as their elements are neighbours in memory.
template<class T>
void pack_strips(std::int64_t rows, std::int64_t depth, const T* from, std::int64_t from_step, T* to) {
  const std::int64_t whole = rows / kTileRows * kTileRows;
  for (std::int64_t k = 0; k < depth; ++k, from += from_step, to += kTileRows) {
    for (std::int64_t i = 0; i < whole; i += kTileRows) std::copy_n(from + i, kTileRows, to + i * depth);
    if (whole < rows) std::copy_n(from + whole, rows - whole, to + whole * depth);
  }
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Widths in vectors of the panels of b: as wide as the tile, the last two shared out evenly.
std::int64_t panel_vectors(std::int64_t vectors_left) {
  if (vectors_left == kTileVectors + 1 && kTileVectors > 2) return (kTileVectors + 1) / 2;
  return std::min<std::int64_t>(vectors_left, kTileVectors);
}

template<class T>
struct Part {
  std::int64_t rows, columns, depth;
  T alpha;
  MatrixView<T> a, b;
  T* c;
  std::int64_t c_step;
  bool add;
};

// One row block times all panels of b, which is packed panel after panel or, if `packed_b` is null, read in
// place.
template<class T>
void multiply_row_block(const Part<T>& part, const T* packed_b, T* packed_a) {
  constexpr std::int64_t lanes = kWidth<T>;
  const bool a_in_place = part.a.column_step == 1;
  if (!a_in_place) pack_strips(part.rows, part.depth, part.a.data, part.a.column_step, packed_a);
  const std::int64_t vectors = (part.columns + lanes - 1) / lanes;
  for (std::int64_t done = 0; done < vectors;) {
    const std::int64_t width = panel_vectors(vectors - done);
    const std::int64_t column = done * lanes;
    Tile<T> tile;
    tile.depth = part.depth;
    tile.b = packed_b != nullptr ? packed_b + column * part.depth : part.b.data + column;
    tile.b_step = packed_b != nullptr ? width * lanes : part.b.row_step;
    tile.c_step = part.c_step;
    tile.columns = part.columns - column;
    tile.alpha = part.alpha;
    tile.add = part.add;
    for (std::int64_t i = 0; i < part.rows; i += kTileRows) {
      const std::int64_t rows = std::min<std::int64_t>(kTileRows, part.rows - i);
      tile.c = part.c + i * part.c_step + column;
      tile.a = a_in_place ? part.a.data + i * part.a.row_step : packed_a + i * part.depth;
      tile.a_step = part.a.row_step;
      (a_in_place ? tile_function<T, false>(rows, width) : tile_function<T, true>(rows, width))(tile);
    }
    done += width;
  }
}

template<class T>
void pack_panels(const Part<T>& part, T* to) {
  constexpr std::int64_t lanes = kWidth<T>;
  const std::int64_t vectors = (part.columns + lanes - 1) / lanes;
  for (std::int64_t done = 0; done < vectors;) {
    const std::int64_t width = panel_vectors(vectors - done) * lanes;
    const std::int64_t column = done * lanes;
    const std::int64_t columns = std::min(width, part.columns - column);
    T* panel = to + column * part.depth;
    if (part.b.column_step == 1) {
      pack_rows(columns, width, part.depth, part.b.data + column, part.b.row_step, panel, width);
    } else {
      pack_transposed(columns, width, part.depth, part.b.data + column * part.b.column_step,
                      part.b.column_step, panel, width);
    }
    done += width / lanes;
  }
}

template<class T>
void apply_epilogue(const Epilogue<T>& epilogue, std::int64_t rows, std::int64_t first_column,
                    std::int64_t columns, T* c, std::int64_t c_step) {
  const auto pass = [&](auto function) {
    for (std::int64_t i = 0; i < rows; ++i) {
      T* row = c + i * c_step;
      if (epilogue.bias != nullptr) {
        transform<T>(
            columns, row, [&](Vec<T> x, Vec<T> bias) { return function(x + bias); }, row,
            epilogue.bias + first_column);
      } else {
        transform<T>(columns, row, function, row);
      }
    }
  };
  switch (epilogue.activation) {
    case ATTN_ACTIVATION_RELU:
      pass([](Vec<T> x) { return rectify<T>(x); });
      break;
    case ATTN_ACTIVATION_TANH:
      pass([](Vec<T> x) { return hyperbolic_tangent<T>(x); });
      break;
    case ATTN_ACTIVATION_SIGMOID:
      pass([](Vec<T> x) { return sigmoid<T>(x); });
      break;
    default:
      if (epilogue.bias != nullptr) pass([](Vec<T> x) { return x; });
  }
}

template<class T>
void scale_rows(std::int64_t rows, std::int64_t columns, T beta, T* c, std::int64_t c_step) {
  const Vec<T> factor = broadcast(beta);
  for (std::int64_t i = 0; i < rows; ++i) {
    T* row = c + i * c_step;
    if (beta == T(0))
      std::fill(row, row + columns, T(0));
    else
      transform<T>(
          columns, row, [&](Vec<T> x) { return x * factor; }, row);
  }
}

}  // namespace

template<class T>
void multiply_here(Workspace& workspace, std::int64_t rows, std::int64_t columns, std::int64_t depth, T alpha,
                   MatrixView<T> a, MatrixView<T> b, T beta, T* c, std::int64_t c_step,
                   const Epilogue<T>& epilogue, [[maybe_unused]] Summation summation) {
  if (rows == 0 || columns == 0) return;
  if (depth == 0 || (beta != T(0) && beta != T(1))) scale_rows(rows, columns, beta, c, c_step);
#if defined(ATTN_EIGEN_TILES)
  if constexpr (std::is_same_v<T, float>) {
    // By the depth alone, so that equal rows get equal bits whatever the other sizes.
    if (summation == Summation::kByDepth && depth >= tiles::kMinimumDepth && tiles::granted()) {
      tiles::multiply_here(workspace, rows, columns, depth, alpha, a, b, beta, c, c_step, epilogue);
      return;
    }
  }
#endif
  // A vector with one column or row has no step along the other axis; it may be read either way.
  const bool b_in_place = b.column_step == 1 && columns % kWidth<T> == 0 && rows <= 2 * kTileRows;
  const std::int64_t largest_depth = std::min(depth, kDepth);
  const std::int64_t b_size =
      b_in_place ? 0 : largest_depth * round_up(std::min(columns, kColumns), kWidth<T>);
  const std::int64_t a_size =
      a.column_step == 1 ? 0 : largest_depth * round_up(std::min(rows, kRows), kTileRows);
  const auto scratch = workspace.take<T>(b_size + a_size);
  T* const packed_b = b_in_place ? nullptr : scratch.data();
  T* const packed_a = scratch.data() + b_size;
  for (std::int64_t column = 0; column < columns; column += kColumns) {
    const std::int64_t width = std::min(kColumns, columns - column);
    for (std::int64_t k = 0; k < std::max<std::int64_t>(depth, 1); k += kDepth) {
      Part<T> part{rows,
                   width,
                   std::min(kDepth, depth - k),
                   alpha,
                   {a.data + k * a.column_step, a.row_step, a.column_step},
                   {b.data + k * b.row_step + column * b.column_step, b.row_step, b.column_step},
                   c + column,
                   c_step,
                   k > 0 || beta != T(0)};
      if (packed_b != nullptr && depth > 0) pack_panels(part, packed_b);
      for (std::int64_t row = 0; row < rows; row += kRows) {
        Part<T> block = part;
        block.rows = std::min(kRows, rows - row);
        block.a.data += row * a.row_step;
        block.c += row * c_step;
        if (depth > 0) multiply_row_block(block, packed_b, packed_a);
        if (k + kDepth >= depth) apply_epilogue(epilogue, block.rows, column, width, block.c, c_step);
      }
    }
  }
}

template<class T>
void multiply(KernelContext& context, std::int64_t rows, std::int64_t columns, std::int64_t depth, T alpha,
              MatrixView<T> a, MatrixView<T> b, T beta, T* c, std::int64_t c_step,
              const Epilogue<T>& epilogue, Summation summation) {
  const std::int64_t work = rows * columns * std::max<std::int64_t>(depth, 1);
  const std::int64_t threads = context.threads.count();
  // No result depends on how the matrix is cut, so this may look at the number of threads.
  const std::int64_t wanted = threads == 1 ? 1 : std::min(work / kMinimumTask, 4 * threads);
  if (wanted <= 1) {
    multiply_here(context.workspace, rows, columns, depth, alpha, a, b, beta, c, c_step, epilogue, summation);
    return;
  }
  const std::int64_t column_unit = kTileVectors * kWidth<T>;
  const std::int64_t column_parts = std::clamp<std::int64_t>(columns / column_unit, 1, wanted);
  const std::int64_t width = round_up((columns + column_parts - 1) / column_parts, kWidth<T>);
  const std::int64_t across = (columns + width - 1) / width;
  const std::int64_t row_parts =
      std::clamp<std::int64_t>(wanted / across, 1, std::max<std::int64_t>(rows / 32, 1));
  const std::int64_t height = round_up((rows + row_parts - 1) / row_parts, kTileRows);
  const std::int64_t down = (rows + height - 1) / height;
  context.threads.parallel(across * down, [&](std::int64_t task) {
    const std::int64_t row = task / across * height, column = task % across * width;
    Epilogue<T> part = epilogue;
    if (part.bias != nullptr) part.bias += column;
    multiply_here(context.workspace, std::min(height, rows - row), std::min(width, columns - column), depth,
                  alpha, MatrixView<T>{a.data + row * a.row_step, a.row_step, a.column_step},
                  MatrixView<T>{b.data + column * b.column_step, b.row_step, b.column_step}, beta,
                  c + row * c_step + column, c_step, part, summation);
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type.
#define ATTN_INSTANTIATE(T)                                                                              \
  template void multiply_here<T>(Workspace&, std::int64_t, std::int64_t, std::int64_t, T, MatrixView<T>, \
                                 MatrixView<T>, T, T*, std::int64_t, const Epilogue<T>&, Summation);     \
  template void multiply<T>(KernelContext&, std::int64_t, std::int64_t, std::int64_t, T, MatrixView<T>,  \
                            MatrixView<T>, T, T*, std::int64_t, const Epilogue<T>&, Summation);
// NOLINTEND(bugprone-macro-parentheses)
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn::eigen
