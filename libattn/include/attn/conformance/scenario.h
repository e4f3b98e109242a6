#pragma once
// Small uses of every operation, and their gradients, for all that is checked of operations as libattn has
// them.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attn/runtime/tensor.h"

namespace attn::conformance {

/// One use of an operation. Everything that is checked for all operations runs over a list of these.
struct Scenario {
  using Run = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  std::string name;
  std::vector<Shape> inputs;
  Run run;
  double low = -1.0, high = 1.0;  ///< range of the input values
  bool differentiable = true;
};

std::vector<Scenario> elementwise_scenarios();
std::vector<Scenario> product_scenarios();
std::vector<Scenario> movement_scenarios();
std::vector<Scenario> attention_scenarios();
std::vector<Scenario> layer_scenarios();
std::vector<Scenario> loss_scenarios();
std::vector<Scenario> in_place_scenarios();
std::vector<Scenario> all_scenarios();

/// Integers on the device of `like`.
Tensor integers(const Tensor& like, const std::vector<std::int32_t>& values, const Shape& shape);
/// A dropout counter.
Tensor random_counter(const Tensor& like);

using Values = std::vector<std::vector<double>>;

/// Fixed input values that float32 holds exactly; no two elements of different inputs are equal, and none
/// is 0.
Values input_values(const Scenario& scenario);

struct EvaluationOptions {
  DType type = DType::f64;
  int times = 1;        ///< the operation is used so many times, so that gradients are added up
  bool given = false;   ///< gradients go into tensors that hold something else before
  int only_input = -1;  ///< the one input that is watched; -1: all
  bool gradients = true;
};

struct Evaluation {
  Values outputs;
  std::vector<bool> recorded;  ///< which outputs gradients flow through
  Values gradients;  ///< of sum over all uses and outputs of sum(cotangent * output); empty if not watched
};

Evaluation evaluate(const std::shared_ptr<Device>& device, const Scenario& scenario, const Values& values,
                    const EvaluationOptions& options);

/// The cotangent of an output in one use.
std::vector<double> cotangent(const Scenario& scenario, std::size_t output, int use, std::size_t size);

/// The largest difference, relative to the largest element of `expected` or 1; infinite where sizes differ or
/// one of the two is not finite and the other is something else.
double relative_difference(const std::vector<double>& found, const std::vector<double>& expected);

/// The gradients that evaluate() gives, from differences of the outputs alone: (loss(x + step) - loss(x -
/// step)) / (2 step) for every element of every input. `counted` says which outputs the loss is made of.
Values central_differences(const std::shared_ptr<Device>& device, const Scenario& scenario, int times,
                           const std::vector<bool>& counted);
/// The same along one direction for each input, given in `directions`: one number for each input.
std::vector<double> directional_differences(const std::shared_ptr<Device>& device, const Scenario& scenario,
                                            int times, const std::vector<bool>& counted,
                                            const Values& directions);

}  // namespace attn::conformance
