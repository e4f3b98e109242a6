#pragma once
#include "attn/ops/operation.h"

namespace attn::ops {

/// Where gradients of variables are kept while a tape runs backward.
class GradientStore {
 public:
  GradientStore() = default;
  GradientStore(const GradientStore&) = delete;
  GradientStore& operator=(const GradientStore&) = delete;
  GradientStore(GradientStore&&) = delete;
  GradientStore& operator=(GradientStore&&) = delete;
  virtual ~GradientStore() = default;

  virtual bool needs(const Tensor& variable) const = 0;
  /// The gradient gathered so far, undefined if none reached the variable.
  virtual Tensor gradient(const Tensor& variable) const = 0;
  /// A buffer that takes the next contribution, and whether to add to it.
  virtual Into into(const Tensor& variable) = 0;
  /// Adds a contribution that is a tensor of its own.
  virtual void add(const Tensor& variable, const Tensor& contribution) = 0;
};

/// What a gradient rule sees of one recorded use of its operation.
class Gradient {
 public:
  Gradient(const Call& call, const Tensors& outputs, GradientStore& store)
      : call_(call), outputs_(outputs), store_(store) {}

  /// Inputs and outputs of the forward use, unknown to any recorder; undefined if absent.
  Tensor input(std::size_t index) const {
    return call_.has(index) ? call_.inputs[index].detached() : Tensor{};
  }
  Tensor output(std::size_t index) const { return outputs_[index].detached(); }
  template<typename P>
  const P& params() const {
    return call_.params.as<P>();
  }

  /// The gradient that reached an output, in the output's shape; undefined if none did.
  Tensor of(std::size_t output) const {
    if (!outputs_[output].defined()) return {};
    const Tensor gradient = store_.gradient(outputs_[output]);
    return gradient.defined() ? gradient.reshaped(outputs_[output].shape()) : gradient;
  }
  /// The same, zeros if none did.
  Tensor of_or_zeros(std::size_t output) const {
    if (Tensor gradient = of(output)) return gradient;
    const Tensor& value = outputs_[output];
    return Tensor::zeros(value.shared_device(), value.shape(), value.dtype());
  }

  bool needs(std::size_t input) const { return call_.has(input) && store_.needs(call_.inputs[input]); }
  /// A target for the gradient of an input, not wanted if no gradient is needed there. Targets of one use
  /// never share memory, even if two inputs are the same variable.
  Into into(std::size_t input) {
    if (!needs(input)) return {{}, false, false};
    const Tensor& variable = call_.inputs[input];
    for (const Tensor& other : targeted_) {
      if (other.variable() != variable.variable()) continue;
      deferred_.push_back({input, Tensor(variable.shared_device(), variable.shape(), variable.dtype())});
      return {deferred_[deferred_.size() - 1].contribution, false, true};
    }
    targeted_.push_back(variable);
    Into result = store_.into(variable);
    result.target = result.target.reshaped(variable.shape());
    return result;
  }
  /// Adds a finished contribution to the gradient of an input; does nothing where none is needed.
  void add(std::size_t input, const Tensor& contribution) {
    if (needs(input)) store_.add(call_.inputs[input], contribution);
  }
  /// Called after the rule: adds what went into targets of its own because its variable already had one.
  void finish() {
    for (const Deferred& deferred : deferred_)
      store_.add(call_.inputs[deferred.input], deferred.contribution);
    deferred_.clear();
  }

 private:
  struct Deferred {
    std::size_t input;
    Tensor contribution;
  };

  const Call& call_;
  const Tensors& outputs_;
  GradientStore& store_;
  Tensors targeted_;
  StaticVector<Deferred, ATTN_MAX_TENSORS> deferred_;
};

}  // namespace attn::ops
