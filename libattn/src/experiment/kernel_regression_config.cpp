#include "attn/experiment/kernel_regression.h"
#include "run_keys.h"

namespace attn {

using config::Boolean;
using config::Choice;
using config::Integer;
using config::Real;
using config::Schema;

namespace {

constexpr std::int64_t most_points = 10000;

Choice<Kernel> kernel_choice() {
  Choice<Kernel> choice;
  for (const Kernel kernel : {Kernel::gaussian, Kernel::boxcar, Kernel::constant, Kernel::epanechikov})
    choice.choices.emplace_back(std::string(name_of(kernel)), kernel);
  return choice;
}

}  // namespace

void describe_kernel_regression(Schema& schema, KernelRegressionConfig& c) {
  describe_run(schema, {c.name, c.run_root, c.seed, c.backend}, "the training points and of the first w");
  schema.field("data.points", c.data.points, Integer{.minimum = 2, .maximum = most_points},
               "Training points, uniform between minimum and maximum");
  schema.field("data.minimum", c.data.minimum, Real{.minimum = 0}, "Smallest x");
  schema.field("data.maximum", c.data.maximum, Real{.above = 0}, "Largest x");
  schema.field("data.noise", c.data.noise, Real{.minimum = 0},
               "Standard deviation of the noise on y = 2 sin(x) + x^0.8");
  schema.field("data.test_step", c.data.test_step, Real{.above = 0}, "Distance of two test points");
  schema.field("model.type", c.type, Choice<std::string>{{{"kernel-regression", "kernel-regression"}}},
               "Attention pooling of a function's values");
  schema.field("model.kernels", c.kernels, kernel_choice(), "Kernels, each with each width");
  schema.field("model.widths", c.widths, Real{.above = 0}, "Widths of the kernels");
  schema.field("model.learn_width", c.learn_width, Boolean{},
               "One more curve, with a Gaussian kernel whose width is learned");
  schema.field("model.first_w", c.first_w, Real{.minimum = 0},
               "1 / width where learning begins; null: drawn from [0, 1)");
  schema.field("training.epochs", c.training.epochs, Integer{.minimum = 0},
               "Steps of gradient descent on all training points");
  schema.field("training.learning_rate", c.training.learning_rate, Real{.above = 0}, "Its learning rate");
}

void check_kernel_regression(Schema& schema, const KernelRegressionConfig& config) {
  const KernelRegressionData& data = config.data;
  if (!(data.minimum < data.maximum)) {
    schema.problem("data.maximum",
                   fmt::format("{} must be above data.minimum {}", data.maximum, data.minimum));
  } else if ((data.maximum - data.minimum) / data.test_step > static_cast<double>(most_points)) {
    schema.problem("data.test_step", fmt::format("{} gives more than {} test points; choose a larger one",
                                                 data.test_step, most_points));
  }
  if (config.kernels.empty() && !config.learn_width)
    schema.problem("model.kernels", "is empty; name a kernel, or set model.learn_width: true");
  if (config.widths.empty() && !config.kernels.empty())
    schema.problem("model.widths", "is empty; give the kernels a width");
}

}  // namespace attn
