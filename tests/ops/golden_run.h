#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attn/autograd/tape.h"
#include "attn/ops/ops.h"
#include "support/golden.h"

namespace attn::test {

/// One golden case computed on one backend in one element type.
class GoldenRun {
 public:
  GoldenRun(const std::string& name, std::shared_ptr<Device> device, DType type)
      : golden(name), device_(std::move(device)), type_(type) {}

  GoldenCase golden;

  /// A dataset as a watched tensor. All leaves come before the first operation.
  Tensor leaf(const std::string& dataset);
  /// The same, absent if the case does not have it.
  Tensor leaf_if_there(const std::string& dataset);
  Tensor constant(const std::string& dataset) const;
  Tensor integers(const std::string& dataset) const;
  Tensor numbers(const std::vector<double>& values, const Shape& shape) const;
  Tensor whole_numbers(const std::vector<std::int32_t>& values, const Shape& shape) const;

  /// Compares with a dataset, element by element.
  void expect(const std::string& dataset, const Tensor& found) const;
  void expect(const std::string& what, const std::vector<double>& found,
              const std::vector<double>& expected) const;

  /// Backward of sum over the outputs of sum(cotangent dataset * output); then every leaf for which the case
  /// has grad_<leaf> is compared with it, and at least one is.
  void expect_gradients(const std::vector<std::pair<std::string, Tensor>>& outputs);
  Tensor gradient(const std::string& leaf) const { return tape_.gradient_of(leaves_.at(leaf)); }
  Tape& tape() { return tape_; }

 private:
  std::shared_ptr<Device> device_;
  DType type_;
  Tape tape_;
  std::map<std::string, Tensor> leaves_;
};

/// Runs a case on every backend that is there, in f64 and f32.
void for_every_backend(const std::string& name, const std::function<void(GoldenRun&)>& run);

/// The ways to mask that agree with the book's for these lengths: the book's alone where a row has no key.
std::vector<attn_masking> maskings_for(const GoldenCase& golden);

}  // namespace attn::test
