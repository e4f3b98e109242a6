#pragma once
// Descriptors with memory of their own, run through the functions of the plugin.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "attn/backend_abi.h"
#include "attn/op_kinds.h"

namespace attn::eigen::test {

using Sizes = std::vector<std::int64_t>;
using Bytes = std::vector<std::byte>;

class Operation {
 public:
  /// `real` is the type of the floating-point tensors, ATTN_F32 or ATTN_F64.
  Operation(std::string name, std::uint32_t kind, std::int32_t real)
      : name_(std::move(name)), kind_(kind), real_(real) {}

  template<class Params>
  Operation& params(Params params) {
    params.struct_size = sizeof params;
    params_.resize(sizeof params);
    std::memcpy(params_.data(), &params, sizeof params);
    return *this;
  }
  /// Inputs, then outputs, in the order of the signature. What follows applies to the last one added.
  Operation& in(const Sizes& sizes, double low = -1, double high = 1);
  Operation& ids(const Sizes& sizes, int bound);
  /// An optional tensor that is not given; before the first output an input.
  Operation& absent();
  /// An output that is overwritten: nothing that was there may remain or matter.
  Operation& out(const Sizes& sizes);
  Operation& out_ids(const Sizes& sizes);
  /// An output that is also read.
  Operation& in_out(const Sizes& sizes);
  /// The entries of a batch lie along this axis.
  Operation& along(int axis);

  const std::string& name() const { return name_; }
  std::uint32_t kind() const { return kind_; }

  /// The bytes of all outputs after running on copies of the tensors. Fails the test unless query() agrees,
  /// run() succeeds, every output is written completely, and nothing else is written.
  std::vector<Bytes> run(int threads) const;

  /// The same operation on one entry of the batch alone.
  Operation entry(std::int64_t index) const;
  /// What is the entry's in the outputs of the whole batch.
  std::vector<Bytes> entry_of(const std::vector<Bytes>& outputs, std::int64_t index) const;

 private:
  struct Tensor {
    attn_tensor descriptor{};
    Bytes bytes;
    bool overwritten = false;
    int axis = -1;
  };
  static std::size_t element_size(const attn_tensor& descriptor);
  Tensor& add(std::int32_t dtype, const Sizes& sizes);
  void fill(Tensor& tensor, double low, double high);
  static Bytes entry_of(const Tensor& tensor, const Bytes& bytes, std::int64_t index);

  std::string name_;
  std::uint32_t kind_;
  std::int32_t real_;
  std::size_t inputs_ = 0;
  std::vector<Tensor> tensors_;
  Bytes params_;
  std::mt19937 generator_{5};
};

/// Every kind of operation at least once, large enough that the kernels share out the work.
std::vector<Operation> basic_operations(std::int32_t real);
std::vector<Operation> moving_operations(std::int32_t real);
std::vector<Operation> layer_operations(std::int32_t real);
std::vector<Operation> attention_operations(std::int32_t real);
std::vector<Operation> training_operations(std::int32_t real);

}  // namespace attn::eigen::test
