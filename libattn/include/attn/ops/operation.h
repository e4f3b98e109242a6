#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "attn/core/error.h"
#include "attn/core/static_vector.h"
#include "attn/op_kinds.h"
#include "attn/runtime/tensor.h"

/// What an operation is: its shape rule, its gradient, its cost and its decomposition, one file an operation
/// in libattn/src/ops. The functions that users call are in attn/ops/ops.h.
namespace attn::ops {

class Gradient;

using Tensors = StaticVector<Tensor, ATTN_MAX_TENSORS>;

/// Shape and type of an output.
struct TensorSpec {
  Shape shape;
  DType type = DType::f32;
};
using TensorSpecs = StaticVector<TensorSpec, ATTN_MAX_TENSORS>;

/// A copy of an operation's params struct.
class Params {
 public:
  Params() = default;
  template<typename P>
  requires std::is_trivially_copyable_v<P> Params(
      P params) {  // NOLINT(google-explicit-constructor): a params struct is one
    static_assert(sizeof(P) <= capacity);
    params.struct_size = sizeof(P);
    std::memcpy(bytes_, &params, sizeof(P));
    size_ = sizeof(P);
  }

  template<typename P>
  const P& as() const {
    return *std::launder(reinterpret_cast<const P*>(bytes_));
  }
  const void* data() const noexcept { return size_ > 0 ? bytes_ : nullptr; }
  std::size_t size() const noexcept { return size_; }
  /// Sets the field that all gradient params have in common.
  void set_accumulate(std::uint32_t mask) {
    std::memcpy(bytes_ + offsetof(attn_gradient_params, accumulate), &mask, sizeof mask);
  }

 private:
  static constexpr std::size_t capacity = 96;
  alignas(8) std::byte bytes_[capacity]{};
  std::size_t size_ = 0;
};

struct Operation;

/// One use of an operation: what goes in. An undefined Tensor stands for an absent optional input.
struct Call {
  const Operation* operation = nullptr;
  Tensors inputs;
  Params params;
  std::uint32_t wanted = ~0u;  ///< bit i: output i is computed; optional outputs are asked for here

  bool has(std::size_t input) const { return input < inputs.size() && inputs[input].defined(); }
  const Tensor& input(std::size_t index) const { return inputs[index]; }
  bool wants(std::size_t output) const { return ((wanted >> output) & 1u) != 0; }
};

/// Where an output goes: a new tensor if `target` is undefined, otherwise into `target`, replacing or adding.
struct Into {
  Tensor target;
  bool accumulate = false;
  bool wanted = true;
};

using ShapeRule = TensorSpecs (*)(const Call&);
using GradientRule = void (*)(Gradient&);
/// Floating-point operations of one use; a multiplication and an addition count as two.
using CostRule = double (*)(const Call&, const TensorSpecs& outputs);
/// Computes the outputs from other operations. `into` are the targets given by the caller, for operations
/// whose outputs are read as well.
using Decomposition = Tensors (*)(const Call&, std::span<const Into> into);

/// One row of the list of operations.
struct Operation {
  std::uint32_t kind;
  const char* name;
  ShapeRule shapes = nullptr;             ///< null: the caller gives every output as a target
  GradientRule gradient = nullptr;        ///< null: not differentiable
  CostRule flops = nullptr;               ///< null: moves data only
  Decomposition decomposition = nullptr;  ///< null: a primitive, which every backend has
  bool accumulates = false;               ///< params begin with attn_gradient_params
  /// Bits of outputs that are read as well as written; they must be given as targets.
  std::uint32_t in_out = 0;
};

/// All operations, ordered by kind.
std::span<const Operation* const> all_operations();
/// The operation of this kind, or null.
const Operation* find_operation(std::uint32_t kind);

/// Runs an operation: checks shapes, asks the backend, allocates, runs natively or by decomposition, and lets
/// the recorder of the inputs remember it. Returns one tensor for each output (undefined where it was not
/// wanted). Throws Error(internal) for wrong shapes ("matmul: b is [3, 4], expected ..."), Error(backend) if
/// the backend cannot.
Tensors apply_operation(Call call, std::span<const Into> into = {});

/// apply_operation() for the usual case of one wanted output.
Tensor apply_one(const Operation& operation, Tensors inputs, const Params& params = {});

/// apply_operation() into one existing tensor.
Tensor apply_to(const Operation& operation, const Tensor& target, Tensors inputs, const Params& params = {});

/// Bytes that one use reads and writes: all inputs and outputs once, of tensors partly touched the part.
double bytes_moved(const Call& call, const TensorSpecs& outputs);

/// Throws Error(internal) with this message unless the condition holds; for shape rules.
template<typename... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) fail(ExitCode::internal, format, std::forward<Args>(args)...);
}

}  // namespace attn::ops

namespace attn {

/// Remembers the operations that are applied to tensors which belong to it.
class Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  Recorder(Recorder&&) = delete;
  Recorder& operator=(Recorder&&) = delete;
  virtual ~Recorder() = default;

  /// Called after `call` ran; makes the outputs variables of this recorder.
  virtual void record(const ops::Call& call, ops::Tensors& outputs) = 0;
};

}  // namespace attn
