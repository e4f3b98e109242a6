#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attn/experiment/experiment_config.h"
#include "attn/experiment/training_run.h"
#include "attn/figures/picture.h"
#include "attn/models/kernel_regression.h"

/// Attention pooling as an experiment of attn-train: points of y = 2 sin(x) + x^0.8 with noise, and kernel
/// regression over them (D2L, "Attention Pooling: Nadaraya-Watson Kernel Regression").
namespace attn {

struct KernelRegressionData {
  std::int64_t points = 50;             ///< training points, uniform in [minimum, maximum), sorted
  double minimum = 0.0, maximum = 5.0;  ///< of x; not negative, for x^0.8
  double noise = 0.5;                   ///< standard deviation of what is added to y
  double test_step = 0.1;               ///< test points minimum, minimum + step, ... below maximum
};

struct KernelRegressionTraining {
  std::int64_t epochs = 5;
  double learning_rate = 0.5;
};

/// Everything that a YAML file with model.type: kernel-regression says.
struct KernelRegressionConfig {
  std::string name = "kernel-regression";
  std::filesystem::path run_root = "runs";
  std::uint64_t seed = 1;
  BackendConfig backend;
  std::string type = "kernel-regression";
  KernelRegressionData data;
  std::vector<Kernel> kernels{Kernel::gaussian};
  std::vector<double> widths{1.0};  ///< each with each kernel
  bool learn_width = false;         ///< one more curve, with a Gaussian whose width is learned
  std::optional<double> first_w;    ///< of 1 / width; none: drawn uniformly from [0, 1)
  KernelRegressionTraining training;

  std::filesystem::path run_directory() const { return run_root / name; }
};

/// Declares every key of such an experiment; `config` outlives the schema.
void describe_kernel_regression(config::Schema& schema, KernelRegressionConfig& config);

/// Finds settings that contradict each other and reports them to the schema.
void check_kernel_regression(config::Schema& schema, const KernelRegressionConfig& config);

/// The points of an experiment; a function of the configuration and its seed alone.
struct RegressionPoints {
  std::vector<double> x_train, y_train;
  std::vector<double> x_test, truth;  ///< truth without noise
};
RegressionPoints regression_points(const KernelRegressionData& data, std::uint64_t seed);

/// One way to pool, at all test points.
struct RegressionCurve {
  Kernel kernel = Kernel::gaussian;
  double width = 1.0;
  bool learned = false;
  std::vector<double> predictions;  ///< [test points]; NaN where no training point is within the kernel
  std::vector<double> weights;      ///< [test points, training points], row by row; there all 0
  std::int64_t undefined = 0;       ///< how many predictions are NaN
  double mean_squared_error = 0.0;  ///< against the truth, over the defined predictions; NaN if none is

  /// "gaussian, width 0.5", "gaussian, learned width 0.215", "average pooling".
  std::string name() const;
};

/// One epoch of learning w = 1 / width. The training points are one batch, as in the book.
struct RegressionEpoch {
  double loss = 0.0;      ///< half the sum of squared errors before the step, each point left out of its keys
  double gradient = 0.0;  ///< of the loss by w
  double w = 0.0;         ///< after the step
};

struct RegressionResult {
  RegressionPoints points;
  std::vector<RegressionCurve> curves;  ///< each kernel with each width, then the learned one
  double first_w = 0.0;                 ///< where learning began; 0 without learning
  std::vector<RegressionEpoch> epochs;  ///< empty without learning
};

/// Computes an experiment without writing anything. Throws Error(backend).
RegressionResult compute_regression(const KernelRegressionConfig& config,
                                    const std::shared_ptr<Device>& device);

/// Writes a result as HDF5 with the format "attn.kernel_regression" (docs/file-formats.md), all or nothing.
/// Throws Error(file).
void save_regression(const std::filesystem::path& path, const KernelRegressionConfig& config,
                     const RegressionResult& result, const Device& device, const std::string& config_yaml,
                     const std::string& command_line);

/// Training points, truth and curves as a line chart in SVG, as in the book.
std::string regression_plot(const std::string& title, const RegressionResult& result);

/// The weights of every curve as heat-maps, test points down and training points across.
std::string regression_heat_map(const RegressionResult& result, PictureFormat format);

/// Computes an experiment in its run directory: regression.h5, metrics.jsonl (one line an epoch),
/// report.json, plots/fit.svg, plots/weights.svg and, where a width is learned, plots/learning-curve.svg.
/// Otherwise like run_training. A run takes a moment, so there is nothing to resume.
RegressionResult run_kernel_regression(const KernelRegressionConfig& config, const std::string& config_yaml,
                                       const std::string& command_line, RunDirectory::Mode mode,
                                       const RunObserver& observer);

}  // namespace attn
