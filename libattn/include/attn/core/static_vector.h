#pragma once
#include <array>
#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <utility>

namespace attn {

/// A vector of at most `capacity` elements that never touches the heap: operations have few inputs and
/// outputs, and an allocation for each would cost more than many of the operations themselves.
template<typename T, std::size_t capacity>
class StaticVector {
 public:
  StaticVector() noexcept {}  // NOLINT(modernize-use-equals-default): defaulted, {} would clear the bytes
  StaticVector(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }
  StaticVector(const StaticVector& other) {
    for (const T& value : other) push_back(value);
  }
  StaticVector(StaticVector&& other) noexcept {
    for (T& value : other) push_back(std::move(value));
  }
  StaticVector& operator=(const StaticVector& other) {
    if (this == &other) return *this;
    clear();
    for (const T& value : other) push_back(value);
    return *this;
  }
  StaticVector& operator=(StaticVector&& other) noexcept {
    if (this == &other) return *this;
    clear();
    for (T& value : other) push_back(std::move(value));
    return *this;
  }
  ~StaticVector() { clear(); }

  void push_back(T value) {
    assert(size_ < capacity);
    ::new (static_cast<void*>(data() + size_)) T(std::move(value));
    ++size_;
  }
  void clear() noexcept {
    while (size_ > 0) data()[--size_].~T();
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return std::launder(reinterpret_cast<T*>(bytes_.data())); }
  const T* data() const noexcept { return std::launder(reinterpret_cast<const T*>(bytes_.data())); }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](std::size_t index) {
    assert(index < size_);
    return data()[index];
  }
  const T& operator[](std::size_t index) const {
    assert(index < size_);
    return data()[index];
  }

 private:
  alignas(T) std::array<std::byte, sizeof(T) * capacity> bytes_;
  std::size_t size_ = 0;
};

}  // namespace attn
