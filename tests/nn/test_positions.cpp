#include <cmath>

#include "attn/nn/positions.h"
#include "support/error_of.h"
#include "support/golden_module.h"

namespace {

using namespace attn;
using namespace attn::test;

Tensor ids_on(const Setting& setting, const std::vector<std::int32_t>& ids, const Shape& shape) {
  return Tensor::from<std::int32_t>(setting.device, ids, shape);
}

}  // namespace

TEST_CASE("sinusoidal positions reproduce the reference, also for odd widths and width 1") {
  for (const std::string name :
       {"positional_encoding_60x32", "positional_encoding_5x7", "positional_encoding_3x1"}) {
    INFO(name);
    const GoldenCase golden(name);
    const auto shape = golden.shape("P");
    CHECK(relative_difference(sinusoidal_positions(shape[0], shape[1]), golden.values("P")) < 1e-12);
  }
}

TEST_CASE("moving on by a distance is the same rotation of sine and cosine at every position") {
  const GoldenCase golden("relative_position_rotation");
  const auto positions = golden.integers("pos"), distances = golden.integers("delta");
  const auto rotation = golden.values("rotation"), shifted = golden.values("p_shift");
  constexpr std::size_t width = 32, pairs = width / 2;
  const auto table = sinusoidal_positions(60, width);
  std::vector<double> moved, rotated;
  for (std::size_t a = 0; a < distances.size(); ++a) {
    for (const std::int32_t position : positions) {
      const double* from = table.data() + static_cast<std::size_t>(position) * width;
      const double* to = table.data() + static_cast<std::size_t>(position + distances[a]) * width;
      moved.insert(moved.end(), to, to + width);
      for (std::size_t j = 0; j < pairs; ++j) {
        const double* r = rotation.data() + (a * pairs + j) * 4;
        rotated.push_back(r[0] * from[2 * j] + r[1] * from[2 * j + 1]);
        rotated.push_back(r[2] * from[2 * j] + r[3] * from[2 * j + 1]);
      }
    }
  }
  CHECK(relative_difference(moved, shifted) < 1e-12);
  CHECK(relative_difference(moved, rotated) < 1e-12);
}

TEST_CASE("an embedding is the scaled row of the token plus the position's encoding") {
  for (const Setting& setting : settings()) {
    GoldenModule run("embedding_repeated", setting);
    const TokenEmbedding embedding(run.scope(), 6, 4, {2.0, PositionKind::sinusoidal, 0, 0.5, {}});
    run.start();
    run.load("weight", "W");
    Context context;
    const std::vector<std::int32_t> ids = run.golden().integers("ids");
    for (const std::int64_t offset : {0, 3, 200}) {  // the table of positions grows
      const Tensor output = embedding(ids_on(setting, ids, {2, 3}), context, offset);
      const auto positions = sinusoidal_positions(offset + 3, 4), rows = run.golden().values("y");
      std::vector<double> expected;
      for (std::size_t i = 0; i < rows.size(); ++i)
        expected.push_back(2.0 * rows[i] + positions[static_cast<std::size_t>(offset) * 4 + i % 12]);
      run.check(output.to_vector<double>(), expected, "embedding");
    }
  }
}

TEST_CASE("gradients of repeated tokens add up in the embedding table") {
  for (const Setting& setting : settings()) {
    GoldenModule run("embedding_repeated", setting);
    const TokenEmbedding embedding(run.scope(), 6, 4, {});
    run.start();
    run.load("weight", "W");
    Context context;
    const Tensor output = embedding(run.integers("ids"), context);
    run.check(output, "y");
    run.backward(output, "cot_y");
    run.check_gradient_of("weight", "grad_W");
  }
}

TEST_CASE("learned positions are added and trained") {
  for (const Setting& setting : settings()) {
    GoldenModule run("embedding_repeated", setting);
    const TokenEmbedding embedding(run.scope(), 6, 4, {1.0, PositionKind::learned, 5, 0.0, {}});
    run.start();
    run.load("weight", "W");
    REQUIRE(embedding.learned_positions() != nullptr);
    const auto table = embedding.learned_positions()->tensor.to_vector<double>();
    Context context;
    const Tensor output = embedding(run.integers("ids"), context, 2);
    auto expected = run.golden().values("y");
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += table[2 * 4 + i % 12];
    run.check(output.to_vector<double>(), expected, "output");
    run.backward(output, "cot_y");
    run.check_gradient_of("weight", "grad_W");
    std::vector<double> gradient(5 * 4, 0.0);
    const auto cotangent = run.golden().values("cot_y");
    for (std::size_t i = 0; i < cotangent.size(); ++i) gradient[2 * 4 + i % 12] += cotangent[i];
    run.check(run.gradient_of("positions"), gradient, "positions");
  }
}

TEST_CASE("a position beyond the learned table is a usage error that names both lengths and the remedy") {
  const Setting setting = settings().front();
  GoldenModule run("embedding_repeated", setting);
  const TokenEmbedding embedding(run.scope(), 6, 4, {1.0, PositionKind::learned, 4, 0.0, {}});
  run.start();
  Context context;
  const auto error = error_of([&] { embedding(run.integers("ids"), context, 2); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::usage);
  CHECK(contains(error->what(), "5 tokens"));
  CHECK(contains(error->what(), "4 positions"));
  CHECK(contains(error->what(), "model.max_length"));
}

TEST_CASE("two embeddings can share one table, whose gradient is the sum of both") {
  for (const Setting& setting : settings()) {
    GoldenModule run("embedding_repeated", setting);
    const TokenEmbedding first(run.scope() / "first", 6, 4, {});
    const TokenEmbedding second(run.scope() / "second", first, {});
    run.start();
    run.load("first.weight", "W");
    CHECK(run.store().count() == 24);
    CHECK(second.table_parameter() == first.table_parameter());
    Context context;
    const Tensor ids = run.integers("ids");
    run.backward(ops::add(first(ids, context), second(ids, context)), "cot_y");
    auto expected = run.golden().values("grad_W");
    for (double& gradient : expected) gradient *= 2.0;
    run.check(run.gradient_of("first.weight"), expected, "first.weight");
  }
}
