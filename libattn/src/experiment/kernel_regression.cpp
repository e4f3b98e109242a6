#include "attn/experiment/kernel_regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/runtime/random.h"
#include "attn/training/optimizer.h"

namespace attn {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

double function_value(double x) {
  return 2.0 * std::sin(x) + std::pow(x, 0.8);
}

/// The points on a device.
class Pooling {
 public:
  Pooling(const RegressionPoints& points, std::shared_ptr<Device> device, DType type)
      : points_(points), device_(std::move(device)), type_(type) {}

  KernelRegression model(Kernel kernel, double w) const { return {device_, type_, kernel, w}; }
  RegressionCurve curve(const KernelRegression& model) const;
  /// Learns w of `model`, one step of gradient descent an epoch.
  std::vector<RegressionEpoch> train(KernelRegression& model, const KernelRegressionTraining& config) const;

 private:
  Tensor numbers(const std::vector<double>& values, const Shape& shape) const {
    return Tensor::from<double>(device_, values, shape, type_);
  }
  Tensor numbers(const std::vector<double>& values) const {
    return numbers(values, Shape{static_cast<std::int64_t>(values.size())});
  }

  const RegressionPoints& points_;
  std::shared_ptr<Device> device_;
  DType type_;
};

// Where no training point is within the kernel, the mean of none is not a number.
void find_undefined(RegressionCurve& curve, const std::vector<double>& truth) {
  const std::size_t keys = curve.weights.size() / truth.size();
  double squares = 0.0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const auto row = curve.weights.begin() + static_cast<std::ptrdiff_t>(i * keys);
    if (std::all_of(row, row + static_cast<std::ptrdiff_t>(keys), [](double w) { return w == 0.0; })) {
      curve.predictions[i] = not_a_number;
      ++curve.undefined;
    } else {
      squares += (curve.predictions[i] - truth[i]) * (curve.predictions[i] - truth[i]);
    }
  }
  const auto defined = static_cast<double>(truth.size()) - static_cast<double>(curve.undefined);
  curve.mean_squared_error = defined > 0 ? squares / defined : not_a_number;
}

RegressionCurve Pooling::curve(const KernelRegression& model) const {
  const auto pooled = model(numbers(points_.x_test), numbers(points_.x_train), numbers(points_.y_train));
  RegressionCurve curve;
  curve.kernel = model.kernel();
  curve.width = 1.0 / std::abs(model.w());
  curve.predictions = pooled.predictions.to_vector<double>();
  curve.weights = pooled.weights.to_vector<double>();
  find_undefined(curve, points_.truth);
  return curve;
}

std::vector<RegressionEpoch> Pooling::train(KernelRegression& model,
                                            const KernelRegressionTraining& config) const {
  const auto count = static_cast<std::int64_t>(points_.x_train.size());
  const Tensor queries = numbers(points_.x_train), targets = numbers(points_.y_train),
               keys = numbers(leave_one_out(points_.x_train), {count, count - 1}),
               values = numbers(leave_one_out(points_.y_train), {count, count - 1});
  Tape tape;
  model.parameters().train_with(tape);
  Optimizer optimizer(model.parameters(), {.kind = OptimizerConfig::Kind::sgd});
  std::vector<RegressionEpoch> epochs;
  for (std::int64_t i = 0; i < config.epochs; ++i) {
    RegressionEpoch epoch;
    const Tensor loss = half_squared_error(model(queries, keys, values).predictions, targets);
    epoch.loss = loss.item();
    tape.backward(loss);
    epoch.gradient = model.w_parameter()->gradient.item();
    optimizer.step(config.learning_rate, 0.0);
    epoch.w = model.w();
    epochs.push_back(epoch);
    tape.clear();
  }
  model.parameters().stop_training();
  return epochs;
}

}  // namespace

std::string RegressionCurve::name() const {
  if (kernel == Kernel::constant) return "average pooling";
  return fmt::format("{}, {}width {:.4g}", name_of(kernel), learned ? "learned " : "", width);
}

RegressionPoints regression_points(const KernelRegressionData& data, std::uint64_t seed) {
  RandomSequence positions(seed, "kernel regression: x"), noise(seed, "kernel regression: noise");
  RegressionPoints points;
  for (std::int64_t i = 0; i < data.points; ++i)
    points.x_train.push_back(data.minimum + (data.maximum - data.minimum) * positions.uniform());
  std::sort(points.x_train.begin(), points.x_train.end());
  for (const double x : points.x_train)
    points.y_train.push_back(function_value(x) + data.noise * noise.normal());
  // Counted instead of added up, so that rounding neither adds nor drops a last point.
  const auto tests =
      static_cast<std::int64_t>(std::ceil((data.maximum - data.minimum) / data.test_step - 1e-9));
  for (std::int64_t i = 0; i < tests; ++i) {
    points.x_test.push_back(data.minimum + static_cast<double>(i) * data.test_step);
    points.truth.push_back(function_value(points.x_test.back()));
  }
  return points;
}

RegressionResult compute_regression(const KernelRegressionConfig& config,
                                    const std::shared_ptr<Device>& device) {
  RegressionResult result;
  result.points = regression_points(config.data, config.seed);
  const Pooling pooling(result.points, device, config.backend.dtype);
  for (const Kernel kernel : config.kernels) {
    for (const double width : config.widths) {
      result.curves.push_back(pooling.curve(pooling.model(kernel, 1.0 / width)));
      if (kernel == Kernel::constant) break;  // all widths are the same
    }
  }
  if (!config.learn_width) return result;
  result.first_w =
      config.first_w ? *config.first_w : RandomSequence(config.seed, "kernel regression: w").uniform();
  KernelRegression learned = pooling.model(Kernel::gaussian, result.first_w);
  result.epochs = pooling.train(learned, config.training);
  result.curves.push_back(pooling.curve(learned));
  result.curves.back().learned = true;
  return result;
}

}  // namespace attn
