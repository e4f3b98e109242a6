// Gated recurrent units and embeddings.
#include "case.h"

namespace attn::conformance {
namespace {

void add_gru(Recipes& recipes, std::int64_t steps, std::int64_t batch, std::int64_t hidden) {
  const Shape gates_in{steps, batch, 3 * hidden}, state{batch, hidden}, weight{3 * hidden, hidden},
      states{steps, batch, hidden}, gates{steps, batch, 4 * hidden};
  for (const bool bias : {true, false}) {
    const std::string name =
        fmt::format("{} steps of {} with {} units{}", steps, batch, hidden, bias ? "" : ", no bias");
    const auto forward = [=](Builder& b) {
      b.in(gates_in).in(state).in(weight);
      if (bias)
        b.in({3 * hidden});
      else
        b.absent();
      b.out(states).out(gates);
    };
    recipes.add(ATTN_OP_GRU_SEQUENCE, name, [=](Builder& b) {
      forward(b);
      b.magnitude(2);
    });
    for (const auto& [wanted, accumulate] : {std::pair{15u, 0u}, {15u, 15u}, {1u, 0u}, {14u, 4u}}) {
      if (!bias && wanted != 15u) continue;
      recipes.add(ATTN_OP_GRU_SEQUENCE_GRADIENT,
                  fmt::format("{}, wanted {:#b}, added {:#b}", name, wanted, accumulate),
                  [=, w = wanted, a = accumulate](Builder& b) {
                    Builder before = b.forward(ATTN_OP_GRU_SEQUENCE);
                    forward(before);
                    const auto saved = before.outputs();
                    b.params(attn_gradient_params{});
                    b.given(before.inputs()[1]).given(before.inputs()[2]).given(saved[0]).given(saved[1]);
                    b.in(states).gradient(gates_in, w, a).gradient(state, w, a).gradient(weight, w, a);
                    b.gradient({3 * hidden}, w, a).magnitude(10);
                  });
    }
  }
}

struct Embedding {
  std::int64_t rows, width;
  Shape ids;
  std::int64_t positions = 0, offset = 0;  // positions 0: none
  double rate = 0;
  std::int32_t ignored = -1;

  attn_embed_params params() const { return {0, 0, 6, ignored, offset, 1.5, rate}; }
};

void add_embedding(Recipes& recipes, const Embedding& e) {
  const Shape y = e.ids.appended(e.width), table{e.rows, e.width}, positions{e.positions, e.width};
  const std::string name = fmt::format("{} of {}, {} positions from {}, dropout {}, ignored {}", e.ids, table,
                                       e.positions, e.offset, e.rate, e.ignored);
  recipes.add(ATTN_OP_EMBED, name, [=](Builder& b) {
    b.params(e.params()).in(table).integers(e.ids, 0, e.rows);
    if (e.positions > 0)
      b.in(positions);
    else
      b.absent();
    b.random(e.rate).out(y);
  });
  for (const auto& [wanted, accumulate] : {std::pair{3u, 0u}, {3u, 3u}, {1u, 0u}, {2u, 0u}}) {
    const std::uint32_t w = e.positions > 0 ? wanted : wanted & 1u;
    if (w == 0) continue;
    recipes.add(ATTN_OP_EMBED_GRADIENT, fmt::format("{}, wanted {:#b}, added {:#b}", name, w, accumulate),
                [=, a = accumulate](Builder& b) {
                  b.params(e.params()).integers(e.ids, 0, e.rows).in(y).random(e.rate);
                  b.gradient(table, w, a).gradient(positions, w, a).magnitude(3);
                });
  }
}

}  // namespace

void add_sequence_recipes(Recipes& recipes) {
  add_gru(recipes, 4, 2, 3);
  add_gru(recipes, 1, 3, 2);
  add_gru(recipes, 2, 1, 1);
  add_gru(recipes, 3, 0, 5);
  add_gru(recipes, 0, 2, 5);
  add_gru(recipes, 5, 3, 17);
  if (!recipes.quick()) {
    add_gru(recipes, 40, 2, 9);
    add_gru(recipes, 3, 5, 65);
  }
  for (int i = 0; i < recipes.random_count() / 2; ++i)
    add_gru(recipes, recipes.size(9), recipes.size(9), recipes.size(33));

  for (const double rate : {0.0, 0.3}) {
    for (const std::int32_t ignored : {-1, 1}) {
      add_embedding(recipes, {6, 4, {2, 3}, 0, 0, rate, ignored});
      add_embedding(recipes, {6, 5, {2, 3}, 3, 0, rate, ignored});
      add_embedding(recipes, {3, 17, {4, 9}, 13, 4, rate, ignored});
      add_embedding(recipes, {6, 3, {6}, 6, 0, rate, ignored});
      add_embedding(recipes, {6, 3, {2, 1, 3}, 4, 1, rate, ignored});
      add_embedding(recipes, {6, 3, {0, 3}, 4, 1, rate, ignored});
      add_embedding(recipes, {129, 33, {5, 17}, 20, 3, rate, ignored});
    }
  }
  for (int i = 0; i < recipes.random_count(); ++i) {
    const Shape ids = recipes.shape(2, 100);
    add_embedding(recipes,
                  {2 + recipes.size(65), recipes.size(33), ids, ids.back() + 2, recipes.below(3), 0.1, 0});
  }
}

}  // namespace attn::conformance
