// The windows of a 1-d convolution as rows of a matrix, and the transpose of that map.
#include <algorithm>
#include <vector>

#include "kernels.h"
#include "types.h"

namespace attn::backend::reference {

namespace {

/// Calls pair(index in x, index in y) for each element of y [B,T_out,kernel*C] that comes from x [B,T,C], and
/// outside(index in y) for each that lies before the first step or after the last.
template<typename Pair, typename Outside>
void for_each_element(const OpView& op, const attn_tensor& x, const attn_tensor& y, Pair pair,
                      Outside outside) {
  const auto params = op.params<attn_window_params>();
  const int64_t batch = x.dims[0], steps = x.dims[1], channels = x.dims[2], positions = y.dims[1];
  int64_t element = 0;
  for (int64_t entry = 0; entry < batch; ++entry) {
    for (int64_t position = 0; position < positions; ++position) {
      for (int64_t tap = 0; tap < params.kernel; ++tap) {
        const int64_t step = position * params.stride + tap * params.dilation - params.padding;
        for (int64_t channel = 0; channel < channels; ++channel, ++element) {
          if (step >= 0 && step < steps) {
            pair((entry * steps + step) * channels + channel, element);
          } else {
            outside(element);
          }
        }
      }
    }
  }
}

}  // namespace

void unfold_1d(const OpView& op) {
  const attn_tensor &x = op.input(0), &y = op.output(0);
  with_float_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    for_each_element(
        op, x, y, [&](int64_t from, int64_t to) { data<T>(y)[to] = data<T>(x)[from]; },
        [&](int64_t to) { data<T>(y)[to] = T{0}; });
  });
}

void fold_1d(const OpView& op) {
  const attn_tensor &y = op.input(0), &x = op.output(0);
  with_float_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    std::vector<double> sums(elements(x), 0.0);
    for_each_element(
        op, x, y, [&](int64_t to, int64_t from) { sums[to] += data<T>(y)[from]; }, [](int64_t) {});
    std::transform(sums.begin(), sums.end(), data<T>(x), [](double sum) { return static_cast<T>(sum); });
  });
}

}  // namespace attn::backend::reference
