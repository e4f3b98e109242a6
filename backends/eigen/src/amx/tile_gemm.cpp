#include "amx/tile_gemm.h"

#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "amx/split_tiles.h"
#include "amx/tile_sums.h"
#include "attn/processor_tiles.h"
#include "vector_loops.h"

namespace attn::eigen::tiles {
namespace {

constexpr std::int64_t kDepth = 256;  // of the parts that are packed at a time
constexpr std::int64_t kRows = 640;   // of a that are packed at a time: 960 KiB

static_assert(kDepth % kInner == 0);

struct Result {
  std::int64_t rows, columns;
  float alpha;
  bool add;
  float* c;
  std::int64_t c_step;
  const float* bias;  // or none
  std::int32_t activation;
};

/// c = activation(alpha sums + c + bias), some rows at a time.
class Finishing {
 public:
  Finishing() = default;
  /// `sums` as store_tiles leaves them; `transposed` is as large, and used for the form kColumn.
  Finishing(const Result& result, Form form, const float* sums, float* transposed)
      : result_(result), sums_(sums), transposed_(transposed), form_(form) {}
  bool done() const { return row_ >= result_.rows; }
  std::int64_t pieces_left() const { return result_.rows - row_; }
  void advance() {
    if (row_ == 0 && form_ == Form::kColumn) transpose_sums();
    switch (result_.activation) {
      case ATTN_ACTIVATION_RELU:
        finish_row([](__m512 x) { return (__m512)rectify<float>((Vec<float>)x); });
        break;
      case ATTN_ACTIVATION_TANH:
        finish_row([](__m512 x) { return (__m512)hyperbolic_tangent<float>((Vec<float>)x); });
        break;
      case ATTN_ACTIVATION_SIGMOID:
        finish_row([](__m512 x) { return (__m512)sigmoid<float>((Vec<float>)x); });
        break;
      default:
        finish_row([](__m512 x) { return x; });
    }
    ++row_;
  }
  void finish() {
    while (!done()) advance();
  }

 private:
  void transpose_sums() {
    for (std::int64_t j = 0; j < result_.columns; j += kLines)
      transpose(sums_ + j * kLines, kLines, transposed_ + j, sums_step(Form::kRow));
    sums_ = transposed_;
  }

  // One code for whole and partial vectors.
  template<class Function>
  void finish_row(Function function) {
    const __m512 alpha = _mm512_set1_ps(result_.alpha), nothing = _mm512_set1_ps(-0.0F);
    float* c = result_.c + row_ * result_.c_step;
    const float* sums = sums_ + row_ * sums_step(form_);
    for (std::int64_t j = 0; j < result_.columns; j += 16) {
      const auto lanes = static_cast<__mmask16>((1U << std::min<std::int64_t>(16, result_.columns - j)) - 1);
      const __m512 before = result_.add ? _mm512_maskz_loadu_ps(lanes, c + j) : nothing;
      const __m512 bias = result_.bias != nullptr ? _mm512_maskz_loadu_ps(lanes, result_.bias + j) : nothing;
      const __m512 value = _mm512_fmadd_ps(alpha, _mm512_load_ps(sums + j), before);
      _mm512_mask_storeu_ps(c + j, lanes, function(_mm512_add_ps(value, bias)));
    }
  }

  Result result_{};
  const float* sums_ = nullptr;
  float* transposed_ = nullptr;
  Form form_ = Form::kSquare;
  std::int64_t row_ = 0;
};

/// Memory that is used soon: rows of numbers, a cache line at a time.
class Request {
 public:
  Request() = default;
  Request(const float* data, std::int64_t rows, std::int64_t row_size, std::int64_t step)
      : data_(data), rows_(rows), row_size_(row_size), step_(step) {}
  bool done() const { return row_ >= rows_; }
  std::int64_t pieces_left() const { return (rows_ - row_) * ((row_size_ + kLineSize - 1) / kLineSize); }
  void advance() {
    _mm_prefetch(data_ + row_ * step_ + at_, _MM_HINT_T0);
    at_ += kLineSize;
    if (at_ < row_size_) return;
    at_ = 0;
    ++row_;
  }

 private:
  static constexpr std::int64_t kLineSize = 16;
  const float* data_ = nullptr;
  std::int64_t rows_ = 0, row_size_ = 0, step_ = 0, row_ = 0, at_ = 0;
};

/// So many pieces of a work at a time that it is done within a number of times. Not spread more evenly:
/// branches that cannot be foreseen cost more.
class Pace {
 public:
  Pace() = default;
  Pace(std::int64_t pieces, std::int64_t slots) : at_a_time_((pieces + slots - 1) / slots) {}
  template<class Work>
  void advance(Work& work) const {
    for (std::int64_t i = 0; i < at_a_time_ && !work.done(); ++i) work.advance();
  }

 private:
  std::int64_t at_a_time_ = 0;
};

/// What is done while tiles are multiplied.
struct Beside {
  Finishing finishing;  // of the block before
  Packing* packing = nullptr;
  Request result, next;
  Pace finishing_pace, packing_pace, result_pace, next_pace;

  /// From now on for so many calls: pack this, and ask for what is packed afterwards.
  void pack(Packing& work, const Request& following, std::int64_t slots) {
    packing = &work;
    packing_pace = {work.pieces_left(), slots};
    next = following;
    next_pace = {following.pieces_left(), slots / kProducts};
  }
  /// Finish the block before.
  void finish(std::int64_t slots) { finishing_pace = {finishing.pieces_left(), slots}; }
  /// Ask for the memory of this result.
  void ask(const Result& present, std::int64_t slots) {
    result = Request(present.c, present.rows, present.columns, present.c_step);
    result_pace = {result.pieces_left(), slots / kProducts};
  }

  void operator()(int product) {
    // Without any vector operation in between, tile multiplications are a fifth slower.
    float nothing = 0;
    asm volatile("vaddss %0, %0, %0" : "+x"(nothing));
    if (product == 0) result_pace.advance(result);
    if (product == 3) next_pace.advance(next);
    finishing_pace.advance(finishing);
    packing_pace.advance(*packing);
  }
};
void multiply_block(std::int64_t row_tiles, std::int64_t column_tiles, const Operands& operands,
                    Beside& beside_block) {
  const auto beside = [&](int product) { beside_block(product); };
  clear_tiles();
  if (row_tiles > 1)
    column_tiles > 1 ? sum_products<2, 2>(operands, beside) : sum_products<2, 1>(operands, beside);
  else
    column_tiles > 1 ? sum_products<1, 2>(operands, beside) : sum_products<1, 1>(operands, beside);
}

template<Form form>
void add_row_of_blocks(std::int64_t column_tiles, const Operands& operands, Beside& beside_block) {
  const auto beside = [&](int product) { beside_block(product); };
  switch (column_tiles) {
    case 1:
      sum_row_of_products<form, 1>(operands, beside);
      break;
    case 2:
      sum_row_of_products<form, 2>(operands, beside);
      break;
    case 3:
      sum_row_of_products<form, 3>(operands, beside);
      break;
    default:
      sum_row_of_products<form, 4>(operands, beside);
  }
}

std::int64_t tiles_for(std::int64_t lines) {
  return (lines + kLines - 1) / kLines;
}

struct Part {
  Form form = Form::kSquare;
  std::int64_t rows = 0, columns = 0, depth = 0;
  MatrixView<float> a{}, b{};
  float alpha = 1;
  bool add = false;
  float* c = nullptr;
  std::int64_t c_step = 0;
  Epilogue<float> epilogue{};

  std::int64_t steps() const { return (depth + kInner - 1) / kInner; }
  std::int64_t panel() const { return form == Form::kSquare ? kBlock : 4 * kLines; }
  Packing pack_rows(std::int64_t row, std::uint16_t* to) const {
    const std::int64_t count = std::min(kBlock, rows - row);
    return {form == Form::kColumn ? Side::kRight : Side::kLeft,
            {count, depth, a.data + row * a.row_step, a.row_step, a.column_step},
            to};
  }
  Request ask_for_rows(std::int64_t row) const {
    const std::int64_t count = std::min(kBlock, rows - row);
    if (count <= 0) return {};
    const float* data = a.data + row * a.row_step;
    return a.column_step == 1 ? Request(data, count, depth, a.row_step)
                              : Request(data, depth, count, a.column_step);
  }
  Request ask_for_columns(std::int64_t column) const {
    const std::int64_t count = std::min(panel(), columns - column);
    if (count <= 0) return {};
    const float* data = b.data + column * b.column_step;
    return b.row_step == 1 ? Request(data, count, depth, b.column_step)
                           : Request(data, depth, count, b.row_step);
  }
  Packing pack_columns(std::int64_t column, std::uint16_t* to) const {
    return pack_columns(column, 0, depth, to);
  }
  Packing pack_columns(std::int64_t column, std::int64_t first, std::int64_t count, std::uint16_t* to) const {
    if (column >= columns) return {};
    const std::int64_t width = std::min(panel(), columns - column), inner = std::min(count, depth - first);
    const float* data = b.data + column * b.column_step + first * b.row_step;
    return {form == Form::kColumn ? Side::kLeft : Side::kRight,
            {width, inner, data, b.column_step, b.row_step},
            to};
  }
  Result block(std::int64_t row, std::int64_t column) const {
    return {std::min(kBlock, rows - row),
            std::min(panel(), columns - column),
            alpha,
            add,
            c + row * c_step + column,
            c_step,
            epilogue.bias != nullptr ? epilogue.bias + column : nullptr,
            epilogue.activation};
  }
};

// Panels of columns of b, each times all of a. While one block is multiplied, the one before it is finished,
// and the next one of a (in the first panel) or the next panel of b is packed.
void multiply_part(const Part& part, std::uint16_t* packed_a, std::uint16_t* packed_b, std::int64_t b_size) {
  const std::int64_t steps = part.steps(), a_size = 2 * steps * kStepSize, slots = kProducts * steps;
  alignas(64) float sums[2][kSums], transposed[kSums];
  int present_sums = 0;
  std::uint16_t *present = packed_b, *next = packed_b + b_size;
  part.pack_rows(0, packed_a).finish();
  part.pack_columns(0, present).finish();
  Beside beside;
  for (std::int64_t column = 0; column < part.columns; column += part.panel()) {
    Packing next_columns = part.pack_columns(column + part.panel(), next), next_rows;
    for (std::int64_t row = 0; row < part.rows; row += kBlock) {
      const bool more_rows = row + kBlock < part.rows;
      if (column == 0 && more_rows) {
        next_rows = part.pack_rows(row + kBlock, packed_a + (row / kBlock + 1) * a_size);
        beside.pack(next_rows, part.ask_for_rows(row + 2 * kBlock), slots);
      } else if (column == 0 || row == 0) {
        const std::int64_t blocks = column == 0 ? 1 : (part.rows + kBlock - 1) / kBlock;
        beside.pack(next_columns, part.ask_for_columns(column + 2 * part.panel()), blocks * slots);
      }
      const Result result = part.block(row, column);
      beside.finish(slots);
      beside.ask(result, slots);
      finish_writing(packed_a);
      const Operands operands{steps, packed_a + row / kBlock * a_size, present};
      multiply_block(tiles_for(result.rows), tiles_for(result.columns), operands, beside);
      beside.finishing.finish();
      next_rows.finish();
      float* const to = sums[present_sums];
      store_tiles(part.form, to);
      finish_writing(to);
      beside.finishing = Finishing(result, part.form, to, transposed);
      present_sums = 1 - present_sums;
    }
    next_columns.finish();
    std::swap(present, next);
  }
  beside.finishing.finish();
}

// At most 16 rows: b is most of the work, and each part of it is used once. So it is packed by steps of inner
// indices, into little memory that stays in the nearest cache; while one step is multiplied the next is
// packed.
void multiply_few_rows(const Part& part, std::uint16_t* packed_a, std::uint16_t* packed_b) {
  alignas(64) float sums[2][kSums], transposed[kSums];
  int present_sums = 0;
  std::uint16_t *present = packed_b, *next = packed_b + 4 * kStepSize;
  part.pack_rows(0, packed_a).finish();
  part.pack_columns(0, 0, kInner, present).finish();
  Beside beside;
  for (std::int64_t column = 0; column < part.columns; column += part.panel()) {
    const Result result = part.block(0, column);
    clear_tiles();
    for (std::int64_t step = 0; step < part.steps(); ++step) {
      const bool last = step + 1 == part.steps();
      Packing following = last ? part.pack_columns(column + part.panel(), 0, kInner, next)
                               : part.pack_columns(column, (step + 1) * kInner, kInner, next);
      beside.pack(following, {}, kProducts);
      beside.finish(kProducts);
      finish_writing(packed_b);
      const Operands operands{1, packed_a + step * kStepSize, present};
      if (part.form == Form::kRow)
        add_row_of_blocks<Form::kRow>(tiles_for(result.columns), operands, beside);
      else
        add_row_of_blocks<Form::kColumn>(tiles_for(result.columns), operands, beside);
      following.finish();
      std::swap(present, next);
    }
    beside.finishing.finish();
    store_tiles(part.form, sums[present_sums]);
    finish_writing(sums);
    beside.finishing = Finishing(result, part.form, sums[present_sums], transposed);
    present_sums = 1 - present_sums;
  }
  beside.finishing.finish();
}

}  // namespace

bool granted() {
  static const bool result = attn_processor_tiles_granted() != 0;
  return result;
}

void multiply_here(Workspace& workspace, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                   float alpha, MatrixView<float> a, MatrixView<float> b, float beta, float* c,
                   std::int64_t c_step, const Epilogue<float>& epilogue) {
  const std::int64_t row_parts = (rows + kRows - 1) / kRows;
  const std::int64_t row_unit = (rows + row_parts - 1) / row_parts;
  const std::int64_t height = (row_unit + kBlock - 1) / kBlock * kBlock;
  const std::int64_t most_steps = (std::min(depth, kDepth) + kInner - 1) / kInner;
  const std::int64_t a_size = tiles_for(std::min(height, rows)) * most_steps * kStepSize;
  const Form form = rows > kLines ? Form::kSquare : b.column_step == 1 ? Form::kRow : Form::kColumn;
  const std::int64_t b_size = form == Form::kSquare ? 2 * most_steps * kStepSize : 4 * kStepSize;
  const auto scratch = workspace.take<std::uint16_t>(a_size + 2 * b_size);
  const TileUse use(form, rows);
  for (std::int64_t k = 0; k < depth; k += kDepth) {
    const std::int64_t inner = std::min(kDepth, depth - k);
    const bool last = k + kDepth >= depth;
    for (std::int64_t top = 0; top < rows; top += height) {
      const std::int64_t here = std::min(height, rows - top);
      Part part;
      part.form = form;
      part.rows = here;
      part.columns = columns;
      part.depth = inner;
      part.a = {a.data + top * a.row_step + k * a.column_step, a.row_step, a.column_step};
      part.b = {b.data + k * b.row_step, b.row_step, b.column_step};
      part.alpha = alpha;
      part.add = k > 0 || beta != 0;
      part.c = c + top * c_step;
      part.c_step = c_step;
      if (last) part.epilogue = epilogue;
      std::uint16_t *packed_a = scratch.data(), *packed_b = packed_a + a_size;
      if (form == Form::kSquare)
        multiply_part(part, packed_a, packed_b, b_size);
      else
        multiply_few_rows(part, packed_a, packed_b);
    }
  }
}

}  // namespace attn::eigen::tiles
