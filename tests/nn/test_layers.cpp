#include <cmath>

#include "attn/nn/layers.h"
#include "support/golden_module.h"

namespace {

using namespace attn;
using namespace attn::test;

// A context of training; the counter is read by dropout only.
Context training_context(const Setting& setting, std::int32_t step = 1) {
  return Context(Tensor::from<std::int32_t>(setting.device, std::vector<std::int32_t>{5, 0, step, 0}, {4}));
}

// Layer normalisation of rows by its formula, gain 1 and bias 0.
std::vector<double> normalised(std::vector<double> values, std::size_t width) {
  for (std::size_t row = 0; row < values.size(); row += width) {
    double mean = 0.0, variance = 0.0;
    for (std::size_t i = 0; i < width; ++i) mean += values[row + i] / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i)
      variance += (values[row + i] - mean) * (values[row + i] - mean) / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i)
      values[row + i] = (values[row + i] - mean) / std::sqrt(variance + 1e-5);
  }
  return values;
}

// How a dataset [batch, channels, steps] or [rows, channels] becomes [batch, steps, channels] or [rows,
// channels].
struct ChannelsLast {
  explicit ChannelsLast(const GoldenModule& run) : run_(run) {}

  std::vector<double> values(const std::string& dataset) const {
    const auto shape = run_.golden().shape(dataset);
    return shape.size() < 3 ? run_.golden().values(dataset)
                            : permuted(run_.golden().values(dataset), shape, {0, 2, 1});
  }
  Tensor tensor(const std::string& dataset) const {
    const Shape shape = run_.shape(dataset);
    return run_.tensor(values(dataset), shape.rank() < 3 ? shape : Shape{shape[0], shape[2], shape[1]});
  }

 private:
  const GoldenModule& run_;
};

}  // namespace

TEST_CASE("the position-wise feed-forward network reproduces the reference, gradients included") {
  for (const Setting& setting : settings()) {
    GoldenModule run("positionwise_ffn", setting);
    const PositionWiseFFN ffn(run.scope(), 4, 6, 8);
    run.start();
    const std::vector<std::pair<std::string, std::string>> names = {
        {"dense1.weight", "W1"}, {"dense1.bias", "b1"}, {"dense2.weight", "W2"}, {"dense2.bias", "b2"}};
    for (const auto& [path, dataset] : names) run.load(path, dataset);
    const Tensor x = run.watch("x");
    Context context;
    const Tensor y = ffn(x, context);
    run.check(y, "y");
    run.backward(y, "cot_y");
    run.check_gradient(x, "grad_x");
    for (const auto& [path, dataset] : names) run.check_gradient_of(path, "grad_" + dataset);
  }
}

TEST_CASE("dropout in the feed-forward network acts on the hidden units") {
  for (const Setting& setting : settings()) {
    GoldenModule run("positionwise_ffn", setting);
    const PositionWiseFFN ffn(run.scope(), 4, 6, 8, 0.5);
    run.start();
    const auto output = [&](Context context) { return ffn(run.input("x"), context).to_vector<double>(); };
    CHECK(output(training_context(setting)) == output(training_context(setting)));
    CHECK(output(training_context(setting, 1)) != output(training_context(setting, 2)));
    // The bias of the second layer is not dropped, and hidden units are scaled by 2.
    run.load("dense2.weight", std::vector<double>(48, 0.0));
    CHECK(output(training_context(setting)) == output(Context()));
  }
}

TEST_CASE("layer normalisation reproduces the reference, gradients included") {
  for (const Setting& setting : settings()) {
    GoldenModule run("layer_norm", setting);
    const LayerNorm norm(run.scope(), 6, run.golden().scalar("eps"));
    run.start();
    run.load("gain", "gamma");
    run.load("bias", "beta");
    const Tensor x = run.watch("x");
    const Tensor y = norm(x);
    run.check(y, "y");
    run.backward(y, "cot_y");
    run.check_gradient(x, "grad_x");
    run.check_gradient_of("gain", "grad_gamma");
    run.check_gradient_of("bias", "grad_beta");
  }
}

TEST_CASE("add and norm normalises the sum, and passes the same gradient to both summands") {
  for (const Setting& setting : settings()) {
    GoldenModule run("layer_norm", setting);
    const AddNorm addnorm(run.scope(), 6, 0.5);  // no dropout outside training
    run.start();
    run.load("gain", "gamma");
    run.load("bias", "beta");
    auto part = run.golden().values("x"), rest = part;
    for (std::size_t i = 0; i < part.size(); ++i) {
      part[i] = static_cast<double>(i % 5) * 0.25;
      rest[i] -= part[i];
    }
    const Tensor x = run.watch(run.tensor(rest, {2, 3, 6})),
                 sublayer = run.watch(run.tensor(part, {2, 3, 6}));
    Context context;
    const Tensor y = addnorm(x, sublayer, context);
    run.check(y, "y");
    run.backward(y, "cot_y");
    run.check_gradient(x, "grad_x");
    run.check_gradient(sublayer, "grad_x");
    run.check_gradient_of("gain", "grad_gamma");
    run.check_gradient_of("bias", "grad_beta");
  }
}

TEST_CASE("add and norm drops elements of the sublayer, never of the residual") {
  for (const Setting& setting : settings()) {
    GoldenModule run("layer_norm", setting);
    const AddNorm addnorm(run.scope(), 6, 0.5);
    run.start();
    // Where the sublayer is 0 dropping it changes nothing; where the residual is 0 some elements stay 0.
    const Tensor x = run.input("x"), zeros = run.tensor(std::vector<double>(36, 0.0), {2, 3, 6});
    Context context = training_context(setting);
    run.check(addnorm(x, zeros, context).to_vector<double>(), normalised(run.golden().values("x"), 6),
              "residual");
    Context again = training_context(setting);
    const auto found = addnorm(zeros, x, again).to_vector<double>();
    CHECK(relative_difference(found, normalised(run.golden().values("x"), 6)) > 0.1);
  }
}

TEST_CASE("batch normalisation keeps running statistics in training and uses them in evaluation") {
  for (const Setting& setting : settings()) {
    for (const std::string name : {"batch_norm", "batch_norm_ncl"}) {
      INFO(name);
      GoldenModule run(name, setting);
      const BatchNorm norm(run.scope(), 4, run.golden().scalar("eps"), run.golden().scalar("momentum"));
      run.start();
      run.load("gain", "gamma");
      run.load("bias", "beta");
      CHECK(run.store().count() == 8);
      const ChannelsLast data(run);
      const Tensor x = run.watch(data.tensor("x"));
      const Tensor y = norm(x, training_context(setting));
      run.check(y.to_vector<double>(), data.values("y"), "y");
      run.backward(y, data.tensor("cot_y"));
      run.check(run.gradient(x), data.values("grad_x"), "grad_x");
      run.check_gradient_of("gain", "grad_gamma");
      run.check_gradient_of("bias", "grad_beta");
      const auto running = [&](const std::string& what) { return run.store().find(what)->tensor; };
      run.check(running("running_mean"), "running_mean_1");
      run.check(running("running_variance"), "running_var_1");
      norm(data.tensor("x2"), training_context(setting));
      run.check(running("running_mean"), "running_mean_2");
      run.check(running("running_variance"), "running_var_2");
      run.check(norm(data.tensor("x"), Context()).to_vector<double>(), data.values("y_eval"), "y_eval");
      run.check(running("running_mean"), "running_mean_2");  // evaluation leaves them alone
    }
  }
}

TEST_CASE("1-D convolution reproduces the reference, gradients included") {
  for (const Setting& setting : settings()) {
    for (const std::int64_t kernel : {3, 5}) {
      INFO("kernel " << kernel);
      GoldenModule run("conv1d_same_k" + std::to_string(kernel), setting);
      ops::Window window;
      window.kernel = kernel;
      window.padding = window.padding_after = kernel / 2;
      const Conv1d convolution(run.scope(), 3, 4, window);
      run.start();
      const ChannelsLast data(run);  // also the weight: [out, in, kernel] becomes [out, kernel, in]
      run.load("weight", data.values("W"));
      run.load("bias", "b");
      const Tensor x = run.watch(data.tensor("x"));
      const Tensor y = convolution(x);
      CHECK(y.shape() == Shape{2, 7, 4});
      run.check(y.to_vector<double>(), data.values("y"), "y");
      run.backward(y, data.tensor("cot_y"));
      run.check(run.gradient(x), data.values("grad_x"), "grad_x");
      run.check(run.gradient_of("weight"), data.values("grad_W"), "grad_W");
      run.check_gradient_of("bias", "grad_b");
    }
  }
}
