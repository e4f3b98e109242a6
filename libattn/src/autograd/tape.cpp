#include "attn/autograd/tape.h"

#include <algorithm>

#include "attn/core/error.h"
#include "attn/ops/ops.h"

namespace attn {

Tensor Tape::watch(const Tensor& value, const Tensor& gradient) {
  if (!nodes_.empty()) fail(ExitCode::internal, "a leaf is watched while operations are recorded");
  if (gradient.defined() && gradient.shape() != value.shape()) {
    fail(ExitCode::internal, "a gradient of shape {} for a leaf of shape {}", gradient.shape(),
         value.shape());
  }
  const auto index = static_cast<std::int32_t>(variables_.size());
  variables_.push_back({gradient.detached(), false, gradient.defined()});
  leaves_.push_back(value.detached());
  return value.recorded(this, index);
}

void Tape::record(const ops::Call& call, ops::Tensors& outputs) {
  // What has no gradient rule gives constants.
  if (!recording_ || call.operation->gradient == nullptr) return;
  if (std::none_of(call.inputs.begin(), call.inputs.end(), [this](const Tensor& x) { return needs(x); }))
    return;
  for (Tensor& output : outputs) {
    if (!output.defined()) continue;
    const auto number = static_cast<std::int32_t>(variables_.size() + forgotten_);
    variables_.emplace_back();
    output = output.recorded(this, number);
  }
  nodes_.push_back({call, outputs});
}

void Tape::backward(const Tensor& loss, const Tensor& cotangent) {
  if (!needs(loss)) fail(ExitCode::internal, "backward() of a tensor that this tape did not record");
  if (cotangent.defined() && cotangent.shape() != loss.shape()) {
    fail(ExitCode::internal, "backward() of a tensor of shape {} with a cotangent of shape {}", loss.shape(),
         cotangent.shape());
  }
  if (!cotangent.defined() && loss.elements() != 1) {
    fail(ExitCode::internal, "backward() of a tensor of shape {} needs a cotangent", loss.shape());
  }
  for (Variable& variable : variables_) variable.filled = false;
  add(loss, cotangent.defined() ? cotangent : ops::full(loss, loss.shape(), 1.0));

  while (!nodes_.empty()) {
    Node& node = nodes_.back();
    bool reached = false;
    for (const Tensor& output : node.outputs) reached = reached || (output.defined() && of(output).filled);
    if (reached) {
      ops::Gradient gradient(node.call, node.outputs, *this);
      node.call.operation->gradient(gradient);
      gradient.finish();
    }
    // Everything that only this node needed goes back to the allocator now, not at the end of the pass.
    for (const Tensor& output : node.outputs) {
      if (output.defined()) of(output).gradient = {};
    }
    nodes_.pop_back();
  }
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (variables_[i].filled) continue;
    add(leaves_[i].recorded(this, static_cast<std::int32_t>(i)),
        ops::full(leaves_[i], leaves_[i].shape(), 0.0));
  }
  clear();
}

void Tape::clear() {
  constexpr std::uint32_t most = 1u << 30;
  nodes_.clear();
  forgotten_ += static_cast<std::uint32_t>(variables_.size() - leaves_.size());
  if (forgotten_ > most) forgotten_ = 0;
  variables_.resize(leaves_.size());
}

Tape::Variable& Tape::of(const Tensor& variable) {
  return variables_[*index_of(variable)];
}

std::optional<std::size_t> Tape::index_of(const Tensor& variable) const {
  if (variable.recorder() != this || variable.variable() < 0) return std::nullopt;
  const auto number = static_cast<std::size_t>(variable.variable());
  if (number < leaves_.size()) return number;
  if (number < leaves_.size() + forgotten_ || number >= variables_.size() + forgotten_) return std::nullopt;
  return number - forgotten_;
}

Tensor Tape::gradient(const Tensor& variable) const {
  const auto index = index_of(variable);
  if (!index || !variables_[*index].filled) return {};
  return variables_[*index].gradient;
}

ops::Into Tape::into(const Tensor& variable) {
  Variable& entry = of(variable);
  const bool first = !entry.filled;
  if (first && !entry.fixed)
    entry.gradient = Tensor(variable.shared_device(), variable.shape(), variable.dtype());
  // A gradient that another variable shares (a residual connection hands one on to both) is copied before it
  // changes.
  if (!first && !entry.fixed && !entry.gradient.unique()) entry.gradient = ops::copy(entry.gradient);
  entry.filled = true;
  return {entry.gradient, !first};
}

void Tape::add(const Tensor& variable, const Tensor& contribution) {
  Variable& entry = of(variable);
  const Tensor value = contribution.detached();
  if (entry.filled) {
    const Tensor total = ops::add(entry.gradient.reshaped(value.shape()), value);
    if (entry.fixed)
      ops::copy_into(entry.gradient, total);
    else
      entry.gradient = total;
  } else if (entry.fixed) {
    ops::copy_into(entry.gradient, value);
  } else {
    entry.gradient = value;
  }
  entry.filled = true;
}

}  // namespace attn
