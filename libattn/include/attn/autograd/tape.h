#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attn/ops/gradient.h"
#include "attn/runtime/tensor.h"

namespace attn {

/// Records the operations that a forward pass applies to its leaves, and runs their gradient rules in
/// reverse.
///
/// Leaves are watched once; a training step then is: forward pass, backward(loss), optimizer, clear().
class Tape final : public Recorder, private ops::GradientStore {
 public:
  Tape() = default;

  /// Makes `value` a leaf: the result shares its elements and is remembered by this tape. Its gradient is
  /// gathered in `gradient` (of the same shape) if given, which backward() then overwrites, or in a tensor of
  /// the tape's own.
  Tensor watch(const Tensor& value, const Tensor& gradient = {});

  /// Runs the gradient rules. `loss` is a scalar recorded by this tape, or any tensor if `cotangent`, of its
  /// shape, is given. The gradients of leaves that the loss does not depend on are zeros. Throws
  /// Error(internal) if the loss was not recorded here.
  void backward(const Tensor& loss, const Tensor& cotangent = {});

  /// The gradient of a leaf after backward(), in the leaf's shape; undefined before.
  Tensor gradient_of(const Tensor& leaf) const {
    const Tensor found = gradient(leaf);
    return found.defined() ? found.reshaped(leaf.shape()) : found;
  }

  /// Forgets everything but the leaves. What was computed before is a constant afterwards.
  void clear();

  /// While off, operations on this tape's tensors run without being remembered: inference in the middle of
  /// training.
  void set_recording(bool on) noexcept { recording_ = on; }

  /// Operations recorded since the last clear().
  std::size_t size() const noexcept { return nodes_.size(); }

  /// What was recorded, for counting costs and dependence.
  struct Node {
    ops::Call call;
    ops::Tensors outputs;
  };
  std::span<const Node> nodes() const noexcept { return nodes_; }

  void record(const ops::Call& call, ops::Tensors& outputs) override;

 private:
  struct Variable {
    Tensor gradient;
    bool filled = false;  // the gradient has received a first contribution
    bool fixed = false;   // the gradient tensor was given by the user
  };

  bool needs(const Tensor& variable) const override { return index_of(variable).has_value(); }
  Tensor gradient(const Tensor& variable) const override;
  ops::Into into(const Tensor& variable) override;
  void add(const Tensor& variable, const Tensor& contribution) override;
  Variable& of(const Tensor& variable);
  /// Its place in variables_, nothing for what this tape does not know (any more).
  std::optional<std::size_t> index_of(const Tensor& variable) const;

  std::vector<Variable> variables_;
  std::vector<Tensor> leaves_;
  std::vector<Node> nodes_;
  // Leaves are numbered by their place. All other variables are numbered on over clear(), so that a tensor
  // that outlives it is not taken for a later one.
  std::uint32_t forgotten_ = 0;
  bool recording_ = true;
};

}  // namespace attn
