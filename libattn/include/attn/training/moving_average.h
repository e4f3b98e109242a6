#pragma once
#include <cstdint>

#include "attn/nn/parameter.h"

namespace attn {

/// Exponential moving average of the trainable parameters of a store (Polyak & Juditsky, 1992). After update
/// n: average += (1 - d) (parameters - average) with d = min(decay, (1 + n) / (10 + n)), so that the first
/// values, which are the parameters', are soon forgotten.
class MovingAverage {
 public:
  /// Begins with the values that the parameters have. `parameters` outlives it; 0 < decay < 1.
  MovingAverage(ParameterStore& parameters, double decay);

  /// Takes in the parameters after update `update`, counted from 1.
  void update(std::int64_t update);
  /// Exchanges the values of parameters and average, bit for bit: twice is as before.
  void exchange();

  /// Laid out like ParameterStore::flat().
  const Tensor& values() const noexcept { return values_; }
  double decay() const noexcept { return decay_; }

 private:
  ParameterStore& parameters_;
  double decay_;
  Tensor values_, spare_, weight_;
};

}  // namespace attn
