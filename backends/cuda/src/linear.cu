// Linear layers and convolutions: products by cuBLAS, and kernels for what goes before and after.
#include "activation.cuh"
#include "kernels.h"
#include "product.h"
#include "sums.h"
#include "window.h"

namespace attn::cuda {

namespace {

/// y [rows, outputs] = x [rows, inputs] weight^T.
template<typename T>
void apply_weight(const Call& call, T* y, const T* x, const T* weight, int64_t rows, int64_t inputs,
                  int64_t outputs) {
  multiply<T>(call, {rows, outputs, inputs, {x}, {weight, true}, y});
}

/// d_weight [outputs, inputs] = d_y^T x, or d_weight + that.
template<typename T>
void weight_gradient(const Call& call, T* d_weight, const T* d_y, const T* x, int64_t rows, int64_t inputs,
                     int64_t outputs, bool accumulate) {
  multiply<T>(call, {outputs, inputs, rows, {d_y, true}, {x}, d_weight, 1, accumulate ? 1.0 : 0.0});
}

/// d_x [rows, inputs] = d_y weight, or d_x + that.
template<typename T>
void input_gradient(const Call& call, T* d_x, const T* d_y, const T* weight, int64_t rows, int64_t inputs,
                    int64_t outputs, bool accumulate) {
  multiply<T>(call, {rows, inputs, outputs, {d_y}, {weight}, d_x, 1, accumulate ? 1.0 : 0.0});
}

template<typename T>
void add_bias(const Call& call, T* y, const T* bias, int64_t rows, int64_t columns, int activation) {
  if (bias == nullptr && activation == ATTN_ACTIVATION_NONE) return;
  launch(call.stream, element_blocks(rows * columns), element_threads, bias_kernel<T>, y, bias,
         rows * columns, columns, activation);
}

}  // namespace

template<typename T>
void run_linear(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &weight = op.input(1);
  const int64_t inputs = weight.dims[1], outputs = weight.dims[0];
  T* y = data<T>(op.output(0));
  apply_weight(call, y, data<const T>(x), data<const T>(weight), rows(x), inputs, outputs);
  add_bias(call, y, optional_data<const T>(op.input(2)), rows(x), outputs,
           op.params<attn_linear_params>().activation);
}

/// The gradient before the activation, then the parts of the sums over rows.
std::size_t linear_gradient_workspace(const OpView& op) {
  const int64_t count = rows(op.input(0)), outputs = op.input(1).dims[0];
  const bool activated = op.params<attn_linear_params>().activation != ATTN_ACTIVATION_NONE;
  return ((activated ? count * outputs : 0) + column_sums_elements(count, outputs)) *
         backend::element_size(op.input(0).dtype);
}

template<typename T>
void run_linear_gradient(const OpView& op, Call& call) {
  const attn_tensor &x = op.input(0), &weight = op.input(1);
  const int64_t count = rows(x), inputs = weight.dims[1], outputs = weight.dims[0];
  const int activation = op.params<attn_linear_params>().activation;
  const T* d_y = data<const T>(op.input(3));
  T* free_workspace = call.workspace_as<T>();
  if (activation != ATTN_ACTIVATION_NONE) {
    launch(call.stream, element_blocks(count * outputs), element_threads, activation_gradient_kernel<T>,
           free_workspace, data<const T>(op.input(2)), d_y, count * outputs, activation);
    d_y = free_workspace;
    free_workspace += count * outputs;
  }
  if (op.has_output(0)) {
    input_gradient(call, data<T>(op.output(0)), d_y, data<const T>(weight), count, inputs, outputs,
                   op.accumulates(0));
  }
  if (op.has_output(1)) {
    weight_gradient(call, data<T>(op.output(1)), d_y, data<const T>(x), count, inputs, outputs,
                    op.accumulates(1));
  }
  if (op.has_output(2)) {
    column_sums(call, data<T>(op.output(2)), d_y, count, outputs, op.accumulates(2), free_workspace);
  }
}

// ---- convolution: as a product with the windows

namespace {

struct Convolution {
  Window window;
  int64_t batch, rows, inputs, outputs;  // rows = batch * positions, inputs = kernel * channels

  Convolution(const OpView& op, const attn_tensor& y)
      : window(window_of(op.params<attn_window_params>(), op.input(0), y.dims[1])),
        batch(y.dims[0]),
        rows(y.dims[0] * y.dims[1]),
        inputs(window.kernel * window.channels),
        outputs(y.dims[2]) {}
};

}  // namespace

std::size_t conv_1d_workspace(const OpView& op) {
  const Convolution size(op, op.output(0));
  return size.rows * size.inputs * backend::element_size(op.input(0).dtype);
}

template<typename T>
void run_conv_1d(const OpView& op, Call& call) {
  const Convolution size(op, op.output(0));
  T *y = data<T>(op.output(0)), *windows = call.workspace_as<T>();
  unfold(call, windows, data<const T>(op.input(0)), size.batch, size.window);
  apply_weight<T>(call, y, windows, data<const T>(op.input(1)), size.rows, size.inputs, size.outputs);
  add_bias(call, y, optional_data<const T>(op.input(2)), size.rows, size.outputs, ATTN_ACTIVATION_NONE);
}

std::size_t conv_1d_gradient_workspace(const OpView& op) {
  const Convolution size(op, op.input(2));
  return std::max(size.rows * size.inputs, column_sums_elements(size.rows, size.outputs)) *
         backend::element_size(op.input(0).dtype);
}

template<typename T>
void run_conv_1d_gradient(const OpView& op, Call& call) {
  const Convolution size(op, op.input(2));
  const T* d_y = data<const T>(op.input(2));
  T* workspace = call.workspace_as<T>();  // for one output after another
  if (op.has_output(0)) {
    input_gradient<T>(call, workspace, d_y, data<const T>(op.input(1)), size.rows, size.inputs, size.outputs,
                      false);
    fold<T>(call, data<T>(op.output(0)), workspace, size.batch, size.window, op.accumulates(0));
  }
  if (op.has_output(1)) {
    unfold(call, workspace, data<const T>(op.input(0)), size.batch, size.window);
    weight_gradient<T>(call, data<T>(op.output(1)), d_y, workspace, size.rows, size.inputs, size.outputs,
                       op.accumulates(1));
  }
  if (op.has_output(2)) {
    column_sums(call, data<T>(op.output(2)), d_y, size.rows, size.outputs, op.accumulates(2), workspace);
  }
}

ATTN_FOR_BOTH_TYPES(run_linear)
ATTN_FOR_BOTH_TYPES(run_linear_gradient)
ATTN_FOR_BOTH_TYPES(run_conv_1d)
ATTN_FOR_BOTH_TYPES(run_conv_1d_gradient)

}  // namespace attn::cuda
