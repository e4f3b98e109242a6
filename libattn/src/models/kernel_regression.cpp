#include "attn/models/kernel_regression.h"

#include <array>

namespace attn {
namespace {

// Below every sum of weights that is not 0, and a normal number in f32.
constexpr double smallest_sum = 1e-30;

Tensor normalised(const Tensor& similarity) {
  const std::array<int, 1> keys{-1};
  const Tensor sum = ops::sum(similarity, keys, true);
  return ops::divide(similarity, ops::maximum(sum, ops::full(sum, Shape{}, smallest_sum)));
}

// `distance` is [queries, keys], in widths of the kernel. Far from all keys a Gaussian is 0 in floating-point
// numbers; the softmax subtracts the largest exponent and so never divides by 0.
Tensor weights_of(Kernel kernel, const Tensor& distance) {
  switch (kernel) {
    case Kernel::gaussian:
      return ops::masked_softmax(ops::affine(ops::square(distance), -0.5, 0.0));
    case Kernel::constant:
      return ops::masked_softmax(ops::affine(distance, 0.0, 0.0));
    case Kernel::boxcar:
      return normalised(ops::greater(ops::full(distance, Shape{}, 1.0), ops::abs(distance)));
    case Kernel::epanechikov:
      break;
  }
  return normalised(ops::relu(ops::affine(ops::abs(distance), -1.0, 1.0)));
}

}  // namespace

std::string_view name_of(Kernel kernel) noexcept {
  switch (kernel) {
    case Kernel::gaussian:
      return "gaussian";
    case Kernel::boxcar:
      return "boxcar";
    case Kernel::constant:
      return "constant";
    case Kernel::epanechikov:
      return "epanechikov";
  }
  return "?";
}

KernelRegression::KernelRegression(const std::shared_ptr<Device>& device, DType type, Kernel kernel, double w)
    : kernel_(kernel),
      parameters_(std::make_unique<ParameterStore>(device, type)),
      w_(parameters_->add("w", Shape{1}, Initialization::ones())) {
  parameters_->materialise(0);
  const std::array<double, 1> first{w};
  w_->tensor.assign<double>(first);
}

KernelRegression::Pooled KernelRegression::operator()(const Tensor& queries, const Tensor& keys,
                                                      const Tensor& values) const {
  const Tensor distance = ops::subtract(queries.reshaped({queries.elements(), 1}), keys);
  Pooled pooled;
  pooled.weights = weights_of(kernel_, ops::multiply(distance, w_->tensor));
  const std::array<int, 1> last{-1};
  pooled.predictions = ops::sum(ops::multiply(pooled.weights, values), last);
  return pooled;
}

std::vector<double> leave_one_out(const std::vector<double>& values) {
  std::vector<double> rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (j != i) rows.push_back(values[j]);
    }
  }
  return rows;
}

Tensor half_squared_error(const Tensor& predictions, const Tensor& targets) {
  return ops::affine(ops::sum(ops::square(ops::subtract(predictions, targets))), 0.5, 0.0);
}

}  // namespace attn
