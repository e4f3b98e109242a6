#include <algorithm>

#include "attn/core/sha256.h"
#include "attn/experiment/kernel_regression.h"
#include "attn/io/hdf5.h"

namespace attn {
namespace {

constexpr int format_version = 1;

void write_points(hdf5::File& file, const RegressionPoints& points) {
  hdf5::Dataset x_train = file.write("/x_train", points.x_train),
                y_train = file.write("/y_train", points.y_train),
                x_test = file.write("/x_test", points.x_test), truth = file.write("/truth", points.truth);
  x_train.describe("training inputs, sorted: the keys", "1");
  y_train.describe("training outputs with noise: the values", "1");
  x_test.describe("test inputs: the queries", "1");
  truth.describe("the function without noise at x_test", "1");
  x_train.make_scale("x_train");
  x_test.make_scale("x_test");
  y_train.attach_scale(0, x_train);
  truth.attach_scale(0, x_test);
}

template<typename T>
std::vector<T> gathered(const std::vector<RegressionCurve>& curves,
                        const std::vector<double> RegressionCurve::*values) {
  std::vector<T> all;
  for (const RegressionCurve& curve : curves)
    std::transform((curve.*values).begin(), (curve.*values).end(), std::back_inserter(all),
                   [](double value) { return static_cast<T>(value); });
  return all;
}

template<typename T>
void write_curves(hdf5::File& file, const RegressionResult& result) {
  const std::vector<RegressionCurve>& curves = result.curves;
  std::vector<std::int32_t> index;
  std::vector<std::string> kernels;
  std::vector<double> widths, errors;
  std::vector<std::uint8_t> learned;
  for (const RegressionCurve& curve : curves) {
    index.push_back(static_cast<std::int32_t>(index.size()));
    kernels.emplace_back(name_of(curve.kernel));
    widths.push_back(curve.width);
    learned.push_back(curve.learned ? 1 : 0);
    errors.push_back(curve.mean_squared_error);
  }
  hdf5::Dataset curve = file.write("/curve", index);
  curve.describe("index of the curve", "1");
  curve.make_scale("curve");
  const auto along_curves = [&](hdf5::Dataset&& dataset, const char* meaning) {
    dataset.describe(meaning, "1");
    dataset.attach_scale(0, curve);
  };
  file.write_strings("/kernel", kernels).attach_scale(0, curve);
  along_curves(file.write("/width", widths), "width of the kernel, 1 / |w|");
  along_curves(file.write("/learned", learned), "1 where the width was learned");
  along_curves(file.write("/mean_squared_error", errors), "mean over x_test of (prediction - truth)^2");

  const hdf5::Dataset x_test = file.dataset("/x_test"), x_train = file.dataset("/x_train");
  const std::uint64_t tests = x_test.size(), points = x_train.size();
  hdf5::Dataset predictions =
      file.write("/prediction", gathered<T>(curves, &RegressionCurve::predictions), {curves.size(), tests});
  hdf5::Dataset weights = file.write("/weights", gathered<T>(curves, &RegressionCurve::weights),
                                     {curves.size(), tests, points}, hdf5::Storage::compressed());
  predictions.describe("prediction; NaN where no training point is within the kernel", "1");
  weights.describe("attention weight of each training point", "1");
  predictions.attach_scale(0, curve);
  weights.attach_scale(0, curve);
  predictions.attach_scale(1, x_test);
  weights.attach_scale(1, x_test);
  weights.attach_scale(2, x_train);
}

void write_training(hdf5::File& file, const KernelRegressionConfig& config, const RegressionResult& result) {
  if (!config.learn_width) return;
  std::vector<std::int32_t> number;
  std::vector<double> losses, gradients, ws;
  for (const RegressionEpoch& epoch : result.epochs) {
    number.push_back(static_cast<std::int32_t>(number.size()) + 1);
    losses.push_back(epoch.loss);
    gradients.push_back(epoch.gradient);
    ws.push_back(epoch.w);
  }
  hdf5::Group group = file.create_group("/training");
  group.set_attribute("optimizer", "sgd");
  group.set_attribute("learning_rate", config.training.learning_rate);
  group.set_attribute("first_w", result.first_w);
  hdf5::Dataset epoch = group.write("epoch", number);
  epoch.describe("epoch, from 1", "1");
  epoch.make_scale("epoch");
  const auto along_epochs = [&](hdf5::Dataset&& dataset, const char* meaning) {
    dataset.describe(meaning, "1");
    dataset.attach_scale(0, epoch);
  };
  along_epochs(group.write("loss", losses), "half the sum of squared errors before the step");
  along_epochs(group.write("gradient", gradients), "gradient of the loss by w");
  along_epochs(group.write("w", ws), "w = 1 / width after the step");
}

}  // namespace

void save_regression(const std::filesystem::path& path, const KernelRegressionConfig& config,
                     const RegressionResult& result, const Device& device, const std::string& config_yaml,
                     const std::string& command_line) {
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    hdf5::Header header{.format = "attn.kernel_regression", .format_version = format_version};
    header.creator = "attn-train";
    header.command_line = command_line;
    header.git_revision = ATTN_GIT_REVISION;
    header.backend = device.backend().name();
    header.device = device.name();
    header.seed = config.seed;
    header.config_sha256 = sha256_hex(config_yaml);
    hdf5::write_header(file, header);
    write_points(file, result.points);
    if (config.backend.dtype == DType::f64)
      write_curves<double>(file, result);
    else
      write_curves<float>(file, result);
    write_training(file, config, result);
    file.write_string("/meta/config_yaml", config_yaml);
  });
}

}  // namespace attn
