#pragma once
#include <functional>
#include <span>
#include <vector>

#include "attn/autograd/tape.h"
#include "attn/ops/gradient.h"

/// A backward pass that is watched: Tape::backward() runs the same rules, but lets nobody see their
/// operations.
namespace attn::inspection {

/// Sees every operation that touches its variables, and knows for each variable the longest chain of
/// operations that leads to it.
class DependenceRecorder final : public Recorder {
 public:
  /// What one use adds to a chain; called once for every operation, in order.
  using Length = std::function<std::int64_t(const ops::Call&, const ops::Tensors& outputs)>;

  explicit DependenceRecorder(Length length) : length_(std::move(length)) {}

  /// `value` as a variable at the end of a chain of this length.
  Tensor watch(const Tensor& value, std::int64_t depth);
  /// The same variable again, for a tensor that has lost its mark.
  Tensor marked(const Tensor& value, std::int32_t variable) { return value.recorded(this, variable); }
  std::int64_t depth(const Tensor& value) const;

  void record(const ops::Call& call, ops::Tensors& outputs) override;

  std::int64_t longest() const noexcept { return longest_; }
  /// Of the operation that was recorded last.
  std::int64_t latest() const noexcept { return latest_; }

 private:
  Length length_;
  std::vector<std::int64_t> depths_;  // by variable
  std::int64_t longest_ = 0, latest_ = 0;
};

/// Runs the gradient rules of `nodes` in reverse, from a cotangent of ones for `output` at the end of a chain
/// of length `depth`. The nodes stay as they are.
void run_backward(std::span<const Tape::Node> nodes, const Tensor& output, DependenceRecorder& recorder,
                  std::int64_t depth);

}  // namespace attn::inspection
