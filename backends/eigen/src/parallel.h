#pragma once
/*
 * How kernels cut their work into tasks, and from the type in a descriptor to that of a loop.
 */
#include <algorithm>
#include <cstdint>

#include "kernels.h"

namespace attn::eigen {

using backend::columns;
using backend::data;
using backend::Dims;
using backend::dims;
using backend::elements;
using backend::is_present;
using backend::leading;
using backend::rows;

/// Elements of a memory-bound task: some tens of microseconds.
inline constexpr std::int64_t kElementsPerTask = 32768;

/// Calls body(first, count) for pieces of [0, count) of `piece` each: for kernels in which no result depends
/// on how the range is cut.
template<class Body>
void for_pieces(Threads& threads, std::int64_t count, std::int64_t piece, Body&& body) {
  if (count <= 0) return;
  if (threads.count() == 1 || count < 2 * piece) {
    body(std::int64_t{0}, count);
    return;
  }
  threads.parallel((count + piece - 1) / piece, [&](std::int64_t task) {
    const std::int64_t first = task * piece;
    body(first, std::min(piece, count - first));
  });
}

/// The same for rows of `width` elements that each take about `cost` times as long as a copy.
template<class Body>
void for_rows(Threads& threads, std::int64_t row_count, std::int64_t width, std::int64_t cost, Body&& body) {
  const std::int64_t work = std::max<std::int64_t>(width * cost, 1);
  for_pieces(threads, row_count, std::max<std::int64_t>(kElementsPerTask / work, 1), body);
}

/// Calls function(T{}) with T the element type: float or double.
template<class Function>
void with_float_type(std::int32_t dtype, Function&& function) {
  if (dtype == ATTN_F32)
    function(float{});
  else
    function(double{});
}
/// The same for operations that also know i32.
template<class Function>
void with_number_type(std::int32_t dtype, Function&& function) {
  if (dtype == ATTN_I32)
    function(std::int32_t{});
  else
    with_float_type(dtype, function);
}

/// Indices along the axes of a tensor, counted up like an odometer, and where they lead in several tensors.
template<int Tensors>
class Odometer {
 public:
  Odometer(const Dims& sizes, const Dims (&strides)[Tensors]) : sizes_(sizes) {
    for (int t = 0; t < Tensors; ++t) strides_[t] = strides[t];
  }
  std::int64_t offset(int tensor) const { return offsets_[tensor]; }

  void set(std::int64_t position) {
    for (std::int64_t& offset : offsets_) offset = 0;
    for (int axis = sizes_.rank() - 1; axis >= 0; --axis) {
      index_[axis] = position % sizes_[axis];
      position /= sizes_[axis];
      for (int t = 0; t < Tensors; ++t) offsets_[t] += index_[axis] * strides_[t][axis];
    }
  }
  void next() {
    for (int axis = sizes_.rank() - 1; axis >= 0; --axis) {
      for (int t = 0; t < Tensors; ++t) offsets_[t] += strides_[t][axis];
      if (++index_[axis] < sizes_[axis]) return;
      for (int t = 0; t < Tensors; ++t) offsets_[t] -= strides_[t][axis] * sizes_[axis];
      index_[axis] = 0;
    }
  }

 private:
  Dims sizes_;
  Dims strides_[Tensors];
  std::int64_t index_[ATTN_MAX_RANK] = {};
  std::int64_t offsets_[Tensors] = {};
};

/// Joins neighbouring axes that all tensors pass through in equal steps, and leaves out those of size 1. At
/// least one axis remains.
template<int Tensors>
void join_axes(Dims& sizes, Dims (&strides)[Tensors]) {
  Dims joined;
  Dims joined_strides[Tensors];
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    if (sizes[axis] == 1) continue;
    const int last = joined.rank() - 1;
    bool follows = last >= 0;
    for (int t = 0; t < Tensors && follows; ++t) {
      follows = joined_strides[t][last] == strides[t][axis] * sizes[axis];
    }
    if (follows) {
      joined[last] *= sizes[axis];
      for (int t = 0; t < Tensors; ++t) joined_strides[t][last] = strides[t][axis];
    } else {
      joined.push_back(sizes[axis]);
      for (int t = 0; t < Tensors; ++t) joined_strides[t].push_back(strides[t][axis]);
    }
  }
  if (joined.rank() == 0) {
    joined.push_back(1);
    for (Dims& strided : joined_strides) strided.push_back(1);
  }
  sizes = joined;
  for (int t = 0; t < Tensors; ++t) strides[t] = joined_strides[t];
}

/// The sizes of all axes but the last.
inline Dims without_last(const Dims& sizes) {
  return Dims(sizes.begin(), sizes.rank() - 1);
}

}  // namespace attn::eigen
