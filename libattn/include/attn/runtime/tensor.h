#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attn/runtime/device.h"
#include "attn/runtime/dtype.h"
#include "attn/runtime/shape.h"

namespace attn {

/// Remembers operations so that they can be differentiated; the tape of `autograd` is one.
class Recorder;

/// A handle to a dense, row-major array on a device. Copies share the elements. A default-constructed Tensor
/// is absent, which stands for an optional operand that is not given.
class Tensor {
 public:
  Tensor() = default;
  /// Undefined contents.
  Tensor(const std::shared_ptr<Device>& device, const Shape& shape, DType type);

  /// Copies `values` (shape.elements() of them) to the device, converted to `type` on the host.
  template<typename T>
  static Tensor from(const std::shared_ptr<Device>& device, std::span<const T> values, const Shape& shape,
                     DType type = dtype_of<T>);
  static Tensor zeros(const std::shared_ptr<Device>& device, const Shape& shape, DType type);

  bool defined() const noexcept { return storage_ != nullptr; }
  explicit operator bool() const noexcept { return defined(); }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t size(int axis) const { return shape_[axis]; }
  int rank() const noexcept { return shape_.rank(); }
  std::int64_t elements() const noexcept { return shape_.elements(); }
  DType dtype() const noexcept { return type_; }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(elements()) * size_of(type_); }
  Device& device() const noexcept { return storage_->device(); }
  std::shared_ptr<Device> shared_device() const { return storage_->device().shared_from_this(); }
  void* data() const noexcept { return static_cast<char*>(storage_->data()) + offset_; }

  /// The same elements under another shape of equal size, also for gradients. Throws Error(internal) naming
  /// both shapes.
  Tensor reshaped(const Shape& shape) const;
  /// `count` rows of the first axis from `start`, sharing the elements. Detached: gradients do not flow
  /// through it.
  Tensor rows(std::int64_t start, std::int64_t count) const;
  /// `elements` elements from element `start` on, as a tensor of `shape`, sharing the elements. Detached.
  Tensor view(std::int64_t start, const Shape& shape) const;
  /// The same elements, unknown to any recorder.
  Tensor detached() const;

  /// Copies host values into the existing elements; the count must be elements().
  template<typename T>
  void assign(std::span<const T> values) const;
  /// All elements on the host, converted to T. Waits for the device.
  template<typename T>
  std::vector<T> to_vector() const;
  /// The only element. Throws Error(internal) if there is not exactly one.
  double item() const;

  attn_tensor descriptor() const noexcept;
  static attn_tensor absent_descriptor() noexcept;

  Recorder* recorder() const noexcept { return recorder_; }
  std::int32_t variable() const noexcept { return variable_; }
  /// This tensor, known to `recorder` as `variable`.
  Tensor recorded(Recorder* recorder, std::int32_t variable) const;
  /// True if no other tensor shares the elements.
  bool unique() const noexcept { return storage_.use_count() == 1; }

 private:
  std::shared_ptr<Storage> storage_;
  std::size_t offset_ = 0;
  Shape shape_;
  DType type_ = DType::f32;
  std::int32_t variable_ = -1;
  Recorder* recorder_ = nullptr;
};

}  // namespace attn
