#include "complexity_backward.h"

#include <algorithm>
#include <unordered_map>

#include "attn/ops/ops.h"

namespace attn::inspection {
namespace {

// Gradients by the tape's numbers of variables; each is a variable of the recorder.
class WatchedGradients final : public ops::GradientStore {
 public:
  explicit WatchedGradients(DependenceRecorder& recorder) : recorder_(recorder) {}

  bool needs(const Tensor& variable) const override { return variable.variable() >= 0; }
  Tensor gradient(const Tensor& variable) const override {
    const auto found = gradients_.find(variable.variable());
    return found == gradients_.end() ? Tensor{} : found->second;
  }
  ops::Into into(const Tensor& variable) override {
    Tensor& gradient = gradients_[variable.variable()];
    const bool first = !gradient.defined();
    if (first) {
      gradient = recorder_.watch(Tensor(variable.shared_device(), variable.shape(), variable.dtype()), 0);
    } else if (!gradient.unique()) {
      // As the tape does: a gradient that two variables share is copied before it changes.
      gradient = recorder_.watch(ops::copy(gradient.detached()), recorder_.depth(gradient));
    }
    return {gradient, !first};
  }
  void add(const Tensor& variable, const Tensor& contribution) override {
    // What was written in place has lost its mark; it comes from the latest operation of the rule.
    const Tensor value = contribution.recorder() == &recorder_
                             ? contribution
                             : recorder_.watch(contribution, recorder_.latest());
    Tensor& gradient = gradients_[variable.variable()];
    gradient = gradient.defined() ? ops::add(gradient.reshaped(value.shape()), value) : value;
  }
  void drop(const Tensor& variable) { gradients_.erase(variable.variable()); }

 private:
  DependenceRecorder& recorder_;
  std::unordered_map<std::int32_t, Tensor> gradients_;
};

}  // namespace

Tensor DependenceRecorder::watch(const Tensor& value, std::int64_t depth) {
  depths_.push_back(depth);
  return value.recorded(this, static_cast<std::int32_t>(depths_.size() - 1));
}

std::int64_t DependenceRecorder::depth(const Tensor& value) const {
  return value.recorder() == this ? depths_[static_cast<std::size_t>(value.variable())] : 0;
}

void DependenceRecorder::record(const ops::Call& call, ops::Tensors& outputs) {
  std::int64_t depth = 0;
  for (const Tensor& input : call.inputs) {
    if (input.defined()) depth = std::max(depth, this->depth(input));
  }
  depth += length_(call, outputs);
  latest_ = depth;
  longest_ = std::max(longest_, depth);
  for (Tensor& output : outputs) {
    if (!output.defined()) continue;
    if (output.recorder() == this) {  // a target, which may hold earlier contributions
      std::int64_t& known = depths_[static_cast<std::size_t>(output.variable())];
      known = std::max(known, depth);
    } else {
      output = watch(output, depth);
    }
  }
}

void run_backward(std::span<const Tape::Node> nodes, const Tensor& output, DependenceRecorder& recorder,
                  std::int64_t depth) {
  WatchedGradients gradients(recorder);
  gradients.add(output, recorder.watch(ops::full(output.detached(), output.shape(), 1.0), depth));
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const bool reached = std::any_of(node->outputs.begin(), node->outputs.end(), [&](const Tensor& result) {
      return result.defined() && gradients.gradient(result).defined();
    });
    if (reached) {
      ops::Gradient gradient(node->call, node->outputs, gradients);
      node->call.operation->gradient(gradient);
      gradient.finish();
    }
    for (const Tensor& result : node->outputs) {
      if (result.defined()) gradients.drop(result);
    }
  }
}

}  // namespace attn::inspection
