// Rows that are picked by ids, windows of sequences, the cache of keys and values.
#include "case.h"

namespace attn::conformance {
namespace {

Shape joined(const Shape& a, const Shape& b) {
  Shape result = a;
  for (const std::int64_t size : b.dims()) result = result.appended(size);
  return result;
}

void add_ids(Recipes& recipes, std::int64_t rows, const Shape& row, const Shape& ids) {
  const std::string name = fmt::format("{} of {} rows {}", ids, rows, row);
  const Shape table = joined({rows}, row), y = joined(ids, row);
  recipes.add(ATTN_OP_GATHER_ROWS, name,
              [=](Builder& b) { b.in(table).integers(ids, 0, rows).out(y).exact(); });
  for (const DType type : {DType::i32, DType::bf16, DType::i8}) {
    recipes.add(ATTN_OP_GATHER_ROWS, fmt::format("{}, {}", name, name_of(type)), [=](Builder& b) {
      std::vector<double> values(static_cast<std::size_t>(table.elements()));
      for (double& value : values) value = static_cast<double>(b.random_numbers().below(100));
      b.typed(type, table, values).integers(ids, 0, rows).out(type, y).exact();
    });
  }
  if (row.rank() != 1) return;
  for (const std::int32_t ignored : {-1, 1}) {
    recipes.add(ATTN_OP_SCATTER_ADD_ROWS, fmt::format("{}, ignored {}", name, ignored), [=](Builder& b) {
      b.params(attn_scatter_params{0, ignored}).in(y).integers(ids, 0, rows).in_out(table);
    });
  }
}

void add_windows(Recipes& recipes, std::int64_t batch, std::int64_t steps, std::int64_t channels,
                 const attn_window_params& window, std::int64_t steps_out) {
  const std::string name =
      fmt::format("[{}, {}, {}] kernel {} stride {} dilation {} padding {} to {}", batch, steps, channels,
                  window.kernel, window.stride, window.dilation, window.padding, steps_out);
  const Shape x{batch, steps, channels}, windows{batch, steps_out, window.kernel * channels};
  recipes.add(ATTN_OP_UNFOLD_1D, name, [=](Builder& b) { b.params(window).in(x).out(windows).exact(); });
  recipes.add(ATTN_OP_FOLD_1D, name, [=](Builder& b) { b.params(window).in(windows).out(x); });
  if (steps_out == 0) return;  // a convolution has at least one window
  for (const std::int64_t outputs : {1, 5}) {
    const Shape weight{outputs, window.kernel, channels}, y{batch, steps_out, outputs};
    for (const bool bias : {true, false}) {
      recipes.add(ATTN_OP_CONV_1D, fmt::format("{} and {} outputs{}", name, outputs, bias ? "" : ", no bias"),
                  [=](Builder& b) {
                    b.params(window).in(x).in(weight);
                    if (bias)
                      b.in({outputs});
                    else
                      b.absent();
                    b.out(y).magnitude(2);
                  });
    }
    for (const auto& [wanted, accumulate] : {std::pair{7u, 0u}, {7u, 7u}, {1u, 0u}, {6u, 2u}}) {
      recipes.add(
          ATTN_OP_CONV_1D_GRADIENT,
          fmt::format("{} and {} outputs, wanted {:#b}, added {:#b}", name, outputs, wanted, accumulate),
          [=, w = wanted, a = accumulate](Builder& b) {
            b.params(window).in(x).in(weight).in(y);
            b.gradient(x, w, a).gradient(weight, w, a).gradient({outputs}, w, a).magnitude(3);
          });
    }
  }
}

void add_cache(Recipes& recipes, std::int64_t batch, std::int64_t capacity, std::int64_t width,
               std::int64_t count, std::int64_t position) {
  recipes.add(ATTN_OP_KV_APPEND,
              fmt::format("{} steps at {} of [{}, {}, {}]", count, position, batch, capacity, width),
              [=](Builder& b) {
                b.in({batch, count, width})
                    .integers(Shape{}, std::vector<double>{static_cast<double>(position)})
                    .in_out({batch, capacity, width})
                    .exact();
              });
}

}  // namespace

void add_row_recipes(Recipes& recipes) {
  add_ids(recipes, 5, {3}, {2, 3});
  add_ids(recipes, 2, {1}, {17});  // every id many times
  add_ids(recipes, 4, {9}, {0});
  add_ids(recipes, 4, {9}, {3, 0});
  add_ids(recipes, 3, {0}, {4});
  add_ids(recipes, 4, {2, 3}, {3});
  add_ids(recipes, 4, {}, {7});
  add_ids(recipes, 6, {5}, {});
  add_ids(recipes, 101, {33}, {3, 67});
  for (int i = 0; i < recipes.random_count(); ++i) {
    add_ids(recipes, 2 + recipes.size(65), {recipes.size(33)}, recipes.shape(2, 60));
  }
  add_windows(recipes, 2, 7, 3, {0, 0, 1, 1, 1, 0}, 7);
  add_windows(recipes, 2, 7, 3, {0, 0, 3, 1, 1, 1}, 7);
  add_windows(recipes, 2, 7, 3, {0, 0, 3, 2, 1, 1}, 4);
  add_windows(recipes, 1, 7, 1, {0, 0, 2, 3, 1, 0}, 2);
  add_windows(recipes, 2, 9, 5, {0, 0, 3, 1, 2, 2}, 9);
  add_windows(recipes, 2, 3, 2, {0, 0, 5, 1, 1, 4}, 7);
  add_windows(recipes, 0, 3, 2, {0, 0, 3, 1, 1, 1}, 3);
  add_windows(recipes, 2, 0, 2, {0, 0, 3, 1, 1, 1}, 0);
  add_windows(recipes, 3, 33, 17, {0, 0, 3, 1, 1, 1}, 33);
  add_cache(recipes, 2, 5, 3, 2, 1);
  add_cache(recipes, 2, 5, 3, 5, 0);
  add_cache(recipes, 1, 1, 1, 1, 0);
  add_cache(recipes, 0, 4, 3, 2, 1);
  add_cache(recipes, 2, 4, 3, 0, 4);
  add_cache(recipes, 3, 33, 17, 1, 32);
}

}  // namespace attn::conformance
