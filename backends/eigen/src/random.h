#pragma once
/*
 * Dropout masks from the random numbers that all backends share (attn/philox.h), many blocks at a time.
 */
#include <cstdint>

#include "attn/philox.h"

namespace attn::eigen {

/// The factors, 0 or 1/(1-rate), by which the elements of one dropped tensor are multiplied. A value: copy it
/// into tasks as you like.
template<class T>
class DropoutMask {
 public:
  /// `random` is the data of the operation's random tensor; it is not read (and may be null) if rate is 0.
  DropoutMask(const std::int32_t* random, std::uint32_t stream, double rate);

  /// False for rate 0: all factors are 1.
  bool active() const { return active_; }
  /// The factor of a kept element.
  T scale() const { return scale_; }

  /// out[j] = the factor of element first + j of the tensor, for j in [0, count).
  void fill(std::int64_t first, std::int64_t count, T* out) const;

  /// y[j] = x[j] times its factor; exactly 0 where dropped, whatever x is. y may be x. With rate 0, y = x.
  void apply(std::int64_t first, std::int64_t count, const T* x, T* y) const;

 private:
  std::int32_t random_[4] = {0, 0, 0, 0};
  std::uint32_t stream_ = 0;
  std::uint32_t threshold_ = 0;
  T scale_ = T(1);
  bool active_ = false;
};

/// The same factors for rows that are much shorter than what the generator makes at once and that follow one
/// another: factors are made ahead and kept. Belongs to one task.
template<class T>
class DropoutRows {
 public:
  explicit DropoutRows(const DropoutMask<T>& mask) : mask_(mask) {}

  bool active() const { return mask_.active(); }
  void fill(std::int64_t first, std::int64_t count, T* out);
  void apply(std::int64_t first, std::int64_t count, const T* x, T* y);

 private:
  static constexpr std::int64_t kKept = 512;
  /// The factor of element `first`, followed by those of the next ones, `count` at least.
  const T* kept(std::int64_t first, std::int64_t count);

  const DropoutMask<T>& mask_;
  std::int64_t start_ = 0, end_ = 0;  // the elements whose factors are kept
  alignas(64) T factors_[kKept];
};

}  // namespace attn::eigen
