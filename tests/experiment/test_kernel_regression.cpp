// Attention pooling as an experiment: its points, its curves, learning, and what it writes.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "attn/experiment/kernel_regression.h"
#include "attn/io/atomic_file.h"
#include "attn/io/hdf5.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/golden_module.h"
#include "support/text_files.h"

namespace {

using namespace attn;
using namespace attn::test;

KernelRegressionConfig experiment(const std::string& backend = "reference", DType type = DType::f64) {
  KernelRegressionConfig config;
  config.backend.name = backend;
  config.backend.dtype = type;
  config.backend.threads = 1;
  return config;
}

RegressionResult result_of(const KernelRegressionConfig& config) {
  return compute_regression(config, open_device(config.backend));
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The loss in plain numbers: half the squared error of every point predicted from all others.
double plain_loss(const RegressionPoints& points, double w) {
  const std::vector<double>&x = points.x_train, &y = points.y_train;
  double loss = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double sum = 0.0, weighted = 0.0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (j == i) continue;
      const double weight = std::exp(-0.5 * (x[i] - x[j]) * (x[i] - x[j]) * w * w);
      sum += weight;
      weighted += weight * y[j];
    }
    loss += 0.5 * (weighted / sum - y[i]) * (weighted / sum - y[i]);
  }
  return loss;
}

std::string refusal(const std::string& yaml) {
  KernelRegressionConfig config;
  config::Schema schema;
  describe_kernel_regression(schema, config);
  schema.apply(yaml::parse(yaml, "x.yaml"));
  check_kernel_regression(schema, config);
  const auto error = error_of([&] { schema.check(); });
  return error ? error->what() : "";
}

TEST_CASE("training points are sorted and noisy, test points lie on a grid") {
  const KernelRegressionData data;
  const RegressionPoints points = regression_points(data, 1);
  REQUIRE(points.x_train.size() == 50);
  REQUIRE(points.x_test.size() == 50);
  CHECK(std::is_sorted(points.x_train.begin(), points.x_train.end()));
  CHECK(points.x_train.front() >= 0.0);
  CHECK(points.x_train.back() < 5.0);
  CHECK(points.x_test.front() == 0.0);
  CHECK(points.x_test.back() == Approx(4.9));
  CHECK(points.truth[20] == Approx(2 * std::sin(2.0) + std::pow(2.0, 0.8)));
  CHECK(regression_points(data, 1).y_train == points.y_train);
  CHECK(regression_points(data, 2).y_train != points.y_train);
}

TEST_CASE("the noise has the standard deviation that was asked for") {
  KernelRegressionData data;
  data.points = 4000;
  const RegressionPoints noisy = regression_points(data, 3);
  data.noise = 0.0;
  const RegressionPoints exact = regression_points(data, 3);
  CHECK(noisy.x_train == exact.x_train);
  std::vector<double> noise, squares;
  for (std::size_t i = 0; i < noisy.y_train.size(); ++i) {
    noise.push_back(noisy.y_train[i] - exact.y_train[i]);
    squares.push_back(noise.back() * noise.back());
  }
  CHECK(std::abs(mean(noise)) < 0.04);  // five standard errors
  CHECK(std::sqrt(mean(squares)) == Approx(0.5).epsilon(0.06));
}

TEST_CASE("average pooling predicts the mean of the training outputs everywhere") {
  for (const Setting& setting : settings()) {
    KernelRegressionConfig config = experiment(setting.device->backend().name(), setting.type);
    config.kernels = {Kernel::constant};
    config.widths = {0.1, 1.0};
    const RegressionResult result = result_of(config);
    REQUIRE(result.curves.size() == 1);  // the width means nothing
    CHECK(result.curves[0].name() == "average pooling");
    const std::vector<double> expected(50, mean(result.points.y_train));
    CHECK(relative_difference(result.curves[0].predictions, expected) < setting.tolerance);
  }
}

TEST_CASE("each kernel is combined with each width, and its weights sum to 1") {
  KernelRegressionConfig config = experiment();
  config.kernels = {Kernel::gaussian, Kernel::boxcar, Kernel::epanechikov};
  config.widths = {0.5, 1.0};
  const RegressionResult result = result_of(config);
  REQUIRE(result.curves.size() == 6);
  CHECK(result.curves[3].name() == "boxcar, width 1");
  for (const RegressionCurve& curve : result.curves) {
    INFO(curve.name());
    CHECK(curve.undefined == 0);
    for (std::size_t row = 0; row < 50; ++row) {
      const auto start = curve.weights.begin() + static_cast<std::ptrdiff_t>(row * 50);
      CHECK(std::accumulate(start, start + 50, 0.0) == Approx(1.0));
    }
  }
}

TEST_CASE("a test point that no training point is near has no prediction") {
  KernelRegressionConfig config = experiment();
  config.data.points = 3;
  config.kernels = {Kernel::boxcar};
  config.widths = {0.05};
  const RegressionResult result = result_of(config);
  const RegressionCurve& curve = result.curves.at(0);
  CHECK(curve.undefined > 30);
  CHECK(curve.undefined == std::count_if(curve.predictions.begin(), curve.predictions.end(),
                                         [](double p) { return std::isnan(p); }));
  CHECK(contains(regression_plot("gaps", result), "<svg"));
  CHECK(contains(regression_heat_map(result, PictureFormat::svg), "<svg"));
}

TEST_CASE("learning follows the gradient of the leave-one-out loss on every backend") {
  for (const Setting& setting : settings()) {
    INFO(setting.name);
    KernelRegressionConfig config = experiment(setting.device->backend().name(), setting.type);
    config.learn_width = true;
    config.first_w = 0.75;
    config.training.learning_rate = 0.01;
    const RegressionResult result = result_of(config);
    REQUIRE(result.epochs.size() == 5);
    double w = 0.75;
    for (const RegressionEpoch& epoch : result.epochs) {
      const double step = 1e-5;
      const double gradient =
          (plain_loss(result.points, w + step) - plain_loss(result.points, w - step)) / (2 * step);
      CHECK(epoch.loss == Approx(plain_loss(result.points, w)).epsilon(1e-5));
      CHECK(epoch.gradient == Approx(gradient).epsilon(1e-4));
      CHECK(epoch.w == Approx(w - 0.01 * gradient).epsilon(1e-5));
      w = epoch.w;
    }
    CHECK(result.epochs.back().loss < result.epochs.front().loss);
    CHECK(result.curves.back().learned);
    CHECK(result.curves.back().width == Approx(1.0 / w));
  }
}

TEST_CASE("w begins between 0 and 1 where no first value is given") {
  KernelRegressionConfig config = experiment();
  config.learn_width = true;
  for (const std::uint64_t seed : {1, 2, 3}) {
    config.seed = seed;
    const RegressionResult result = result_of(config);
    CHECK(result.first_w >= 0.0);
    CHECK(result.first_w < 1.0);
    CHECK(result.epochs.front().loss == Approx(plain_loss(result.points, result.first_w)));
  }
}

TEST_CASE("a run writes its file, its metrics and its pictures") {
  const test::TemporaryFolder folder;
  for (const DType type : {DType::f32, DType::f64}) {
    KernelRegressionConfig config = experiment("reference", type);
    config.run_root = folder.path();
    config.learn_width = true;
    const RegressionResult result =
        run_kernel_regression(config, "name: x\n", "attn-train x.yaml", RunDirectory::Mode::force, {});
    const std::filesystem::path run = config.run_directory();
    const hdf5::File file = hdf5::open_checked(run / "regression.h5", "attn.kernel_regression", 1);
    CHECK(file.dataset("/weights").type() == (type == DType::f32 ? "f32" : "f64"));
    CHECK(file.read<double>("/weights", {2, 50, 50}) == [&] {
      std::vector<double> all = result.curves[0].weights;
      all.insert(all.end(), result.curves[1].weights.begin(), result.curves[1].weights.end());
      return all;
    }());
    CHECK(file.read<double>("/x_test", {50}) == result.points.x_test);
    CHECK(file.read<double>("/training/w", {5}).back() == result.epochs.back().w);
    CHECK(file.read_strings("/kernel") == std::vector<std::string>{"gaussian", "gaussian"});
    const std::string metrics = read_file(run / "metrics.jsonl");
    CHECK(std::count(metrics.begin(), metrics.end(), '\n') == 5);
    CHECK(contains(read_file(run / "status.json"), "finished"));
    for (const char* plot : {"fit.svg", "weights.svg", "learning-curve.svg"})
      CHECK(contains(read_file(run / "plots" / plot), "</svg>"));
  }
}

TEST_CASE("a run directory in use is not overwritten, and nothing is resumed") {
  const test::TemporaryFolder folder;
  KernelRegressionConfig config = experiment();
  config.run_root = folder.path();
  run_kernel_regression(config, "", "attn-train", RunDirectory::Mode::fresh, {});
  const auto again =
      error_of([&] { run_kernel_regression(config, "", "attn-train", RunDirectory::Mode::fresh, {}); });
  REQUIRE(again.has_value());
  CHECK(contains(again->what(), "not empty"));
  const auto resumed =
      error_of([&] { run_kernel_regression(config, "", "attn-train", RunDirectory::Mode::resume, {}); });
  REQUIRE(resumed.has_value());
  CHECK(resumed->code() == ExitCode::usage);
}

TEST_CASE("settings that contradict each other are refused with their place") {
  CHECK(refusal("model: {kernels: [boxcar], widths: [1, 2]}\n").empty());
  CHECK(contains(refusal("data: {minimum: 3, maximum: 2}\n"), "x.yaml:1:29: data.maximum: 2 must be above"));
  CHECK(contains(refusal("data: {test_step: 1e-9}\n"), "more than 10000 test points"));
  CHECK(contains(refusal("model: {kernels: []}\n"), "name a kernel"));
  CHECK(contains(refusal("model: {widths: []}\n"), "give the kernels a width"));
  CHECK(contains(refusal("model: {widths: [0]}\n"), "must be above 0"));
  CHECK(contains(refusal("model: {kernels: [gausian]}\n"), "gaussian"));
  CHECK(contains(refusal("model: {heads: 3}\n"), "unknown key 'model.heads'"));
}

}  // namespace
