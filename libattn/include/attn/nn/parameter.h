#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/autograd/tape.h"
#include "attn/runtime/tensor.h"

namespace attn {

/// How a parameter gets its first values.
struct Initialization {
  enum class Kind { zeros, ones, uniform, normal } kind = Kind::zeros;
  double spread =
      0.0;  ///< uniform: the limit, values lie in [-spread, spread); normal: the standard deviation

  static Initialization zeros() { return {Kind::zeros, 0.0}; }
  static Initialization ones() { return {Kind::ones, 0.0}; }
  static Initialization uniform(double limit) { return {Kind::uniform, limit}; }
  static Initialization normal(double standard_deviation) { return {Kind::normal, standard_deviation}; }
  /// Uniform with limit sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio, 2010).
  static Initialization xavier(std::int64_t fan_in, std::int64_t fan_out);
};

/// A named tensor of a model: a weight that is trained, or a statistic that is only kept.
struct Parameter {
  std::string path;  ///< "encoder.blocks.0.attention.W_q.weight"
  Shape shape;
  Initialization initialization;
  bool trainable = true;
  Tensor tensor;    ///< the value; while training, known to the tape
  Tensor gradient;  ///< while training
};
using ParameterHandle = std::shared_ptr<Parameter>;

/// All parameters of a model. The trainable ones lie one after another in one flat tensor, so that an
/// optimizer step, a norm or a clipping is a single operation however many parameters there are.
class ParameterStore {
 public:
  ParameterStore(std::shared_ptr<Device> device, DType type) : device_(std::move(device)), type_(type) {}

  /// Declares a parameter. Throws Error(internal) if the path is taken, or after materialise().
  ParameterHandle add(const std::string& path, const Shape& shape, const Initialization& initialization,
                      bool trainable = true);
  /// Allocates all parameters and draws their first values; each depends on the seed and its own path only.
  /// Without a seed all are 0, for values that are loaded.
  void materialise(std::optional<std::uint64_t> seed);

  /// Makes the trainable parameters leaves of a tape, with gradients in flat_gradients().
  void train_with(Tape& tape);
  /// Ends train_with: the parameters are plain tensors again.
  void stop_training();

  std::span<const ParameterHandle> all() const noexcept { return parameters_; }
  /// The parameter of this path, or null.
  ParameterHandle find(std::string_view path) const;
  /// Number of trainable elements (without the padding of the flat tensor).
  std::int64_t count() const noexcept { return count_; }
  /// The trainable parameters, padding in between included; `like_flat` makes tensors of the same layout.
  const Tensor& flat() const noexcept { return flat_; }
  const Tensor& flat_gradients() const noexcept { return gradients_; }
  /// The part of a tensor laid out like flat() that belongs to a trainable parameter, in the parameter's
  /// shape.
  Tensor part(const Tensor& flat, const Parameter& parameter) const;

  const std::shared_ptr<Device>& device() const noexcept { return device_; }
  DType dtype() const noexcept { return type_; }

 private:
  std::int64_t offset_of(const Parameter& parameter) const;

  std::shared_ptr<Device> device_;
  DType type_;
  std::vector<ParameterHandle> parameters_;
  std::vector<std::int64_t> offsets_;  // in flat_, -1 for those that are not trainable
  std::int64_t count_ = 0;
  Tensor flat_, gradients_;
};

/// A place in a model from which modules declare their parameters: `scope / "encoder" / "W_q"`.
class Scope {
 public:
  explicit Scope(ParameterStore& store, std::string path = {}) : store_(&store), path_(std::move(path)) {}

  Scope operator/(std::string_view name) const {
    return Scope(*store_, path_.empty() ? std::string(name) : path_ + "." + std::string(name));
  }
  Scope operator/(std::int64_t index) const { return *this / std::to_string(index); }

  ParameterHandle parameter(std::string_view name, const Shape& shape, const Initialization& initialization,
                            bool trainable = true) const {
    return store_->add((*this / name).path_, shape, initialization, trainable);
  }
  ParameterStore& store() const noexcept { return *store_; }

 private:
  ParameterStore* store_;
  std::string path_;
};

}  // namespace attn
