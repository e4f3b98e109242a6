// What an operation gives for one entry of a batch has the same bits whatever else is in the batch.
#include "operations.h"
#include "support/catch.h"

namespace attn::eigen::test {
namespace {

constexpr std::int64_t batch = 3;

std::vector<Operation> row_operations(std::int32_t real, std::int64_t rows, std::int64_t width) {
  std::vector<Operation> all;
  all.emplace_back("linear", ATTN_OP_LINEAR, real)
      .params(attn_linear_params{0, 0, ATTN_ACTIVATION_SIGMOID, 0})
      .in({batch, rows, width})
      .along(0)
      .in({37, width})
      .in({37})
      .out({batch, rows, 37})
      .along(0);
  all.emplace_back("linear gradient", ATTN_OP_LINEAR_GRADIENT, real)
      .params(attn_linear_params{0, 0, ATTN_ACTIVATION_NONE, 0})
      .in({batch, rows, width})
      .along(0)
      .in({37, width})
      .absent()
      .in({batch, rows, 37})
      .along(0)
      .out({batch, rows, width})
      .along(0)
      .absent()
      .absent();
  all.emplace_back("layer norm", ATTN_OP_LAYER_NORM, real)
      .params(attn_layer_norm_params{0, 0, 0, 0, 1e-5, 0})
      .in({batch, rows, width})
      .along(0)
      .in({width})
      .in({width})
      .in({batch, rows, width})
      .along(0)
      .absent()
      .out({batch, rows, width})
      .along(0)
      .out({batch, rows})
      .along(0)
      .out({batch, rows})
      .along(0)
      .out({batch, rows, width})
      .along(0);
  all.emplace_back("layer norm gradient", ATTN_OP_LAYER_NORM_GRADIENT, real)
      .params(attn_layer_norm_params{0, 0, 0, 0, 1e-5, 0})
      .in({batch, rows, width})
      .along(0)
      .in({width})
      .in({batch, rows})
      .along(0)
      .in({batch, rows}, 0.5, 2)
      .along(0)
      .in({batch, rows, width})
      .along(0)
      .absent()
      .absent()
      .out({batch, rows, width})
      .along(0)
      .absent()
      .absent()
      .absent();
  all.emplace_back("embed", ATTN_OP_EMBED, real)
      .params(attn_embed_params{0, 0, 0, -1, 2, 3.0, 0})
      .in({50, width})
      .ids({batch, rows}, 50)
      .along(0)
      .in({rows + 2, width})
      .absent()
      .out({batch, rows, width})
      .along(0);
  all.emplace_back("masked softmax", ATTN_OP_MASKED_SOFTMAX, real)
      .params(attn_masked_softmax_params{0, 0, ATTN_MASK_EXACT, 0, 0})
      .in({batch, rows, width})
      .along(0)
      .ids({batch}, static_cast<int>(width) + 2)
      .along(0)
      .out({batch, rows, width})
      .along(0);
  all.emplace_back("log sum exp", ATTN_OP_LOG_SUM_EXP, real)
      .in({batch, rows, width})
      .along(0)
      .out({batch, rows})
      .along(0);
  return all;
}

// Labels and losses have no axis for the rows of an entry.
std::vector<Operation> loss_operations(std::int32_t real, std::int64_t classes) {
  std::vector<Operation> all;
  const attn_cross_entropy_params params{0, 0, ATTN_SMOOTH_UNIFORM, -1, 0.1};
  all.emplace_back("cross entropy", ATTN_OP_CROSS_ENTROPY, real)
      .params(params)
      .in({batch, classes})
      .along(0)
      .ids({batch}, static_cast<int>(classes))
      .along(0)
      .out({batch})
      .along(0)
      .out({batch})
      .along(0);
  all.emplace_back("cross entropy gradient", ATTN_OP_CROSS_ENTROPY_GRADIENT, real)
      .params(params)
      .in({batch, classes})
      .along(0)
      .ids({batch}, static_cast<int>(classes))
      .along(0)
      .in({batch}, 6, 7)
      .along(0)
      .in({batch})
      .along(0)
      .out({batch, classes})
      .along(0);
  return all;
}

struct Attention {
  std::int64_t queries, keys;
  int causal;
};

std::vector<Operation> attention_operations(std::int32_t real, const Attention& shape) {
  const auto [queries, keys, causal] = shape;
  const attn_attention_params params{0, 0, 2, ATTN_MASK_EXACT, causal, 0, keys - queries, 0.25, 0};
  const int longest = static_cast<int>(keys) + 3;
  std::vector<Operation> all;
  all.emplace_back("attention", ATTN_OP_ATTENTION, real)
      .params(params)
      .in({batch, queries, 2 * 9})
      .along(0)
      .in({batch, keys, 2 * 9})
      .along(0)
      .in({batch, keys, 2 * 17})
      .along(0)
      .ids({batch}, longest)
      .along(0)
      .absent()
      .out({batch, queries, 2 * 17})
      .along(0)
      .out({batch, 2, queries})
      .along(0)
      .out({batch, 2, queries, keys})
      .along(0);
  all.emplace_back("attention gradient", ATTN_OP_ATTENTION_GRADIENT, real)
      .params(params)
      .in({batch, queries, 2 * 9})
      .along(0)
      .in({batch, keys, 2 * 9})
      .along(0)
      .in({batch, keys, 2 * 17})
      .along(0)
      .ids({batch}, longest)
      .along(0)
      .absent()
      .in({batch, queries, 2 * 17})
      .along(0)
      .in({batch, 2, queries}, 3, 4)
      .along(0)
      .in({batch, queries, 2 * 17})
      .along(0)
      .out({batch, queries, 2 * 9})
      .along(0)
      .out({batch, keys, 2 * 9})
      .along(0)
      .out({batch, keys, 2 * 17})
      .along(0);
  const attn_attention_params additive{0, 0, 1, ATTN_MASK_EXACT, causal, 0, keys - queries, 1, 0};
  all.emplace_back("additive attention", ATTN_OP_ADDITIVE_ATTENTION, real)
      .params(additive)
      .in({batch, queries, 21})
      .along(0)
      .in({batch, keys, 21})
      .along(0)
      .in({21})
      .in({batch, keys, 19})
      .along(0)
      .ids({batch}, longest)
      .along(0)
      .absent()
      .out({batch, queries, 19})
      .along(0)
      .out({batch, queries, keys})
      .along(0);
  all.emplace_back("additive attention gradient", ATTN_OP_ADDITIVE_ATTENTION_GRADIENT, real)
      .params(additive)
      .in({batch, queries, 21})
      .along(0)
      .in({batch, keys, 21})
      .along(0)
      .in({21})
      .in({batch, keys, 19})
      .along(0)
      .ids({batch}, longest)
      .along(0)
      .absent()
      .in({batch, queries, keys}, 0, 0.1)
      .along(0)
      .in({batch, queries, 19})
      .along(0)
      .out({batch, queries, 21})
      .along(0)
      .out({batch, keys, 21})
      .along(0)
      .absent()
      .out({batch, keys, 19})
      .along(0);
  return all;
}

Operation gru(std::int32_t real, std::int64_t steps, std::int64_t hidden) {
  Operation operation("gru sequence of " + std::to_string(steps) + " steps", ATTN_OP_GRU_SEQUENCE, real);
  operation.in({steps, batch, 3 * hidden})
      .along(1)
      .in({batch, hidden})
      .along(0)
      .in({3 * hidden, hidden})
      .in({3 * hidden})
      .out({steps, batch, hidden})
      .along(1)
      .out({steps, batch, 4 * hidden})
      .along(1);
  return operation;
}

void check(const Operation& operation) {
  INFO(operation.name());
  const auto together = operation.run(2);
  for (std::int64_t index = 0; index < batch; ++index) {
    INFO("entry " << index);
    CHECK((operation.entry(index).run(2) == operation.entry_of(together, index)));
  }
}

void check(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) check(operation);
}

}  // namespace

TEST_CASE("a row of a layer does not show how many rows there are") {
  for (const std::int32_t real : {ATTN_F32, ATTN_F64}) {
    for (const std::int64_t rows : {1, 11, 70}) {
      for (const std::int64_t width : {5, 64, 600}) {
        INFO(rows << " rows of " << width);
        check(row_operations(real, rows, width));
      }
    }
  }
}

TEST_CASE("the loss of a row does not show how many rows there are") {
  for (const std::int32_t real : {ATTN_F32, ATTN_F64}) {
    for (const std::int64_t classes : {3, 130, 40000}) check(loss_operations(real, classes));
  }
}

TEST_CASE("attention in an entry does not show how many entries there are") {
  for (const std::int32_t real : {ATTN_F32, ATTN_F64}) {
    for (const Attention& shape : {Attention{1, 10, 0}, Attention{10, 10, 1}, Attention{1, 300, 1},
                                   Attention{70, 250, 1}, Attention{600, 40, 0}, Attention{3, 2100, 0}}) {
      INFO(shape.queries << " queries, " << shape.keys << " keys");
      check(attention_operations(real, shape));
    }
  }
}

TEST_CASE("a recurrent sequence does not show how many there are") {
  for (const std::int32_t real : {ATTN_F32, ATTN_F64}) {
    for (const std::int64_t steps : {1, 2, 4, 9}) {
      for (const std::int64_t hidden : {1, 5, 32, 43}) {
        INFO("hidden " << hidden);
        check(gru(real, steps, hidden));
      }
    }
  }
}

}  // namespace attn::eigen::test
