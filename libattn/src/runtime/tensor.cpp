#include "attn/runtime/tensor.h"

#include <algorithm>
#include <type_traits>

#include "attn/core/error.h"
#include "attn/op_kinds.h"

namespace attn {
namespace {

template<typename To, typename From>
std::vector<To> converted(std::span<const From> values) {
  std::vector<To> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(),
                 [](From value) { return static_cast<To>(value); });
  return result;
}

// Calls `use` with an object of the C++ type of a numeric DType.
template<typename Use>
decltype(auto) with_type(DType type, Use&& use) {
  switch (type) {
    case DType::f32:
      return use(float{});
    case DType::f64:
      return use(double{});
    case DType::i32:
      return use(std::int32_t{});
    default:
      fail(ExitCode::internal, "host values of type {} cannot be converted", name_of(type));
  }
}

}  // namespace

Tensor::Tensor(const std::shared_ptr<Device>& device, const Shape& shape, DType type)
    : storage_(device->allocate(static_cast<std::size_t>(shape.elements()) * size_of(type))),
      shape_(shape),
      type_(type) {}

template<typename T>
Tensor Tensor::from(const std::shared_ptr<Device>& device, std::span<const T> values, const Shape& shape,
                    DType type) {
  Tensor result(device, shape, type);
  result.assign(values);
  return result;
}

Tensor Tensor::zeros(const std::shared_ptr<Device>& device, const Shape& shape, DType type) {
  Tensor result(device, shape, type);
  attn_fill_params params{sizeof params, 0, 0.0};
  const attn_tensor output = result.descriptor();
  device->enqueue(attn_op{ATTN_OP_FILL, 0, 1, &output, &params}, sizeof params, "fill");
  return result;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  if (shape.elements() != elements()) {
    fail(ExitCode::internal, "a tensor of shape {} cannot be seen as {}", shape_.to_string(),
         shape.to_string());
  }
  Tensor result = *this;
  result.shape_ = shape;
  return result;
}

Tensor Tensor::rows(std::int64_t start, std::int64_t count) const {
  if (start < 0 || count < 0 || start > shape_[0] || count > shape_[0] - start) {
    fail(ExitCode::internal, "{} rows from row {} on do not exist in a tensor of shape {}", count, start,
         shape_.to_string());
  }
  const std::int64_t row = shape_[0] == 0 ? 0 : elements() / shape_[0];
  return view(start * row, shape_.with(0, count));
}

Tensor Tensor::view(std::int64_t start, const Shape& shape) const {
  if (start < 0 || start > elements() || shape.elements() > elements() - start) {
    fail(ExitCode::internal, "a view of shape {} from element {} leaves a tensor of shape {}",
         shape.to_string(), start, shape_.to_string());
  }
  Tensor result = detached();
  result.offset_ += static_cast<std::size_t>(start) * size_of(type_);
  result.shape_ = shape;
  return result;
}

Tensor Tensor::detached() const {
  Tensor result = *this;
  result.recorder_ = nullptr;
  result.variable_ = -1;
  return result;
}

template<typename T>
void Tensor::assign(std::span<const T> values) const {
  if (static_cast<std::int64_t>(values.size()) != elements()) {
    fail(ExitCode::internal, "{} values for a tensor of shape {}", values.size(), shape_.to_string());
  }
  with_type(type_, [&](auto example) {
    using Element = decltype(example);
    if constexpr (std::is_same_v<Element, T>) {
      device().upload(data(), values.data(), bytes());
    } else {
      device().upload(data(), converted<Element>(values).data(), bytes());
    }
  });
}

template<typename T>
std::vector<T> Tensor::to_vector() const {
  return with_type(type_, [&](auto example) {
    using Element = decltype(example);
    std::vector<Element> values(static_cast<std::size_t>(elements()));
    device().download(values.data(), data(), bytes());
    if constexpr (std::is_same_v<Element, T>) {
      return values;
    } else {
      return converted<T>(std::span<const Element>(values));
    }
  });
}

double Tensor::item() const {
  if (elements() != 1) fail(ExitCode::internal, "item() of a tensor of shape {}", shape_.to_string());
  return to_vector<double>().front();
}

attn_tensor Tensor::descriptor() const noexcept {
  if (!defined()) return absent_descriptor();
  attn_tensor result{data(), static_cast<std::int32_t>(type_), shape_.rank(), {}};
  std::copy(shape_.dims().begin(), shape_.dims().end(), result.dims);
  return result;
}

attn_tensor Tensor::absent_descriptor() noexcept {
  return attn_tensor{nullptr, ATTN_F32, -1, {}};
}

Tensor Tensor::recorded(Recorder* recorder, std::int32_t variable) const {
  Tensor result = *this;
  result.recorder_ = recorder;
  result.variable_ = variable;
  return result;
}

template Tensor Tensor::from(const std::shared_ptr<Device>&, std::span<const float>, const Shape&, DType);
template Tensor Tensor::from(const std::shared_ptr<Device>&, std::span<const double>, const Shape&, DType);
template Tensor Tensor::from(const std::shared_ptr<Device>&, std::span<const std::int32_t>, const Shape&,
                             DType);
template void Tensor::assign(std::span<const float>) const;
template void Tensor::assign(std::span<const double>) const;
template void Tensor::assign(std::span<const std::int32_t>) const;
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;
template std::vector<std::int32_t> Tensor::to_vector() const;

}  // namespace attn
