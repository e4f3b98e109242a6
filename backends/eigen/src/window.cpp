// The windows of a 1-d convolution as rows of a matrix, the transpose of that map, and convolution as a
// product with these rows, one batch entry at a time.
#include "column_sums.h"
#include "gemm.h"
#include "parallel.h"
#include "vector_loops.h"

namespace attn::eigen {
namespace {

// One batch entry: x [steps, channels] and windows [positions, kernel * channels].
struct Windows {
  std::int64_t steps, channels, positions, kernel, stride, dilation, padding;

  Windows(const OpView& op, const attn_tensor& x, std::int64_t window_count)
      : steps(x.dims[1]), channels(x.dims[2]), positions(window_count) {
    const auto params = op.params<attn_window_params>();
    kernel = params.kernel;
    stride = params.stride;
    dilation = params.dilation;
    padding = params.padding;
  }
  std::int64_t width() const { return kernel * channels; }
  std::int64_t size() const { return positions * width(); }

  template<class Pair>
  void for_each(Pair pair) const {
    for (std::int64_t position = 0; position < positions; ++position) {
      for (std::int64_t tap = 0; tap < kernel; ++tap) {
        const std::int64_t step = position * stride + tap * dilation - padding;
        pair(step >= 0 && step < steps ? step * channels : -1, position * width() + tap * channels);
      }
    }
  }
  template<class T>
  void unfold(const T* x, T* windows) const {
    for_each([&](std::int64_t from, std::int64_t to) {
      if (from < 0)
        std::fill_n(windows + to, channels, T(0));
      else
        std::copy_n(x + from, channels, windows + to);
    });
  }
  // In the order of the windows.
  template<class T>
  void fold(const T* windows, T* x, bool accumulate) const {
    if (!accumulate) std::fill_n(x, steps * channels, T(0));
    for_each([&](std::int64_t to, std::int64_t from) {
      if (to < 0) return;
      transform<T>(
          channels, x + to, [](Vec<T> a, Vec<T> b) { return a + b; }, x + to, windows + from);
    });
  }
};

}  // namespace

template<class T>
void run_unfold_1d(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  const Windows windows(op, x, y.dims[1]);
  for_rows(context.threads, x.dims[0], windows.size(), 1, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t b = first; b < first + count; ++b) {
      windows.unfold(data<const T>(x) + b * windows.steps * windows.channels,
                     data<T>(y) + b * windows.size());
    }
  });
}

template<class T>
void run_fold_1d(const OpView& op, KernelContext& context) {
  const attn_tensor &y = op.input(0), &x = op.output(0);
  const Windows windows(op, x, y.dims[1]);
  for_rows(context.threads, x.dims[0], windows.size(), 1, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t b = first; b < first + count; ++b) {
      windows.fold(data<const T>(y) + b * windows.size(), data<T>(x) + b * windows.steps * windows.channels,
                   false);
    }
  });
}

template<class T>
void run_conv_1d(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &weight = op.input(1), &y = op.output(0);
  const Windows windows(op, x, y.dims[1]);
  const std::int64_t outputs = weight.dims[0], width = windows.width();
  Epilogue<T> epilogue;
  if (op.has_input(2)) epilogue.bias = data<const T>(op.input(2));
  for_rows(context.threads, x.dims[0], windows.size() * std::max<std::int64_t>(outputs / 16, 1), 1,
           [&](std::int64_t first, std::int64_t count) {
             const auto rows_of_entry = context.workspace.take<T>(windows.size());
             for (std::int64_t b = first; b < first + count; ++b) {
               windows.unfold(data<const T>(x) + b * windows.steps * windows.channels, rows_of_entry.data());
               multiply_here(context.workspace, windows.positions, outputs, width, T(1),
                             row_major<T>(rows_of_entry.data(), width),
                             row_major(data<const T>(weight), width).transposed(), T(0),
                             data<T>(y) + b * windows.positions * outputs, outputs, epilogue);
             }
           });
}

template<class T>
void run_conv_1d_gradient(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &weight = op.input(1), &d_y = op.input(2);
  const Windows windows(op, x, d_y.dims[1]);
  const std::int64_t outputs = weight.dims[0], width = windows.width(), batch = x.dims[0];
  const std::int64_t x_size = windows.steps * windows.channels, y_size = windows.positions * outputs;
  if (op.has_output(0)) {
    for_rows(context.threads, batch, windows.size() * std::max<std::int64_t>(outputs / 16, 1), 1,
             [&](std::int64_t first, std::int64_t count) {
               const auto rows_of_entry = context.workspace.take<T>(windows.size());
               for (std::int64_t b = first; b < first + count; ++b) {
                 multiply_here(context.workspace, windows.positions, width, outputs, T(1),
                               row_major(data<const T>(d_y) + b * y_size, outputs),
                               row_major(data<const T>(weight), width), T(0), rows_of_entry.data(), width);
                 windows.fold<T>(rows_of_entry.data(), data<T>(op.output(0)) + b * x_size, op.accumulates(0));
               }
             });
  }
  if (op.has_output(1)) {
    T* d_weight = data<T>(op.output(1));
    const auto rows_of_entry = context.workspace.take<T>(windows.size());
    if (batch == 0 && !op.accumulates(1)) std::fill_n(d_weight, outputs * width, T(0));
    for (std::int64_t b = 0; b < batch; ++b) {
      windows.unfold(data<const T>(x) + b * x_size, rows_of_entry.data());
      multiply(context, outputs, width, windows.positions, T(1),
               row_major(data<const T>(d_y) + b * y_size, outputs).transposed(),
               row_major<T>(rows_of_entry.data(), width), b > 0 || op.accumulates(1) ? T(1) : T(0), d_weight,
               width);
    }
  }
  if (op.has_output(2)) {
    sum_rows_of(context, batch * windows.positions, outputs, data<const T>(d_y), outputs,
                data<T>(op.output(2)), op.accumulates(2));
  }
}

#define ATTN_INSTANTIATE(T)                                      \
  template void run_unfold_1d<T>(const OpView&, KernelContext&); \
  template void run_fold_1d<T>(const OpView&, KernelContext&);   \
  template void run_conv_1d<T>(const OpView&, KernelContext&);   \
  template void run_conv_1d_gradient<T>(const OpView&, KernelContext&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn::eigen
