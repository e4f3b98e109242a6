// Operations that move elements without computing.
#include <algorithm>
#include <array>
#include <numeric>

#include "case.h"

namespace attn::conformance {
namespace {

std::vector<double> counted(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 120) + 1;
  return values;
}

// Calls add(name of the type, function that adds an input, function that adds an output) for every type.
template<typename Add>
void for_each_type(const Add& add) {
  add(
      "", [](Builder& b, const Shape& shape) { b.in(shape); },
      [](Builder& b, const Shape& shape) { b.out(shape); });
  for (const DType type : {DType::i32, DType::bf16, DType::i8}) {
    add(
        std::string(", ") + name_of(type),
        [type](Builder& b, const Shape& shape) { b.typed(type, shape, counted(shape)); },
        [type](Builder& b, const Shape& shape) { b.out(type, shape); });
  }
}

void add_copy(Recipes& recipes) {
  for_each_type([&](const std::string& type, auto in, auto out) {
    for (const auto& [from, to] : {std::pair{Shape{}, Shape{1}},
                                   {Shape{3, 5}, Shape{15}},
                                   {Shape{0}, Shape{4, 0}},
                                   {Shape{1021}, Shape{1, 1021}}}) {
      recipes.add(ATTN_OP_COPY, fmt::format("{} to {}{}", from, to, type), [=, f = from, t = to](Builder& b) {
        in(b, f);
        out(b, t);
        b.exact();
      });
    }
  });
}

void add_permute(Recipes& recipes, const Shape& shape, const std::vector<std::int32_t>& axes) {
  attn_permute_params params{};
  Shape y;
  std::string order;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    params.axes[i] = axes[i];
    y = y.appended(shape[axes[i]]);
    order += fmt::format("{}", axes[i]);
  }
  for_each_type([&](const std::string& type, auto in, auto out) {
    recipes.add(ATTN_OP_PERMUTE, fmt::format("{} by {}{}", shape, order, type), [=](Builder& b) {
      b.params(params);
      in(b, shape);
      out(b, y);
      b.exact();
    });
  });
}

void add_permutes(Recipes& recipes) {
  add_permute(recipes, {}, {});
  add_permute(recipes, {7}, {0});
  add_permute(recipes, {5, 9}, {1, 0});
  add_permute(recipes, {0, 3}, {1, 0});
  add_permute(recipes, {2, 3, 4}, {2, 0, 1});
  add_permute(recipes, {2, 5, 3, 17}, {0, 2, 1, 3});
  add_permute(recipes, {2, 5, 3, 17}, {0, 2, 3, 1});
  add_permute(recipes, {2, 1, 3, 2, 1, 5}, {5, 3, 0, 2, 4, 1});
  if (!recipes.quick()) add_permute(recipes, {67, 129}, {1, 0});
  for (int i = 0; i < recipes.random_count(); ++i) {
    std::vector<std::int32_t> axes(static_cast<std::size_t>(1 + recipes.below(5)));
    std::iota(axes.begin(), axes.end(), 0);
    for (std::size_t k = axes.size(); k > 1; --k)
      std::swap(axes[k - 1], axes[static_cast<std::size_t>(recipes.below(static_cast<std::int64_t>(k)))]);
    add_permute(recipes, recipes.shape(static_cast<int>(axes.size()), 2000), axes);
  }
}

void add_slice(Recipes& recipes, const Shape& whole, const std::vector<std::int64_t>& start,
               const Shape& part) {
  attn_slice_params params{};
  std::copy(start.begin(), start.end(), params.start);
  const std::string name = fmt::format("{} from {} at {}", part, whole, Shape(std::span(start)));
  for_each_type([&](const std::string& type, auto in, auto out) {
    recipes.add(ATTN_OP_SLICE, name + type, [=](Builder& b) {
      b.params(params);
      in(b, whole);
      out(b, part);
      b.exact();
    });
  });
  recipes.add(ATTN_OP_SLICE_ADD, name, [=](Builder& b) { b.params(params).in(part).in_out(whole); });
}

void add_slices(Recipes& recipes) {
  add_slice(recipes, {}, {}, {});
  add_slice(recipes, {7}, {2}, {3});
  add_slice(recipes, {3, 5}, {1, 2}, {2, 3});
  add_slice(recipes, {3, 5}, {0, 0}, {3, 5});
  add_slice(recipes, {3, 5}, {3, 1}, {0, 2});
  add_slice(recipes, {2, 3, 4, 2, 1, 3}, {1, 0, 2, 0, 0, 1}, {1, 2, 2, 2, 1, 2});
  for (int i = 0; i < recipes.random_count(); ++i) {
    const Shape whole = recipes.shape(3, 3000);
    std::vector<std::int64_t> start;
    Shape part;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t count = 1 + recipes.below(whole[axis]);
      part = part.appended(count);
      start.push_back(recipes.below(whole[axis] - count + 1));
    }
    add_slice(recipes, whole, start, part);
  }
}

void add_concatenate(Recipes& recipes, const Shape& like, int axis, const std::vector<std::int64_t>& sizes) {
  const Shape y = like.with(axis, std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}));
  for_each_type([&](const std::string& type, auto in, auto out) {
    recipes.add(ATTN_OP_CONCATENATE,
                fmt::format("{} tensors into {} along {}{}", sizes.size(), y, axis, type), [=](Builder& b) {
                  b.params(attn_concatenate_params{0, axis});
                  for (const std::int64_t size : sizes) in(b, like.with(axis, size));
                  out(b, y);
                  b.exact();
                });
  });
}

void add_concatenates(Recipes& recipes) {
  add_concatenate(recipes, {4}, 0, {4});
  add_concatenate(recipes, {2, 3, 4}, 0, {1, 2, 0});
  add_concatenate(recipes, {2, 3, 4}, 1, {1, 0, 5});
  add_concatenate(recipes, {2, 3, 4}, 2, {7, 1, 2});
  add_concatenate(recipes, {2, 0, 4}, 2, {3, 3});
  add_concatenate(recipes, {3, 2}, 1, {1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 5, 4, 3, 2, 1});
  for (int i = 0; i < recipes.random_count(); ++i) {
    add_concatenate(recipes, recipes.shape(3, 300), static_cast<int>(recipes.below(3)),
                    {recipes.size(9), recipes.size(9)});
  }
}

}  // namespace

void add_movement_recipes(Recipes& recipes) {
  add_copy(recipes);
  add_permutes(recipes);
  add_slices(recipes);
  add_concatenates(recipes);
}

}  // namespace attn::conformance
