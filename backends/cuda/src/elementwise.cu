#include "elementwise.cuh"
#include "kernels.h"

namespace attn::cuda {

namespace {

/// Calls function(T{}) with T the element type.
template<typename Function>
void with_number_type(int32_t dtype, Function function) {
  if (dtype == ATTN_I32) return function(int32_t{});
  if (dtype == ATTN_F32) return function(float{});
  function(double{});
}

}  // namespace

void run_fill(const OpView& op, Call& call) {
  const attn_tensor& y = op.output(0);
  const double value = op.params<attn_fill_params>().value;
  with_number_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    launch(call.stream, element_blocks(elements(y)), element_threads, fill_kernel<T>, data<T>(y), elements(y),
           value);
  });
}

void run_copy(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const std::size_t bytes = elements(y) * backend::element_size(y.dtype);
  if (bytes == 0 || x.data == y.data) return;
  check(cudaMemcpyAsync(y.data, x.data, bytes, cudaMemcpyDeviceToDevice, call.stream), "copying a tensor");
}

void run_cast(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  with_number_type(x.dtype, [&](auto from) {
    with_number_type(y.dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      launch(call.stream, element_blocks(elements(y)), element_threads, cast_kernel<To, From>, data<To>(y),
             data<const From>(x), elements(y));
    });
  });
}

void run_affine(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const auto params = op.params<attn_affine_params>();
  const auto start = [&](auto type, auto real) {
    using T = decltype(type);
    using Real = decltype(real);
    launch(call.stream, element_blocks(elements(y)), element_threads, affine_kernel<T, Real>, data<T>(y),
           data<const T>(x), elements(y), static_cast<Real>(params.scale), static_cast<Real>(params.shift));
  };
  if (y.dtype == ATTN_I32) return start(int32_t{}, double{});
  if (y.dtype == ATTN_F32) return start(float{}, float{});
  start(double{}, double{});
}

template<typename T>
void run_unary(const OpView& op, Call& call) {
  const attn_tensor& y = op.output(0);
  launch(call.stream, element_blocks(elements(y)), element_threads, unary_kernel<T>, data<T>(y),
         data<const T>(op.input(0)), elements(y), op.params<attn_unary_params>().function);
}

void run_binary(const OpView& op, Call& call) {
  const attn_tensor &a = op.input(0), &b = op.input(1), &y = op.output(0);
  const Dims target = dims(y);
  const auto walk = make_walk<2>(
      target, {backend::broadcast_strides(dims(a), target), backend::broadcast_strides(dims(b), target)});
  with_number_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    launch(call.stream, element_blocks(walk.count), element_threads, binary_kernel<T>, data<T>(y),
           data<const T>(a), data<const T>(b), walk, op.params<attn_binary_params>().function);
  });
}

template<typename T>
void run_select(const OpView& op, Call& call) {
  const Dims target = dims(op.output(0));
  const auto strides = [&](int input) { return backend::broadcast_strides(dims(op.input(input)), target); };
  const auto walk = make_walk<3>(target, {strides(0), strides(1), strides(2)});
  launch(call.stream, element_blocks(walk.count), element_threads, select_kernel<T>, data<T>(op.output(0)),
         data<const T>(op.input(0)), data<const T>(op.input(1)), data<const T>(op.input(2)), walk);
}

template<typename T>
void run_dropout(const OpView& op, Call& call) {
  const attn_tensor& y = op.output(0);
  const auto params = op.params<attn_dropout_params>();
  launch(call.stream, element_blocks(divide_up(elements(y), 4)), element_threads, dropout_kernel<T>,
         data<T>(y), data<const T>(op.input(0)), elements(y),
         Dropout<T>(op.input(1), params.stream, params.rate));
}

ATTN_FOR_BOTH_TYPES(run_unary)
ATTN_FOR_BOTH_TYPES(run_select)
ATTN_FOR_BOTH_TYPES(run_dropout)

}  // namespace attn::cuda
