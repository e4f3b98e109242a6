// Operations that say where elements go. Those for any type work on bytes.
#include <cmath>
#include <cstring>

#include "parallel.h"
#include "vector_loops.h"

namespace attn::eigen {
namespace {

void copy_bytes(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0) std::memmove(to, from, static_cast<std::size_t>(bytes));
}

// to[j][i] = from[i][j] for a plane of which `to` is dense along i and `from` is dense along j.
template<class Element>
void transpose_plane(std::int64_t rows, std::int64_t columns, const Element* from, std::int64_t from_step,
                     Element* to, std::int64_t to_step) {
  constexpr std::int64_t tile = 16;
  for (std::int64_t j0 = 0; j0 < columns; j0 += tile) {
    const std::int64_t j1 = std::min(columns, j0 + tile);
    for (std::int64_t i0 = 0; i0 < rows; i0 += tile) {
      const std::int64_t i1 = std::min(rows, i0 + tile);
      for (std::int64_t j = j0; j < j1; ++j) {
        for (std::int64_t i = i0; i < i1; ++i) to[j * to_step + i] = from[i * from_step + j];
      }
    }
  }
}

// The dense tensor `to` of these sizes = elements of `from` at these strides.
template<class Element>
void copy_strided(Threads& threads, Dims sizes, const Dims& from_strides, const void* source, void* target) {
  if (sizes.elements() == 0) return;
  const auto* from = static_cast<const Element*>(source);
  auto* to = static_cast<Element*>(target);
  Dims strides[2] = {from_strides, backend::dense_strides(sizes)};
  join_axes(sizes, strides);
  const int last = sizes.rank() - 1;
  const std::int64_t width = sizes[last], step = strides[0][last];
  // The axis along which the source is dense, if that is another one than the last.
  int dense = last;
  for (int axis = 0; axis < last && step != 1; ++axis) {
    if (strides[0][axis] == 1) dense = axis;
  }
  Dims outer_sizes, outer[2];
  for (int axis = 0; axis < last; ++axis) {
    if (axis == dense) continue;
    outer_sizes.push_back(sizes[axis]);
    outer[0].push_back(strides[0][axis]);
    outer[1].push_back(strides[1][axis]);
  }
  const std::int64_t plane = dense == last ? width : width * sizes[dense];
  for_rows(threads, outer_sizes.elements(), plane, 1, [&](std::int64_t first, std::int64_t count) {
    Odometer<2> position(outer_sizes, outer);
    position.set(first);
    for (std::int64_t n = 0; n < count; ++n, position.next()) {
      const Element* part = from + position.offset(0);
      Element* row = to + position.offset(1);
      if (dense != last) {
        transpose_plane(width, sizes[dense], part, step, row, strides[1][dense]);
      } else if (step == 1) {
        std::memcpy(row, part, static_cast<std::size_t>(width) * sizeof(Element));
      } else {
        for (std::int64_t i = 0; i < width; ++i) row[i] = part[i * step];
      }
    }
  });
}

void copy_strided_of_size(Threads& threads, std::size_t element, const Dims& sizes, const Dims& strides,
                          const void* from, void* to) {
  switch (element) {
    case 8:
      return copy_strided<std::uint64_t>(threads, sizes, strides, from, to);
    case 4:
      return copy_strided<std::uint32_t>(threads, sizes, strides, from, to);
    case 2:
      return copy_strided<std::uint16_t>(threads, sizes, strides, from, to);
    default:
      return copy_strided<std::uint8_t>(threads, sizes, strides, from, to);
  }
}

std::int64_t slice_start(const OpView& op, const Dims& strides) {
  const auto params = op.params<attn_slice_params>();
  std::int64_t offset = 0;
  for (int axis = 0; axis < strides.rank(); ++axis) offset += params.start[axis] * strides[axis];
  return offset;
}

// A number as another type; into i32 towards zero, the nearest one in range, 0 for NaN.
template<class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<To, std::int32_t> && !std::is_same_v<From, std::int32_t>) {
    if (!(value > From(-2147483648.0))) return value <= From(-2147483648.0) ? INT32_MIN : 0;
    return value < From(2147483648.0) ? static_cast<std::int32_t>(value) : INT32_MAX;
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

void run_fill(const OpView& op, KernelContext& context) {
  const attn_tensor& y = op.output(0);
  const double value = op.params<attn_fill_params>().value;
  with_number_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    T* to = data<T>(y);
    const T number = converted<T>(value);
    for_pieces(context.threads, elements(y), 2 * kElementsPerTask,
               [=](std::int64_t first, std::int64_t count) { std::fill_n(to + first, count, number); });
  });
}

void run_copy(const OpView& op, KernelContext& context) {
  const attn_tensor& y = op.output(0);
  const auto size = static_cast<std::int64_t>(backend::element_size(y.dtype));
  const char* from = data<const char>(op.input(0));
  char* to = data<char>(y);
  for_pieces(context.threads, elements(y) * size, 8 * kElementsPerTask,
             [=](std::int64_t first, std::int64_t count) { copy_bytes(to + first, from + first, count); });
}

void run_cast(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  with_number_type(x.dtype, [&](auto from_type) {
    with_number_type(y.dtype, [&](auto to_type) {
      using From = decltype(from_type);
      using To = decltype(to_type);
      const From* from = data<const From>(x);
      To* to = data<To>(y);
      for_pieces(context.threads, elements(y), kElementsPerTask, [=](std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count; ++i) to[i] = converted<To>(from[i]);
      });
    });
  });
}

void run_permute(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const auto params = op.params<attn_permute_params>();
  const Dims x_strides = backend::dense_strides(dims(x));
  Dims strides;
  for (int axis = 0; axis < y.rank; ++axis) strides.push_back(x_strides[params.axes[axis]]);
  copy_strided_of_size(context.threads, backend::element_size(y.dtype), dims(y), strides, x.data, y.data);
}

void run_slice(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const Dims strides = backend::dense_strides(dims(x));
  const auto size = static_cast<std::int64_t>(backend::element_size(y.dtype));
  if (elements(y) == 0) return;
  copy_strided_of_size(context.threads, backend::element_size(y.dtype), dims(y), strides,
                       data<const char>(x) + slice_start(op, strides) * size, y.data);
}

template<class T>
void run_slice_add(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  if (elements(x) == 0) return;
  Dims sizes = dims(x);
  Dims strides[2] = {backend::dense_strides(dims(y)), backend::dense_strides(sizes)};
  const T* from = data<const T>(x);
  T* to = data<T>(y) + slice_start(op, strides[0]);
  join_axes(sizes, strides);
  const std::int64_t width = sizes.last(), step = strides[0].last();
  const Dims outer_sizes = without_last(sizes);
  const Dims outer[2] = {without_last(strides[0]), without_last(strides[1])};
  for_rows(context.threads, outer_sizes.elements(), width, 1, [&](std::int64_t first, std::int64_t count) {
    Odometer<2> position(outer_sizes, outer);
    position.set(first);
    for (std::int64_t n = 0; n < count; ++n, position.next()) {
      T* row = to + position.offset(0);
      const T* part = from + position.offset(1);
      if (step == 1) {
        transform<T>(
            width, row, [](Vec<T> a, Vec<T> b) { return a + b; }, row, part);
      } else {
        for (std::int64_t i = 0; i < width; ++i) row[i * step] += part[i];
      }
    }
  });
}

void run_concatenate(const OpView& op, KernelContext& context) {
  const attn_tensor& y = op.output(0);
  const int axis = op.params<attn_concatenate_params>().axis;
  const auto run_bytes = [axis](const attn_tensor& tensor) {
    return dims(tensor).product(axis, tensor.rank) *
           static_cast<std::int64_t>(backend::element_size(tensor.dtype));
  };
  const std::int64_t y_bytes = run_bytes(y);
  for_rows(context.threads, dims(y).product(0, axis), y_bytes / 4, 1,
           [&](std::int64_t first, std::int64_t count) {
             std::int64_t start = 0;
             for (int input = 0; input < op.input_count(); ++input) {
               const attn_tensor& x = op.input(input);
               const std::int64_t bytes = run_bytes(x);
               if (bytes == 0) continue;
               for (std::int64_t i = first; i < first + count; ++i) {
                 copy_bytes(data<char>(y) + start + i * y_bytes, data<const char>(x) + i * bytes, bytes);
               }
               start += bytes;
             }
           });
}

void run_kv_append(const OpView& op, KernelContext&) {
  const attn_tensor &x = op.input(0), &cache = op.output(0);
  const std::int64_t position = *data<const std::int32_t>(op.input(1));
  const std::int64_t steps = x.dims[1], capacity = cache.dims[1];
  if (position < 0 || position > capacity - steps) {
    throw backend::BackendError(
        ATTN_INVALID, backend::message("%lld steps at position %lld are not inside a cache of %lld",
                                       static_cast<long long>(steps), static_cast<long long>(position),
                                       static_cast<long long>(capacity)));
  }
  const std::int64_t row = x.dims[2] * static_cast<std::int64_t>(backend::element_size(x.dtype));
  for (std::int64_t b = 0; b < x.dims[0]; ++b) {
    copy_bytes(data<char>(cache) + (b * capacity + position) * row, data<const char>(x) + b * steps * row,
               steps * row);
  }
}

template void run_slice_add<float>(const OpView&, KernelContext&);
template void run_slice_add<double>(const OpView&, KernelContext&);

}  // namespace attn::eigen
