// Attention pooling through its model class, against the float64 reference values and closed forms.
#include <cmath>
#include <limits>

#include "attn/models/kernel_regression.h"
#include "attn/training/optimizer.h"
#include "support/golden_module.h"

namespace {

using namespace attn;
using namespace attn::test;

Tensor numbers(const Setting& setting, const std::vector<double>& values, const Shape& shape) {
  return Tensor::from<double>(setting.device, values, shape, setting.type);
}

Tensor vector_of(const Setting& setting, const std::vector<double>& values) {
  return numbers(setting, values, Shape{static_cast<std::int64_t>(values.size())});
}

/// Training points of a case, each with all others as its keys.
struct LeftOut {
  LeftOut(const Setting& setting, const GoldenCase& golden)
      : points(static_cast<std::int64_t>(golden.values("x_train").size())),
        x(vector_of(setting, golden.values("x_train"))),
        y(vector_of(setting, golden.values("y_train"))),
        keys(numbers(setting, leave_one_out(golden.values("x_train")), {points, points - 1})),
        values(numbers(setting, leave_one_out(golden.values("y_train")), {points, points - 1})) {}
  std::int64_t points;
  Tensor x, y, keys, values;
};

std::vector<double> row_of(const std::vector<double>& all, std::size_t row, std::size_t width) {
  const auto start = all.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {start, start + static_cast<std::ptrdiff_t>(width)};
}

/// Weights of the points 0, 1 and 2.5 for the query 0.
std::vector<double> weights_at_zero(const Setting& setting, Kernel kernel, double width) {
  const KernelRegression model(setting.device, setting.type, kernel, 1.0 / width);
  const auto pooled =
      model(vector_of(setting, {0.0}), vector_of(setting, {0.0, 1.0, 2.5}), vector_of(setting, {1, 2, 3}));
  return pooled.weights.to_vector<double>();
}

TEST_CASE("Gaussian attention pooling gives the reference's weights and predictions") {
  const GoldenCase golden("nadaraya_watson");
  for (const Setting& setting : settings()) {
    INFO(setting.name);
    const KernelRegression model(setting.device, setting.type, Kernel::gaussian, 1.0);
    const auto pooled =
        model(vector_of(setting, golden.values("queries")), vector_of(setting, golden.values("x_train")),
              vector_of(setting, golden.values("y_train")));
    CHECK(relative_difference(pooled.weights.to_vector<double>(), golden.values("weights")) <
          setting.tolerance);
    CHECK(relative_difference(pooled.predictions.to_vector<double>(), golden.values("pred")) <
          setting.tolerance);
  }
}

TEST_CASE("the constant kernel is average pooling, whatever its width") {
  const GoldenCase golden("nadaraya_watson");
  for (const Setting& setting : settings()) {
    INFO(setting.name);
    const KernelRegression model(setting.device, setting.type, Kernel::constant, 3.0);
    const auto pooled =
        model(vector_of(setting, golden.values("queries")), vector_of(setting, golden.values("x_train")),
              vector_of(setting, golden.values("y_train")));
    const std::vector<double> expected(golden.values("queries").size(), golden.scalar("average"));
    CHECK(relative_difference(pooled.predictions.to_vector<double>(), expected) < setting.tolerance);
  }
}

TEST_CASE("leaving a point out gives the reference's predictions, losses and gradients") {
  const GoldenCase golden("nadaraya_watson_param");
  const std::vector<double> ws = golden.values("ws");
  for (const Setting& setting : settings()) {
    INFO(setting.name);
    const LeftOut data(setting, golden);
    for (std::size_t i = 0; i < ws.size(); ++i) {
      INFO("w = " << ws[i]);
      KernelRegression model(setting.device, setting.type, Kernel::gaussian, ws[i]);
      Tape tape;
      model.parameters().train_with(tape);
      const auto pooled = model(data.x, data.keys, data.values);
      const Tensor loss = half_squared_error(pooled.predictions, data.y);
      tape.backward(loss);
      const auto width = static_cast<std::size_t>(data.points);
      CHECK(relative_difference(pooled.predictions.to_vector<double>(),
                                row_of(golden.values("loo_pred"), i, width)) < setting.tolerance);
      CHECK(relative_difference({loss.item()}, {golden.values("loss")[i]}) < setting.tolerance);
      CHECK(relative_difference({model.w_parameter()->gradient.item()}, {golden.values("grad_w")[i]}) <
            setting.tolerance);
      model.parameters().stop_training();
    }
  }
}

TEST_CASE("the optimizer changes the width as five steps of the reference do") {
  const GoldenCase golden("nadaraya_watson_param");
  for (const Setting& setting : settings()) {
    INFO(setting.name);
    const LeftOut data(setting, golden);
    KernelRegression model(setting.device, setting.type, Kernel::gaussian, 0.25);
    Tape tape;
    model.parameters().train_with(tape);
    Optimizer optimizer(model.parameters(), {.kind = OptimizerConfig::Kind::sgd});
    std::vector<double> ws, losses;
    for (std::size_t step = 0; step < golden.values("sgd_w").size(); ++step) {
      const Tensor loss = half_squared_error(model(data.x, data.keys, data.values).predictions, data.y);
      losses.push_back(loss.item());
      tape.backward(loss);
      optimizer.step(0.5, 0.0);
      ws.push_back(model.w());
      tape.clear();
    }
    CHECK(relative_difference(losses, golden.values("sgd_loss")) < setting.tolerance);
    CHECK(relative_difference(ws, golden.values("sgd_w")) < setting.tolerance);
  }
}

TEST_CASE("every kernel has the weights of its formula") {
  for (const Setting& setting : settings()) {
    INFO(setting.name);
    CHECK(relative_difference(weights_at_zero(setting, Kernel::boxcar, 2.0), {0.5, 0.5, 0.0}) <
          setting.tolerance);
    // A distance of exactly one width is outside.
    CHECK(relative_difference(weights_at_zero(setting, Kernel::boxcar, 1.0), {1.0, 0.0, 0.0}) <
          setting.tolerance);
    // 1 - 0, 1 - 1/4, 1 - 2.5/4
    const double sum = 1.0 + 0.75 + 0.375;
    CHECK(relative_difference(weights_at_zero(setting, Kernel::epanechikov, 4.0),
                              {1.0 / sum, 0.75 / sum, 0.375 / sum}) < setting.tolerance);
    const double near = std::exp(-0.125), far = std::exp(-0.78125);
    CHECK(relative_difference(weights_at_zero(setting, Kernel::gaussian, 2.0),
                              {1.0 / (1.0 + near + far), near / (1.0 + near + far),
                               far / (1.0 + near + far)}) < setting.tolerance);
  }
}

TEST_CASE(
    "a query that no key is near has weights of 0 with a bounded kernel, and its nearest key with a "
    "Gaussian") {
  for (const Setting& setting : settings()) {
    INFO(setting.name);
    const Tensor query = vector_of(setting, {100.0}), keys = vector_of(setting, {0.0, 1.0, 2.0}),
                 values = vector_of(setting, {5.0, 6.0, 7.0});
    for (const Kernel kernel : {Kernel::boxcar, Kernel::epanechikov}) {
      const auto pooled = KernelRegression(setting.device, setting.type, kernel, 1.0)(query, keys, values);
      CHECK(pooled.weights.to_vector<double>() == std::vector<double>{0.0, 0.0, 0.0});
      CHECK(pooled.predictions.item() == 0.0);
    }
    const auto pooled =
        KernelRegression(setting.device, setting.type, Kernel::gaussian, 10.0)(query, keys, values);
    CHECK(pooled.predictions.item() == Approx(7.0).margin(1e-6));
  }
}

TEST_CASE("leave_one_out drops each value in its own row") {
  CHECK(leave_one_out({1.0, 2.0, 3.0}) == std::vector<double>{2.0, 3.0, 1.0, 3.0, 1.0, 2.0});
  CHECK(leave_one_out({1.0}).empty());
}

}  // namespace
