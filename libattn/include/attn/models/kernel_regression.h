#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/nn/parameter.h"
#include "attn/ops/ops.h"

namespace attn {

/// How the similarity of a query and a key falls with their distance u (D2L, "Attention Pooling by
/// Similarity").
enum class Kernel {
  gaussian,     ///< exp(-u^2 / 2)
  boxcar,       ///< 1 where |u| < 1, else 0
  constant,     ///< 1: every key weighs the same, which is average pooling
  epanechikov,  ///< max(0, 1 - |u|), the book's function of this name
};

/// "gaussian", "boxcar", "constant" or "epanechikov".
std::string_view name_of(Kernel kernel) noexcept;

/// Kernel regression after Nadaraya (1964) and Watson (1964) as attention pooling: a query's prediction is
/// the mean of all values, weighted by the kernel of (query - key) w. The parameter w is the reciprocal of
/// the kernel's width. With the Gaussian kernel the weights are softmax(-((query - key) w)^2 / 2).
class KernelRegression {
 public:
  /// Keys and values are shared by all queries, [keys], or each query has its own, [queries, keys].
  struct Pooled {
    Tensor weights;      ///< [queries, keys]; rows sum to 1, or are 0 where no key is within the kernel
    Tensor predictions;  ///< [queries]; 0 where no key is within the kernel
  };

  /// `w` is the first value of the parameter, 1 / width.
  KernelRegression(const std::shared_ptr<Device>& device, DType type, Kernel kernel, double w);

  /// queries [queries], keys and values [keys] or [queries, keys] -> weights and predictions. Differentiable
  /// in w with the kernels gaussian and epanechikov.
  Pooled operator()(const Tensor& queries, const Tensor& keys, const Tensor& values) const;

  Kernel kernel() const noexcept { return kernel_; }
  /// The present value of w. Waits for the device.
  double w() const { return w_->tensor.item(); }
  /// Holds the one parameter, `w` [1].
  ParameterStore& parameters() noexcept { return *parameters_; }
  const ParameterStore& parameters() const noexcept { return *parameters_; }
  const ParameterHandle& w_parameter() const noexcept { return w_; }

 private:
  Kernel kernel_;
  std::unique_ptr<ParameterStore> parameters_;
  ParameterHandle w_;
};

/// [n, n - 1] row by row: row i holds all values but the i-th, so that a point is predicted from the others
/// alone (D2L, "Attention Pooling by Similarity": a point is not its own key in training).
std::vector<double> leave_one_out(const std::vector<double>& values);

/// Half the sum of the squared differences of two tensors of equal shape, a scalar.
Tensor half_squared_error(const Tensor& predictions, const Tensor& targets);

}  // namespace attn
