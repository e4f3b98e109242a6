// Operations that treat each element for itself.
#include <cmath>
#include <type_traits>

#include "parallel.h"
#include "random.h"
#include "vector_loops.h"

namespace attn::eigen {
namespace {

// What a tensor of one number contributes to a row of many.
template<class T>
struct Operand {
  const T* data;
  std::int64_t step;  // 1, or 0 for the same number throughout

  Vec<T> whole(std::int64_t i) const { return step != 0 ? load<T>(data + i) : broadcast(*data); }
  Vec<T> part(std::int64_t i, std::int64_t count) const {
    return step != 0 ? load_partial(data + i, count) : broadcast(*data);
  }
};

template<class T, class Function, class... Operands>
void transform_row(std::int64_t count, T* y, Function function, const Operands&... x) {
  std::int64_t i = 0;
  for (; i + kWidth<T> <= count; i += kWidth<T>) store<T>(y + i, function(x.whole(i)...));
  if (i < count) store_partial(y + i, count - i, function(x.part(i, count - i)...));
}

// Calls row(y offset, count, input offsets and steps) for the longest rows along which every input is dense
// or constant, cut into pieces for the threads.
template<int Inputs, class Row>
void for_broadcast_rows(const OpView& op, Threads& threads, Row row) {
  const attn_tensor& y = op.output(0);
  if (elements(y) == 0) return;
  Dims sizes = dims(y);
  Dims strides[Inputs + 1];
  strides[Inputs] = backend::dense_strides(sizes);
  for (int input = 0; input < Inputs; ++input) {
    strides[input] = backend::broadcast_strides(dims(op.input(input)), sizes);
  }
  join_axes(sizes, strides);
  const std::int64_t width = sizes.last();
  std::int64_t steps[Inputs];
  for (int input = 0; input < Inputs; ++input) steps[input] = strides[input].last();
  if (sizes.rank() == 1) {
    for_pieces(threads, width, kElementsPerTask, [&](std::int64_t first, std::int64_t count) {
      std::int64_t offsets[Inputs];
      for (int input = 0; input < Inputs; ++input) offsets[input] = first * steps[input];
      row(first, count, offsets, steps);
    });
    return;
  }
  Dims outer[Inputs + 1];
  for (int t = 0; t <= Inputs; ++t) outer[t] = without_last(strides[t]);
  const Dims outer_sizes = without_last(sizes);
  for_rows(threads, outer_sizes.elements(), width, 1, [&](std::int64_t first, std::int64_t count) {
    Odometer<Inputs + 1> position(outer_sizes, outer);
    position.set(first);
    for (std::int64_t i = 0; i < count; ++i, position.next()) {
      std::int64_t offsets[Inputs];
      for (int input = 0; input < Inputs; ++input) offsets[input] = position.offset(input);
      row(position.offset(Inputs), width, offsets, steps);
    }
  });
}

template<class T, class Function>
void binary_floats(const OpView& op, KernelContext& context, Function function) {
  const T* a = data<const T>(op.input(0));
  const T* b = data<const T>(op.input(1));
  T* y = data<T>(op.output(0));
  for_broadcast_rows<2>(op, context.threads,
                        [=](std::int64_t first, std::int64_t count, const auto& offsets, const auto& steps) {
                          transform_row<T>(count, y + first, function, Operand<T>{a + offsets[0], steps[0]},
                                           Operand<T>{b + offsets[1], steps[1]});
                        });
}

template<class T>
void binary(const OpView& op, KernelContext& context) {
  using V = Vec<T>;
  const V one = broadcast(T(1)), zero = {};
  switch (op.params<attn_binary_params>().function) {
    case ATTN_BINARY_ADD:
      return binary_floats<T>(op, context, [](V a, V b) { return a + b; });
    case ATTN_BINARY_SUBTRACT:
      return binary_floats<T>(op, context, [](V a, V b) { return a - b; });
    case ATTN_BINARY_MULTIPLY:
      return binary_floats<T>(op, context, [](V a, V b) { return a * b; });
    case ATTN_BINARY_DIVIDE:
      return binary_floats<T>(op, context, [](V a, V b) { return a / b; });
    case ATTN_BINARY_MAXIMUM:
      return binary_floats<T>(op, context, maximum_or_nan<T>);
    case ATTN_BINARY_MINIMUM:
      return binary_floats<T>(op, context, minimum_or_nan<T>);
    case ATTN_BINARY_GREATER:
      return binary_floats<T>(op, context, [=](V a, V b) -> V { return a > b ? one : zero; });
    default:
      return binary_floats<T>(op, context, [=](V a, V b) -> V { return a == b ? one : zero; });
  }
}

// Sums and products wrap around; a division by zero gives 0, as the processor would end the program.
std::int32_t binary_integer(std::int32_t function, std::int32_t a, std::int32_t b) {
  const std::int64_t wide_a = a, wide_b = b;
  switch (function) {
    case ATTN_BINARY_ADD:
      return static_cast<std::int32_t>(wide_a + wide_b);
    case ATTN_BINARY_SUBTRACT:
      return static_cast<std::int32_t>(wide_a - wide_b);
    case ATTN_BINARY_MULTIPLY:
      return static_cast<std::int32_t>(wide_a * wide_b);
    case ATTN_BINARY_DIVIDE:
      return b == 0 ? 0 : static_cast<std::int32_t>(wide_a / wide_b);
    case ATTN_BINARY_MAXIMUM:
      return std::max(a, b);
    case ATTN_BINARY_MINIMUM:
      return std::min(a, b);
    case ATTN_BINARY_GREATER:
      return a > b ? 1 : 0;
    default:
      return a == b ? 1 : 0;
  }
}

void binary_integers(const OpView& op, KernelContext& context) {
  const std::int32_t function = op.params<attn_binary_params>().function;
  const auto* a = data<const std::int32_t>(op.input(0));
  const auto* b = data<const std::int32_t>(op.input(1));
  auto* y = data<std::int32_t>(op.output(0));
  for_broadcast_rows<2>(op, context.threads,
                        [=](std::int64_t first, std::int64_t count, const auto& offsets, const auto& steps) {
                          for (std::int64_t i = 0; i < count; ++i) {
                            y[first + i] = binary_integer(function, a[offsets[0] + i * steps[0]],
                                                          b[offsets[1] + i * steps[1]]);
                          }
                        });
}

template<class T>
void select(const OpView& op, KernelContext& context) {
  const T* condition = data<const T>(op.input(0));
  const T* a = data<const T>(op.input(1));
  const T* b = data<const T>(op.input(2));
  T* y = data<T>(op.output(0));
  const auto choose = [](Vec<T> c, Vec<T> yes, Vec<T> no) -> Vec<T> { return c != Vec<T>{} ? yes : no; };
  for_broadcast_rows<3>(op, context.threads,
                        [=](std::int64_t first, std::int64_t count, const auto& offsets, const auto& steps) {
                          transform_row<T>(
                              count, y + first, choose, Operand<T>{condition + offsets[0], steps[0]},
                              Operand<T>{a + offsets[1], steps[1]}, Operand<T>{b + offsets[2], steps[2]});
                        });
}

template<class T, class Function>
void unary_floats(const OpView& op, KernelContext& context, std::int64_t cost, Function function) {
  const T* x = data<const T>(op.input(0));
  T* y = data<T>(op.output(0));
  for_pieces(
      context.threads, elements(op.output(0)), kElementsPerTask / cost,
      [=](std::int64_t first, std::int64_t count) { transform<T>(count, y + first, function, x + first); });
}

}  // namespace

void run_affine(const OpView& op, KernelContext& context) {
  const auto params = op.params<attn_affine_params>();
  const std::int64_t count = elements(op.output(0));
  with_number_type(op.output(0).dtype, [&](auto type) {
    using T = decltype(type);
    const T* x = data<const T>(op.input(0));
    T* y = data<T>(op.output(0));
    if constexpr (std::is_same_v<T, std::int32_t>) {
      for (std::int64_t i = 0; i < count; ++i) {
        const double value = params.scale * x[i] + params.shift;
        if (std::isnan(value))
          y[i] = 0;
        else
          y[i] = static_cast<std::int32_t>(std::clamp(value, -2147483648.0, 2147483647.0));
      }
    } else {
      const Vec<T> scale = broadcast(static_cast<T>(params.scale));
      const Vec<T> shift = broadcast(static_cast<T>(params.shift));
      unary_floats<T>(op, context, 1, [=](Vec<T> value) { return scale * value + shift; });
    }
  });
}

void run_binary(const OpView& op, KernelContext& context) {
  switch (op.output(0).dtype) {
    case ATTN_I32:
      return binary_integers(op, context);
    case ATTN_F32:
      return binary<float>(op, context);
    default:
      return binary<double>(op, context);
  }
}

void run_select(const OpView& op, KernelContext& context) {
  with_float_type(op.output(0).dtype, [&](auto type) { select<decltype(type)>(op, context); });
}

template<class T>
void run_unary(const OpView& op, KernelContext& context) {
  using V = Vec<T>;
  const V one = broadcast(T(1));
  switch (op.params<attn_unary_params>().function) {
    case ATTN_UNARY_NEGATE:
      return unary_floats<T>(op, context, 1, [](V x) { return -x; });
    case ATTN_UNARY_EXP:
      return unary_floats<T>(op, context, 2, exponential<T>);
    case ATTN_UNARY_LOG:
      return unary_floats<T>(op, context, 4, logarithm<T>);
    case ATTN_UNARY_SQRT:
      return unary_floats<T>(op, context, 1, square_root<T>);
    case ATTN_UNARY_RSQRT:
      return unary_floats<T>(op, context, 1, [=](V x) { return one / square_root<T>(x); });
    case ATTN_UNARY_SQUARE:
      return unary_floats<T>(op, context, 1, [](V x) { return x * x; });
    case ATTN_UNARY_RECIPROCAL:
      return unary_floats<T>(op, context, 1, [=](V x) { return one / x; });
    case ATTN_UNARY_TANH:
      return unary_floats<T>(op, context, 4, hyperbolic_tangent<T>);
    case ATTN_UNARY_SIGMOID:
      return unary_floats<T>(op, context, 2, sigmoid<T>);
    case ATTN_UNARY_RELU:
      return unary_floats<T>(op, context, 1, rectify<T>);
    case ATTN_UNARY_GELU:
      return unary_floats<T>(op, context, 32, [](V x) {
        return each_lane<T>(x, [](T lane) { return T(0.5) * lane * std::erfc(-lane * T(M_SQRT1_2)); });
      });
    case ATTN_UNARY_SIN:
      return unary_floats<T>(op, context, 4, sine<T>);
    case ATTN_UNARY_COS:
      return unary_floats<T>(op, context, 4, cosine<T>);
    case ATTN_UNARY_ERF:
      return unary_floats<T>(op, context, 32,
                             [](V x) { return each_lane<T>(x, [](T lane) { return std::erf(lane); }); });
    default:
      return unary_floats<T>(op, context, 1, absolute<T>);
  }
}

template<class T>
void run_dropout(const OpView& op, KernelContext& context) {
  const auto params = op.params<attn_dropout_params>();
  const DropoutMask<T> mask(params.rate > 0 ? data<const std::int32_t>(op.input(1)) : nullptr, params.stream,
                            params.rate);
  const T* x = data<const T>(op.input(0));
  T* y = data<T>(op.output(0));
  for_pieces(context.threads, elements(op.output(0)), kElementsPerTask,
             [&](std::int64_t first, std::int64_t count) { mask.apply(first, count, x + first, y + first); });
}

template void run_unary<float>(const OpView&, KernelContext&);
template void run_unary<double>(const OpView&, KernelContext&);
template void run_dropout<float>(const OpView&, KernelContext&);
template void run_dropout<double>(const OpView&, KernelContext&);

}  // namespace attn::eigen
