#include "kernels.h"
#include "movement.cuh"
#include "window.h"

namespace attn::cuda {

namespace {

/// Calls function(Unit{}) with an integer of the size of the elements.
template<typename Function>
void with_unit(int32_t dtype, Function function) {
  switch (backend::element_size(dtype)) {
    case 1:
      return function(uint8_t{});
    case 2:
      return function(uint16_t{});
    case 4:
      return function(uint32_t{});
    default:
      return function(uint64_t{});
  }
}

void copy_strided(Call& call, const attn_tensor& to, int64_t to_start, const attn_tensor& from,
                  int64_t from_start, const Walk<2>& walk) {
  with_unit(to.dtype, [&](auto unit) {
    using Unit = decltype(unit);
    launch(call.stream, element_blocks(walk.count), element_threads, strided_copy_kernel<Unit>,
           data<Unit>(to) + to_start, data<const Unit>(from) + from_start, walk);
  });
}

/// The offset of the first element of a slice.
int64_t slice_start(const OpView& op, const Dims& strides) {
  const auto params = op.params<attn_slice_params>();
  int64_t offset = 0;
  for (int axis = 0; axis < strides.rank(); ++axis) offset += params.start[axis] * strides[axis];
  return offset;
}

}  // namespace

void run_permute(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const auto params = op.params<attn_permute_params>();
  const Dims x_strides = backend::dense_strides(dims(x));
  Dims from;
  for (int axis = 0; axis < y.rank; ++axis) from.push_back(x_strides[params.axes[axis]]);
  copy_strided(call, y, 0, x, 0, make_walk<2>(dims(y), {backend::dense_strides(dims(y)), from}));
}

void run_slice(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const Dims from = backend::dense_strides(dims(x));
  copy_strided(call, y, 0, x, slice_start(op, from),
               make_walk<2>(dims(y), {backend::dense_strides(dims(y)), from}));
}

template<typename T>
void run_slice_add(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const Dims to = backend::dense_strides(dims(y));
  const auto walk = make_walk<2>(dims(x), {to, backend::dense_strides(dims(x))});
  launch(call.stream, element_blocks(walk.count), element_threads, strided_add_kernel<T>,
         data<T>(y) + slice_start(op, to), data<const T>(x), walk);
}

void run_concatenate(const OpView& op, Call& call) {
  const attn_tensor& y = op.output(0);
  const int axis = op.params<attn_concatenate_params>().axis;
  const Dims to = backend::dense_strides(dims(y));
  int64_t start = 0;
  for (int input = 0; input < op.input_count(); ++input) {
    const attn_tensor& x = op.input(input);
    copy_strided(call, y, start * to[axis], x, 0,
                 make_walk<2>(dims(x), {to, backend::dense_strides(dims(x))}));
    start += x.dims[axis];
  }
}

void run_gather_rows(const OpView& op, Call& call) {
  const attn_tensor &table = op.input(0), &ids = op.input(1), &y = op.output(0);
  const int64_t width = dims(table).product(1, table.rank);
  with_unit(table.dtype, [&](auto unit) {
    using Unit = decltype(unit);
    launch(call.stream, element_blocks(elements(y)), element_threads, gather_rows_kernel<Unit>, data<Unit>(y),
           data<const Unit>(table), data<const int32_t>(ids), elements(y), width,
           call.id_check(table.dims[0]));
  });
}

void run_kv_append(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &cache = op.output(0);
  const int64_t steps = x.dims[1], capacity = cache.dims[1];
  with_unit(x.dtype, [&](auto unit) {
    using Unit = decltype(unit);
    launch(call.stream, element_blocks(elements(x)), element_threads, kv_append_kernel<Unit>,
           data<Unit>(cache), data<const Unit>(x), data<const int32_t>(op.input(1)), elements(x), steps,
           capacity, x.dims[2], call.id_check(capacity - steps + 1));
  });
}

Window window_of(const attn_window_params& params, const attn_tensor& x, int64_t positions) {
  return {params.kernel, params.stride, params.dilation, params.padding, x.dims[1], positions, x.dims[2]};
}

template<typename T>
void unfold(const Call& call, T* y, const T* x, int64_t batch, const Window& window) {
  const int64_t count = batch * window.positions * window.kernel * window.channels;
  launch(call.stream, element_blocks(count), element_threads, unfold_kernel<T>, y, x, count, window);
}
template<typename T>
void fold(const Call& call, T* x, const T* y, int64_t batch, const Window& window, bool accumulate) {
  const int64_t count = batch * window.steps * window.channels;
  launch(call.stream, element_blocks(count), element_threads, fold_kernel<T>, x, y, count, window,
         accumulate);
}
template void unfold<float>(const Call&, float*, const float*, int64_t, const Window&);
template void unfold<double>(const Call&, double*, const double*, int64_t, const Window&);
template void fold<float>(const Call&, float*, const float*, int64_t, const Window&, bool);
template void fold<double>(const Call&, double*, const double*, int64_t, const Window&, bool);

template<typename T>
void run_unfold_1d(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  unfold(call, data<T>(y), data<const T>(x), x.dims[0],
         window_of(op.params<attn_window_params>(), x, y.dims[1]));
}

template<typename T>
void run_fold_1d(const OpView& op, Call& call) {
  const attn_tensor &y = op.input(0), &x = op.output(0);
  fold(call, data<T>(x), data<const T>(y), x.dims[0],
       window_of(op.params<attn_window_params>(), x, y.dims[1]), false);
}

ATTN_FOR_BOTH_TYPES(run_slice_add)
ATTN_FOR_BOTH_TYPES(run_unfold_1d)
ATTN_FOR_BOTH_TYPES(run_fold_1d)

}  // namespace attn::cuda
