#include <cmath>

#include "attn/nn/parameter.h"
#include "support/error_of.h"
#include "support/golden_module.h"

namespace {

using namespace attn;
using namespace attn::test;

ParameterStore empty_store() {
  return {Device::open("reference"), DType::f64};
}

std::vector<double> first_values(const std::string& path, const Initialization& initialization,
                                 std::uint64_t seed, bool others = false) {
  ParameterStore store = empty_store();
  if (others) store.add("something.else", {3, 5}, Initialization::normal(1.0));
  const ParameterHandle parameter = store.add(path, {8, 16}, initialization);
  if (others) store.add("something.more", {7}, Initialization::normal(1.0));
  store.materialise(seed);
  return parameter->tensor.to_vector<double>();
}

}  // namespace

TEST_CASE("first values depend on the seed and the path, and on nothing else") {
  const Initialization normal = Initialization::normal(1.0);
  const auto values = first_values("encoder.weight", normal, 1);
  CHECK(first_values("encoder.weight", normal, 1, true) == values);
  CHECK(first_values("encoder.weight", normal, 2) != values);
  CHECK(first_values("decoder.weight", normal, 1) != values);
}

TEST_CASE("first values have the range or spread asked for") {
  const double limit = std::sqrt(6.0 / 24.0);
  double largest = 0.0;
  for (const double value : first_values("a", Initialization::xavier(16, 8), 1)) {
    CHECK(std::abs(value) <= limit);
    largest = std::max(largest, std::abs(value));
  }
  CHECK(largest > 0.9 * limit);
  double square = 0.0;
  for (const double value : first_values("a", Initialization::normal(0.5), 1)) square += value * value / 128;
  CHECK(std::sqrt(square) == Approx(0.5).epsilon(0.2));
  CHECK(first_values("a", Initialization::ones(), 1) == std::vector<double>(128, 1.0));
  CHECK(first_values("a", Initialization::zeros(), 1) == std::vector<double>(128, 0.0));
}

TEST_CASE("trainable parameters are parts of one flat tensor, in the order of declaration") {
  ParameterStore store = empty_store();
  const auto a = store.add("a", {3}, Initialization::ones());
  const auto kept = store.add("kept", {2}, Initialization::ones(), false);
  const auto b = store.add("b", {2, 2}, Initialization::ones());
  store.materialise(1);
  CHECK(store.count() == 7);
  a->tensor.assign<double>(std::vector<double>{1, 2, 3});
  b->tensor.assign<double>(std::vector<double>{4, 5, 6, 7});
  CHECK(store.part(store.flat(), *b).to_vector<double>() == std::vector<double>{4, 5, 6, 7});
  double sum = 0.0;
  for (const double value : store.flat().to_vector<double>()) sum += value;
  CHECK(sum == 28.0);  // the padding is zeros
  const auto error = error_of([&] { store.part(store.flat(), *kept); });
  REQUIRE(error);
  CHECK(contains(error->what(), "'kept'"));
}

TEST_CASE("gradients of all parameters stand in one flat tensor, zeros where the loss does not reach") {
  ParameterStore store = empty_store();
  const auto a = store.add("a", {3}, Initialization::ones());
  const auto b = store.add("b", {2}, Initialization::ones());
  const auto unused = store.add("unused", {2}, Initialization::ones());
  store.materialise(1);
  Tape tape;
  store.train_with(tape);
  for (int step = 0; step < 2; ++step) {  // the second backward overwrites
    tape.backward(
        ops::add(ops::sum(ops::affine(a->tensor, 3.0, 0.0)), ops::sum(ops::affine(b->tensor, 5.0, 0.0))));
    CHECK(a->gradient.to_vector<double>() == std::vector<double>(3, 3.0));
    CHECK(b->gradient.to_vector<double>() == std::vector<double>(2, 5.0));
    CHECK(unused->gradient.to_vector<double>() == std::vector<double>(2, 0.0));
    double sum = 0.0;
    for (const double value : store.flat_gradients().to_vector<double>()) sum += value;
    CHECK(sum == 19.0);
  }
  store.stop_training();
  CHECK(a->tensor.recorder() == nullptr);
  CHECK(ops::negate(a->tensor).recorder() == nullptr);
}

TEST_CASE("a path that is taken, and a parameter declared too late, are errors that name it") {
  ParameterStore store = empty_store();
  store.add("a.weight", {3}, Initialization::ones());
  const auto twice = error_of([&] { store.add("a.weight", {3}, Initialization::ones()); });
  REQUIRE(twice);
  CHECK(contains(twice->what(), "'a.weight'"));
  store.materialise(1);
  const auto late = error_of([&] { store.add("b.weight", {3}, Initialization::ones()); });
  REQUIRE(late);
  CHECK(contains(late->what(), "'b.weight'"));
}
