#include <algorithm>
#include <cmath>

#include "masks.h"

namespace attn::conformance {
namespace {

struct Sizes {
  std::int64_t batch, queries, keys, heads, size, value_size;

  Shape query() const { return {batch, queries, heads * size}; }
  Shape key() const { return {batch, keys, heads * size}; }
  Shape value() const { return {batch, keys, heads * value_size}; }
  Shape output() const { return {batch, queries, heads * value_size}; }
  Shape rows() const { return {batch, heads, queries}; }
  Shape weights() const { return {batch, heads, queries, keys}; }
};

struct Dot {
  Sizes sizes;
  MaskCase mask;
  double rate = 0;
  double range = 1;  // of query and key

  attn_attention_params params() const {
    return {
        0,   0,   static_cast<std::int32_t>(sizes.heads), mask.masking, mask.causal, 5, mask.causal_offset,
        0.6, rate};
  }
  // Over one key the gradient of a score is the difference of two equal sums over the columns of the value.
  double gradient_terms() const {
    return 1 + std::sqrt(static_cast<double>(sizes.value_size * std::max(sizes.queries, sizes.keys)));
  }
  void inputs(Builder& b) const {
    b.params(params()).in(sizes.query(), -range, range).in(sizes.key(), -range, range).in(sizes.value());
    mask.add_lengths(b, sizes.batch, sizes.queries, sizes.keys);
    b.random(rate);
  }
};

void add_dot(Recipes& recipes, const Dot& dot) {
  const Sizes s = dot.sizes;
  const std::string name =
      fmt::format("{} over {}, {} heads of {} and {}, {}, dropout {}, range {}", s.query(), s.keys, s.heads,
                  s.size, s.value_size, dot.mask.name, dot.rate, dot.range);
  for (const bool weights : {false, true}) {
    recipes.add(ATTN_OP_ATTENTION, name + (weights ? ", with weights" : ""), [=](Builder& b) {
      dot.inputs(b);
      b.out(s.output()).out(s.rows());
      if (weights)
        b.out(s.weights());
      else
        b.no_output();
    });
  }
  if (dot.range > 10) return;
  for (const auto& [wanted, accumulate] : {std::pair{7u, 0u}, {7u, 7u}, {1u, 0u}, {6u, 2u}}) {
    if (wanted != 7u && dot.rate == 0) continue;
    recipes.add(ATTN_OP_ATTENTION_GRADIENT,
                fmt::format("{}, wanted {:#b}, added {:#b}", name, wanted, accumulate),
                [=, w = wanted, a = accumulate](Builder& b) {
                  Builder forward = b.forward(ATTN_OP_ATTENTION);
                  dot.inputs(forward);
                  forward.out(s.output()).out(s.rows()).no_output();
                  const auto saved = forward.outputs();
                  b.params(dot.params());
                  for (const CaseTensor& input : forward.inputs()) b.given(input);
                  b.given(saved[0]).given(saved[1]).in(s.output());
                  b.gradient(s.query(), w, a).gradient(s.key(), w, a).gradient(s.value(), w, a);
                  b.magnitude(dot.gradient_terms());
                });
  }
}

// Rows of a cache for every batch entry: in no order, in part the same for several entries, and different
// ones within an entry if there are enough and 7 does not divide their number.
std::vector<double> scattered_rows(std::int64_t batch, std::int64_t keys, std::int64_t cached) {
  std::vector<double> rows;
  for (std::int64_t entry = 0; entry < batch; ++entry) {
    for (std::int64_t key = 0; key < keys; ++key)
      rows.push_back(static_cast<double>((3 * entry + 7 * key) % cached));
  }
  return rows;
}

// A cache of `cached` rows.
void add_cached(Recipes& recipes, const Dot& dot, std::int64_t cached) {
  const Sizes s = dot.sizes;
  for (const bool weights : {false, true}) {
    const std::string name =
        fmt::format("{} over {} of {} rows, {} heads of {} and {}, {}, range {}{}", s.query(), s.keys, cached,
                    s.heads, s.size, s.value_size, dot.mask.name, dot.range, weights ? ", with weights" : "");
    recipes.add(ATTN_OP_CACHED_ATTENTION, name, [=](Builder& b) {
      b.params(dot.params()).in(s.query(), -dot.range, dot.range);
      b.in({cached, s.heads * s.size}, -dot.range, dot.range).in({cached, s.heads * s.value_size});
      b.integers(Shape{s.batch, s.keys}, scattered_rows(s.batch, s.keys, cached));
      dot.mask.add_lengths(b, s.batch, s.queries, s.keys);
      b.out(s.output());
      if (weights)
        b.out(s.weights());
      else
        b.no_output();
    });
  }
}

struct Additive {
  std::int64_t batch, queries, keys, hidden, value_size;
  MaskCase mask;
  double rate = 0;

  attn_attention_params params() const {
    return {0, 0, 1, mask.masking, mask.causal, 5, mask.causal_offset, 1, rate};
  }
  void inputs(Builder& b) const {
    b.params(params())
        .in({batch, queries, hidden})
        .in({batch, keys, hidden})
        .in({hidden})
        .in({batch, keys, value_size});
    mask.add_lengths(b, batch, queries, keys);
    b.random(rate);
  }
};

void add_additive(Recipes& recipes, const Additive& one) {
  const Shape output{one.batch, one.queries, one.value_size}, weights{one.batch, one.queries, one.keys};
  const std::string name =
      fmt::format("[{}, {}] over {}, hidden {} and {}, {}, dropout {}", one.batch, one.queries, one.keys,
                  one.hidden, one.value_size, one.mask.name, one.rate);
  const auto forward = [=](Builder& b) {
    one.inputs(b);
    b.out(output).out(weights);
  };
  recipes.add(ATTN_OP_ADDITIVE_ATTENTION, name, forward);
  for (const auto& [wanted, accumulate] : {std::pair{15u, 0u}, {15u, 15u}, {1u, 0u}, {14u, 4u}}) {
    if (wanted != 15u && one.rate == 0) continue;
    recipes.add(ATTN_OP_ADDITIVE_ATTENTION_GRADIENT,
                fmt::format("{}, wanted {:#b}, added {:#b}", name, wanted, accumulate),
                [=, w = wanted, a = accumulate](Builder& b) {
                  Builder before = b.forward(ATTN_OP_ADDITIVE_ATTENTION);
                  forward(before);
                  const auto saved = before.outputs();
                  b.params(one.params());
                  for (const CaseTensor& input : before.inputs()) b.given(input);
                  b.given(saved[1]).in(output);
                  for (std::size_t i = 0; i < 4; ++i) b.gradient(before.inputs()[i].shape, w, a);
                  b.magnitude(2);
                });
  }
}

}  // namespace

void add_attention_recipes(Recipes& recipes) {
  for (const MaskCase& mask : mask_cases()) {
    for (const double rate : {0.0, 0.4}) {
      add_dot(recipes, {{2, 3, 5, 2, 3, 2}, mask, rate});
      add_dot(recipes, {{2, 7, 19, 4, 8, 8}, mask, rate});
      add_dot(recipes, {{1, 1, 1, 1, 1, 1}, mask, rate});
      add_dot(recipes, {{0, 3, 5, 2, 3, 2}, mask, rate});
      add_dot(recipes, {{2, 0, 5, 2, 3, 2}, mask, rate});
      add_dot(recipes, {{2, 3, 0, 2, 3, 2}, mask, rate});
      add_additive(recipes, {2, 3, 5, 4, 3, mask, rate});
      add_additive(recipes, {2, 1, 17, 33, 9, mask, rate});
      add_additive(recipes, {1, 1, 1, 1, 1, mask, rate});
      add_additive(recipes, {0, 3, 5, 4, 3, mask, rate});
      add_additive(recipes, {2, 3, 0, 4, 3, mask, rate});
    }
    add_dot(recipes, {{2, 3, 9, 2, 8, 5}, mask, 0, 60});
    add_cached(recipes, {{3, 1, 5, 2, 3, 2}, mask}, 7);
    add_cached(recipes, {{2, 4, 19, 4, 16, 8}, mask}, 23);
    add_cached(recipes, {{2, 3, 9, 2, 8, 5}, mask, 0, 8}, 20);
    add_cached(recipes, {{2, 3, 9, 2, 8, 5}, mask}, 4);  // the same key several times
    add_cached(recipes, {{1, 1, 1, 1, 1, 1}, mask}, 1);
    add_cached(recipes, {{0, 3, 5, 2, 3, 2}, mask}, 3);
    add_cached(recipes, {{2, 0, 5, 2, 3, 2}, mask}, 3);
    add_cached(recipes, {{2, 3, 0, 2, 3, 2}, mask}, 3);
    for (int i = 0; i < recipes.random_count() / 4; ++i) {
      const std::int64_t heads = recipes.size(5);
      add_cached(
          recipes,
          {{recipes.size(5), recipes.size(3), recipes.size(40), heads, recipes.size(40), recipes.size(40)},
           mask},
          recipes.size(50));
    }
    for (int i = 0; i < recipes.random_count() / 4; ++i) {
      const std::int64_t heads = recipes.size(5);
      add_dot(recipes, {{recipes.size(3), recipes.size(33), recipes.size(33), heads, recipes.size(17),
                         recipes.size(17)},
                        mask,
                        0.1});
      add_additive(recipes, {recipes.size(3), recipes.size(9), recipes.size(17), recipes.size(17),
                             recipes.size(17), mask, 0.1});
    }
  }
  const MaskCase none = mask_cases()[0], lengths = mask_cases()[1], causal = mask_cases()[4];
  add_dot(recipes, {{1, 5, 7, 1, 129, 65}, lengths, 0.1});  // a large head
  add_dot(recipes, {{1, 3, 4, 16, 2, 1}, none, 0.2});       // many small ones
  if (!recipes.quick()) {
    add_dot(recipes, {{1, 3, 1500, 2, 16, 16}, lengths, 0.1});
    add_dot(recipes, {{1, 130, 130, 2, 64, 64}, causal, 0.1});
    add_dot(recipes, {{1, 2, 3, 1, 513, 257}, none, 0});
    add_additive(recipes, {1, 3, 700, 33, 17, lengths, 0.1});
  }
}

}  // namespace attn::conformance
