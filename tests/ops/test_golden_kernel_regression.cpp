// Nadaraya-Watson kernel regression as attention pooling, written with the operations that attention is made
// of.
#include <array>
#include <cmath>

#include "golden_run.h"
#include "support/catch.h"

namespace attn::test {
namespace {

constexpr double mean_square_scale = -0.5;

// softmax(-((query - key) width)^2 / 2), [queries, keys]; `width` is a scalar or absent for 1.
Tensor gaussian_weights(const Tensor& queries, const Tensor& keys, const Tensor& width) {
  Tensor distance = ops::subtract(queries, keys);
  if (width.defined()) distance = ops::multiply(distance, width);
  return ops::masked_softmax(ops::affine(ops::square(distance), mean_square_scale, 0.0));
}

// Row i holds all values but the i-th, as leaving a point out of its own prediction wants them.
std::vector<double> without_diagonal(const std::vector<double>& values) {
  std::vector<double> rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (j != i) rows.push_back(values[j]);
    }
  }
  return rows;
}

struct LeaveOneOut {
  Tensor predictions, loss;
};

LeaveOneOut leave_one_out(GoldenRun& run, const Tensor& width) {
  const std::vector<double> x = run.golden.values("x_train"), y = run.golden.values("y_train");
  const auto points = static_cast<std::int64_t>(x.size());
  const Tensor queries = run.numbers(x, {points, 1}),
               keys = run.numbers(without_diagonal(x), {points, points - 1}),
               values = run.numbers(without_diagonal(y), {points, points - 1});
  const std::array<int, 1> last{-1};
  const Tensor predictions = ops::sum(ops::multiply(gaussian_weights(queries, keys, width), values), last);
  const Tensor errors = ops::square(ops::subtract(predictions, run.numbers(y, Shape{points})));
  return {predictions, ops::affine(ops::sum(errors), 0.5, 0.0)};
}

}  // namespace

TEST_CASE("a Gaussian kernel weights the training points as the reference does") {
  for_every_backend("nadaraya_watson", [](GoldenRun& run) {
    const Tensor queries = run.constant("queries"), keys = run.constant("x_train"),
                 values = run.constant("y_train");
    const Tensor weights = gaussian_weights(queries.reshaped({queries.elements(), 1}), keys, {});
    run.expect("weights", weights);
    run.expect("pred", ops::matmul(weights, values.reshaped({values.elements(), 1})));
    const std::array<int, 1> all{0};
    run.expect("average", ops::mean(values, all));
  });
}

TEST_CASE("the learned width gives the reference's predictions, losses and gradients") {
  const std::size_t widths = GoldenCase("nadaraya_watson_param").values("ws").size();
  for (std::size_t i = 0; i < widths; ++i) {
    for_every_backend("nadaraya_watson_param", [i](GoldenRun& run) {
      const auto one = [&](const char* dataset) {
        return std::vector<double>{run.golden.values(dataset)[i]};
      };
      const Tensor width = run.tape().watch(run.numbers(one("ws"), Shape{1}));
      const LeaveOneOut result = leave_one_out(run, width);
      const std::vector<double> all = run.golden.values("loo_pred"),
                                found = result.predictions.to_vector<double>();
      const auto start = all.begin() + static_cast<std::ptrdiff_t>(i * found.size());
      run.expect("loo_pred", found, {start, start + static_cast<std::ptrdiff_t>(found.size())});
      run.expect("loss", result.loss.to_vector<double>(), one("loss"));
      run.tape().backward(result.loss);
      run.expect("grad_w", run.tape().gradient_of(width).to_vector<double>(), one("grad_w"));
    });
  }
}

TEST_CASE("five steps of gradient descent on the width follow the reference") {
  for_every_backend("nadaraya_watson_param", [](GoldenRun& run) {
    constexpr double first_width = 0.25, learning_rate = 0.5;
    const std::vector<double> losses = run.golden.values("sgd_loss"), widths = run.golden.values("sgd_w");
    const Tensor value = run.numbers({first_width}, Shape{1});
    const Tensor control = run.numbers({learning_rate, 1.0, 1.0, 1.0}, Shape{4});
    const Tensor width = run.tape().watch(value);
    for (std::size_t step = 0; step < losses.size(); ++step) {
      const LeaveOneOut result = leave_one_out(run, width);
      run.expect("sgd_loss", result.loss.to_vector<double>(), {losses[step]});
      run.tape().backward(result.loss);
      ops::sgd(value, {}, run.tape().gradient_of(width), control, 0.0, 0.0);
      run.expect("sgd_w", value.to_vector<double>(), {widths[step]});
    }
  });
}

}  // namespace attn::test
