// The windows of a 1-d convolution as rows of a matrix, the transpose of that map, and convolution as a
// product with these rows.
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

// Windows that lie within x and have no gaps are rows of x itself, which overlap: they are multiplied where
// they are. Only those at the ends are laid out. Short sequences are laid out as a whole, since a product
// more would cost more than that.
struct Interior {
  static constexpr std::int64_t kLongEnough = 256;
  std::int64_t first = 0, count = 0;

  explicit Interior(const Windows& windows) {
    if (windows.dilation != 1 || windows.positions < kLongEnough) return;
    first = std::min((windows.padding + windows.stride - 1) / windows.stride, windows.positions);
    const std::int64_t reach = windows.steps + windows.padding - windows.kernel;
    const std::int64_t end = reach < 0 ? 0 : std::min(reach / windows.stride + 1, windows.positions);
    count = std::max<std::int64_t>(end - first, 0);
    if (count < kLongEnough / 2) count = 0;
  }
};

template<class T>
struct Convolution {
  Windows windows;
  std::int64_t outputs;
  MatrixView<T> weight;  // [width, outputs]
  Epilogue<T> epilogue;

  // All windows of one entry, laid out.
  void laid_out(Workspace& workspace, const T* x, T* y) const {
    const auto rows = workspace.take<T>(windows.size());
    windows.unfold(x, rows.data());
    multiply_here(workspace, windows.positions, outputs, windows.width(), T(1),
                  row_major<T>(rows.data(), windows.width()), weight, T(0), y, outputs, epilogue);
  }
  MatrixView<T> in_place(const Interior& interior, const T* x) const {
    const std::int64_t first = interior.first * windows.stride - windows.padding;
    return row_major(x + first * windows.channels, windows.stride * windows.channels);
  }
  // The windows before and after the interior, in one product.
  void ends(Workspace& workspace, const Interior& interior, const T* x, T* y) const {
    const std::int64_t before = interior.first, after = windows.positions - interior.first - interior.count;
    if (before + after == 0) return;
    Windows part = windows;
    part.positions = before;
    const auto rows = workspace.take<T>((before + after) * windows.width());
    const auto results = workspace.take<T>((before + after) * outputs);
    part.unfold(x, rows.data());
    part.positions = after;
    part.padding = windows.padding - (interior.first + interior.count) * windows.stride;
    part.unfold(x, rows.data() + before * windows.width());
    multiply_here(workspace, before + after, outputs, windows.width(), T(1),
                  row_major<T>(rows.data(), windows.width()), weight, T(0), results.data(), outputs,
                  epilogue);
    std::copy_n(results.data(), before * outputs, y);
    std::copy_n(results.data() + before * outputs, after * outputs,
                y + (interior.first + interior.count) * outputs);
  }
};

template<class T>
void run_conv_1d(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &weight = op.input(1), &y = op.output(0);
  const Windows windows(op, x, y.dims[1]);
  const std::int64_t outputs = weight.dims[0], batch = x.dims[0];
  const std::int64_t x_size = windows.steps * windows.channels, y_size = windows.positions * outputs;
  Convolution<T> convolution{
      windows, outputs, row_major(data<const T>(weight), windows.width()).transposed(), {}};
  if (op.has_input(2)) convolution.epilogue.bias = data<const T>(op.input(2));
  const Interior interior(windows);
  if (batch == 1 && interior.count > 0) {  // one product is shared out among the threads
    multiply(context, interior.count, outputs, windows.width(), T(1),
             convolution.in_place(interior, data<const T>(x)), convolution.weight, T(0),
             data<T>(y) + interior.first * outputs, outputs, convolution.epilogue);
    convolution.ends(context.workspace, interior, data<const T>(x), data<T>(y));
    return;
  }
  for_rows(context.threads, batch, windows.size() * std::max<std::int64_t>(outputs / 16, 1), 1,
           [&](std::int64_t first, std::int64_t count) {
             for (std::int64_t b = first; b < first + count; ++b) {
               const T* const entry = data<const T>(x) + b * x_size;
               T* const result = data<T>(y) + b * y_size;
               if (interior.count == 0) {
                 convolution.laid_out(context.workspace, entry, result);
                 continue;
               }
               multiply_here(context.workspace, interior.count, outputs, windows.width(), T(1),
                             convolution.in_place(interior, entry), convolution.weight, T(0),
                             result + interior.first * outputs, outputs, convolution.epilogue);
               convolution.ends(context.workspace, interior, entry, result);
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
