#include "internal.h"
#include "window.h"

namespace attn::ops {
namespace {

Window window_of(const attn_window_params& params, std::int64_t steps, std::int64_t steps_out) {
  Window window{params.kernel, params.stride, params.dilation, params.padding, 0};
  const std::int64_t needed = (steps_out - 1) * params.stride + params.dilation * (params.kernel - 1) + 1;
  window.padding_after = std::max<std::int64_t>(0, needed - steps - params.padding);
  return window;
}

// weight [out, kernel, in] as [out, kernel * in]
Tensor flat(const Tensor& weight) {
  return weight.reshaped({weight.size(0), weight.size(1) * weight.size(2)});
}

Tensors conv_1d_decomposed(const Call& call, std::span<const Into> into) {
  const Tensor& x = call.input(0);
  const Window window = window_of(call.params.as<attn_window_params>(), x.size(1), into[0].target.size(1));
  return {linear(unfold_1d(x, window), flat(call.input(1)), call.input(2))};
}

TensorSpecs conv_1d_gradient_shapes(const Call& call) {
  const Tensor &x = call.input(0), &weight = call.input(1);
  return {{x.shape(), x.dtype()}, {weight.shape(), x.dtype()}, {Shape{weight.size(0)}, x.dtype()}};
}

// With U = unfold(x):  dweight = dy^T U, dbias = sum(dy), dx = fold(dy weight)
Tensors conv_1d_gradient_decomposed(const Call& call, std::span<const Into>) {
  const auto& params = call.params.as<attn_window_params>();
  const Tensor &x = call.input(0), &weight = call.input(1), &dy = call.input(2);
  const std::int64_t rows = dy.size(0) * dy.size(1), out = weight.size(0);
  const Tensor d_rows = dy.reshaped({rows, out});
  Tensors results{{}, {}, {}};
  if (call.wants(0)) {
    const Tensor d_windows =
        matmul(d_rows, flat(weight)).reshaped({dy.size(0), dy.size(1), weight.size(1) * weight.size(2)});
    results[0] = Tensor(x.shared_device(), x.shape(), x.dtype());
    fold_1d_into({results[0]}, d_windows, params);
  }
  if (call.wants(1)) {
    const Tensor windows = unfold_1d(x, window_of(params, x.size(1), dy.size(1)));
    results[1] = matmul(d_rows, windows.reshaped({rows, windows.size(2)}), {.transpose_a = true})
                     .reshaped(weight.shape());
  }
  const std::array<int, 1> over_rows{0};
  if (call.wants(2)) results[2] = sum(d_rows, over_rows);
  return results;
}

}  // namespace

// y[b, t, o] = bias[o] + sum over i, c of weight[o, i, c] x[b, t stride + i dilation - padding, c]
const Operation conv_1d_operation{
    .kind = ATTN_OP_CONV_1D,
    .name = "conv_1d",
    .gradient =
        [](Gradient& g) {
          const std::array<Into, 3> into{g.into(0), g.into(1), g.into(2)};
          apply_operation(Call{&conv_1d_gradient_operation,
                               {g.input(0), g.input(1), g.of(0)},
                               g.params<attn_window_params>(),
                               7u},
                          into);
        },
    .flops =
        [](const Call& call, const TensorSpecs& out) {
          const Tensor& weight = call.input(1);
          return elements_of(out) * (2 * as_double(weight.size(1) * weight.size(2)) + (call.has(2) ? 1 : 0));
        },
    .decomposition = conv_1d_decomposed,
};

const Operation conv_1d_gradient_operation{
    .kind = ATTN_OP_CONV_1D_GRADIENT,
    .name = "conv_1d_gradient",
    .shapes = conv_1d_gradient_shapes,
    .flops =
        [](const Call& call, const TensorSpecs&) {
          const Tensor& weight = call.input(1);
          return as_double(call.input(2).elements()) * (4 * as_double(weight.size(1) * weight.size(2)) + 1);
        },
    .decomposition = conv_1d_gradient_decomposed,
    .accumulates = true,
};

Tensor conv_1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Window& window) {
  require_rank("conv_1d", "x", x, 3);
  require_rank("conv_1d", "weight", weight, 3);
  require_shape("conv_1d", "weight", weight, {weight.size(0), window.kernel, x.size(2)});
  if (bias.defined()) require_shape("conv_1d", "bias", bias, Shape{weight.size(0)});
  const Shape shape{x.size(0), output_steps("conv_1d", x.size(1), window), weight.size(0)};
  return apply_to(conv_1d_operation, Tensor(x.shared_device(), shape, x.dtype()), {x, weight, bias},
                  params_of(window));
}

}  // namespace attn::ops
