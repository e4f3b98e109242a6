#include "attn/training/moving_average.h"

#include <algorithm>
#include <array>

#include "attn/op_kinds.h"
#include "attn/ops/operation.h"
#include "attn/ops/ops.h"

namespace attn {
namespace {

void apply_in_place(attn_binary_function function, const Tensor& target, const Tensor& x, const Tensor& y) {
  ops::apply_to(*ops::find_operation(ATTN_OP_BINARY), target, {x, y}, attn_binary_params{0, function});
}

}  // namespace

MovingAverage::MovingAverage(ParameterStore& parameters, double decay)
    : parameters_(parameters),
      decay_(decay),
      values_(ops::copy(parameters.flat())),
      spare_(parameters.device(), parameters.flat().shape(), parameters.dtype()),
      weight_(parameters.device(), Shape{1}, parameters.dtype()) {}

void MovingAverage::update(std::int64_t update) {
  const auto n = static_cast<double>(update);
  const double decay = std::min(decay_, (1.0 + n) / (10.0 + n));
  // A tensor and no parameter of the operation, so that all updates are the same operations to a backend.
  weight_.assign<double>(std::array<double, 1>{1.0 - decay});
  apply_in_place(ATTN_BINARY_SUBTRACT, spare_, parameters_.flat(), values_);
  apply_in_place(ATTN_BINARY_MULTIPLY, spare_, spare_, weight_);
  apply_in_place(ATTN_BINARY_ADD, values_, values_, spare_);
}

void MovingAverage::exchange() {
  ops::copy_into(spare_, parameters_.flat());
  ops::copy_into(parameters_.flat(), values_);
  ops::copy_into(values_, spare_);
}

}  // namespace attn
