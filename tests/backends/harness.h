#pragma once
// Runs one operation of a plugin on tensors that are written down as numbers, through the C table alone.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/backend_abi.h"
#include "attn/op_kinds.h"

namespace attn::test {

using Sizes = std::vector<int64_t>;
using Values = std::vector<double>;

/// A tensor on the host. Every element type is held as f64; bf16 as its bit pattern.
struct Tensor {
  int32_t dtype = ATTN_F32;
  Sizes sizes;
  Values values;
  bool present = true;
};

/// An optional tensor that is not given.
Tensor absent();
Tensor filled(int32_t dtype, Sizes sizes, double value);
Tensor i32(Sizes sizes, Values values);
/// An i32 tensor for an operation to overwrite: what is left of its contents shows in the comparison.
Tensor i32_output(Sizes sizes);

/// Makes f32 or f64 tensors, so that a case is written once for both.
struct Real {
  int32_t dtype;
  Tensor operator()(Sizes sizes, Values values) const;
  /// A tensor for an operation to overwrite, full of NaN.
  Tensor output(Sizes sizes) const;
};

/// Fails the test unless type, shape and values agree, to within what the type can hold.
void check_equal(const Tensor& actual, const Tensor& expected);

/// A descriptor that owns everything it needs.
class Operation {
 public:
  explicit Operation(uint32_t kind) : kind_(kind) {}

  /// Sets struct_size as a sender does.
  template<typename Params>
  Operation& params(Params value) {
    static_assert(std::is_trivially_copyable_v<Params>);
    value.struct_size = sizeof(Params);
    params_.resize(sizeof(Params));
    std::memcpy(params_.data(), &value, sizeof(Params));
    return *this;
  }
  /// As if sent by a program with a shorter or longer struct; what is appended is not 0.
  Operation& resize_params(std::size_t bytes);
  Operation& input(Tensor tensor);
  /// `tensor` is what the memory holds before.
  Operation& output(Tensor tensor);
  /// The output uses the memory of an input, and its values.
  Operation& aliased_output(std::size_t input);

  uint32_t kind() const { return kind_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  /// For each output the input whose memory it uses, or -1.
  const std::vector<int>& aliases() const { return aliases_; }
  const void* params_data() const { return params_.empty() ? nullptr : params_.data(); }
  /// The descriptor with these tensors, inputs first.
  attn_op descriptor(const std::vector<attn_tensor>& tensors) const;

 private:
  uint32_t kind_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<int> aliases_;
  std::vector<std::byte> params_;
};

attn_tensor describe(const Tensor& tensor, void* data);

/// A plugin file that this processor can run.
struct Plugin {
  std::string file;
  const attn_backend* table;
};
const std::vector<Plugin>& plugins();

/// A plugin with a context open on its device 0.
class Backend {
 public:
  explicit Backend(const Plugin& plugin);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const attn_backend& table() const { return *table_; }
  attn_context* context() const { return context_; }

  attn_support query(const Operation& operation) const;
  /// Runs one operation that query() accepts; the test fails if it does not succeed. Returns the outputs.
  std::vector<Tensor> run(const Operation& operation) const;
  /// Runs several as one batch and returns what run() reported.
  attn_error try_run(const std::vector<Operation>& operations, std::vector<Tensor>* outputs = nullptr) const;

 private:
  const attn_backend* table_;
  attn_context* context_ = nullptr;
};

/// Calls the case for each plugin that has a device.
void for_each_backend(const std::function<void(const Backend&)>& test);
/// The same for f32 and for f64.
void for_each_backend_and_type(const std::function<void(const Backend&, const Real&)>& test);

}  // namespace attn::test
