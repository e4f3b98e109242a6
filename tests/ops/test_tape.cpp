#include <array>

#include "attn/autograd/tape.h"
#include "attn/ops/ops.h"
#include "scenario.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

Tensor vector_of(const std::shared_ptr<Device>& device, const std::vector<double>& values) {
  return Tensor::from<double>(device, values, {static_cast<std::int64_t>(values.size())});
}

std::vector<double> values_of(const Tensor& tensor) {
  return tensor.to_vector<double>();
}

}  // namespace

TEST_CASE("a leaf that the loss does not depend on has a gradient of zeros") {
  const auto device = reference_device();
  Tape tape;
  const Tensor x = tape.watch(vector_of(device, {1, 2})), unused = tape.watch(vector_of(device, {3, 4, 5}));
  const Tensor given = vector_of(device, {7, 7});
  const Tensor unused_too = tape.watch(vector_of(device, {1, 1}), given);
  tape.backward(ops::sum(ops::square(x)));
  CHECK(values_of(tape.gradient_of(x)) == std::vector<double>{2, 4});
  CHECK(values_of(tape.gradient_of(unused)) == std::vector<double>{0, 0, 0});
  CHECK(values_of(given) == std::vector<double>{0, 0});
  CHECK(values_of(tape.gradient_of(unused_too)) == std::vector<double>{0, 0});
}

TEST_CASE("gradients of a step do not reach the next one") {
  const auto device = reference_device();
  Tape tape;
  const Tensor given = vector_of(device, {0, 0});
  const Tensor x = tape.watch(vector_of(device, {1, 2}), given), y = tape.watch(vector_of(device, {3, 4}));
  for (int step = 0; step < 3; ++step) {
    tape.backward(ops::sum(ops::multiply(x, y)));
    CHECK(values_of(given) == std::vector<double>{3, 4});
    CHECK(values_of(tape.gradient_of(y)) == std::vector<double>{1, 2});
    CHECK(tape.size() == 0);
  }
  tape.backward(ops::sum(ops::square(x)));
  CHECK(values_of(given) == std::vector<double>{2, 4});
  CHECK(values_of(tape.gradient_of(y)) == std::vector<double>{0, 0});
}

TEST_CASE("leaves see what an optimizer writes into their elements") {
  const auto device = reference_device();
  Tape tape;
  const Tensor parameter = vector_of(device, {1, 2});
  const Tensor x = tape.watch(parameter);
  tape.backward(ops::sum(ops::square(x)));
  ops::sgd(parameter, {}, tape.gradient_of(x), vector_of(device, {0.5, 1, 1, 1}), 0.0, 0.0);
  CHECK(values_of(x) == std::vector<double>{0, 0});
  tape.backward(ops::sum(ops::square(x)));
  CHECK(values_of(tape.gradient_of(x)) == std::vector<double>{0, 0});
}

TEST_CASE("a second step on the tape allocates nothing new") {
  const auto device = reference_device();
  const Scenario scenario = layer_scenarios().back();
  Tape tape;
  std::vector<Tensor> inputs;
  const Values values = input_values(scenario);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Tensor value = Tensor::from<double>(device, values[i], scenario.inputs[i]);
    inputs.push_back(tape.watch(value, ops::full(value, value.shape(), 0.0)));
  }
  const auto step = [&] { tape.backward(ops::sum(ops::tanh(scenario.run(inputs)[0]))); };
  step();
  step();
  const auto before = device->memory();
  for (int i = 0; i < 5; ++i) step();
  CHECK(device->memory().allocations == before.allocations);
  CHECK(device->memory().in_use == before.in_use);
}

TEST_CASE("backward of several values takes a cotangent, and does not change it") {
  const auto device = reference_device();
  Tape tape;
  const Tensor x = tape.watch(vector_of(device, {1, 2, 3}));
  const Tensor cotangent = vector_of(device, {1, 10, 100});
  tape.backward(ops::add(ops::slice_axis(x, 0, 0, 3), x), cotangent);
  CHECK(values_of(tape.gradient_of(x)) == std::vector<double>{2, 20, 200});
  CHECK(values_of(cotangent) == std::vector<double>{1, 10, 100});
}

TEST_CASE("backward of a leaf itself is its cotangent") {
  const auto device = reference_device();
  Tape tape;
  const Tensor x = tape.watch(vector_of(device, {2}));
  tape.backward(x);
  CHECK(values_of(tape.gradient_of(x)) == std::vector<double>{1});
}

TEST_CASE("a detached tensor passes no gradient") {
  const auto device = reference_device();
  Tape tape;
  const Tensor x = tape.watch(vector_of(device, {2, 3}));
  tape.backward(ops::sum(ops::multiply(x, ops::square(x).detached())));
  CHECK(values_of(tape.gradient_of(x)) == std::vector<double>{4, 9});
}

TEST_CASE("what was computed before clear() is a constant afterwards") {
  const auto device = reference_device();
  Tape tape;
  const Tensor x = tape.watch(vector_of(device, {2, 3}));
  const Tensor carried = ops::square(x), other = ops::exp(carried);
  tape.backward(ops::sum(carried));
  const Tensor y = ops::square(x);  // takes the place that `carried` had
  tape.backward(ops::sum(ops::add(ops::multiply(carried, x), ops::affine(y, 0.5, 0.0))));
  CHECK(values_of(tape.gradient_of(x)) == std::vector<double>{4 + 2, 9 + 3});
  tape.backward(ops::sum(ops::add(ops::affine(other, 0.0, 0.0), x)));
  CHECK(values_of(tape.gradient_of(x)) == std::vector<double>{1, 1});
}

TEST_CASE("the tape lists the operations that were recorded") {
  const auto device = reference_device();
  Tape tape;
  const Tensor x = tape.watch(vector_of(device, {2, 3}));
  const Tensor constant = vector_of(device, {1, 1});
  (void)ops::add(constant, constant);
  (void)ops::add(ops::tanh(x), constant);
  (void)ops::greater(x, constant);
  REQUIRE(tape.size() == 2);
  CHECK(tape.nodes()[0].call.operation->kind == ATTN_OP_UNARY);
  CHECK(tape.nodes()[1].call.operation->kind == ATTN_OP_BINARY);
  tape.clear();
  CHECK(tape.size() == 0);
}

TEST_CASE("a wrong use of the tape is an error that says what was wrong") {
  const auto device = reference_device();
  Tape tape, other;
  const auto message = [](auto action) {
    const auto error = error_of(action);
    REQUIRE(error.has_value());
    CHECK(error->code() == ExitCode::internal);
    return std::string(error->what());
  };
  const Tensor x = tape.watch(vector_of(device, {2, 3}));
  CHECK(contains(message([&] { tape.watch(vector_of(device, {1, 2}), vector_of(device, {1})); }), "[1]"));
  CHECK(contains(message([&] { tape.backward(ops::square(x)); }), "[2]"));
  tape.clear();
  CHECK(contains(message([&] { tape.backward(vector_of(device, {1})); }), "did not record"));
  CHECK(contains(message([&] { other.backward(ops::sum(x)); }), "did not record"));
  tape.clear();
  CHECK(contains(message([&] { tape.backward(ops::square(x), vector_of(device, {1, 2, 3})); }), "[3]"));
  tape.clear();
  (void)ops::square(x);
  CHECK(contains(message([&] { tape.watch(vector_of(device, {1})); }), "leaf"));
  tape.clear();
  const Tensor stale = ops::sum(x);
  tape.clear();
  CHECK(contains(message([&] { tape.backward(stale); }), "did not record"));
}
