#include <utility>

#include "kernels.h"
#include "types.h"

namespace attn::backend::reference {

namespace {

/// One factor of a batched product: the matrix of a batch entry, read transposed if it is stored so.
template<typename T>
class Factor {
 public:
  Factor(const attn_tensor& tensor, bool transposed)
      : data_(data<const T>(tensor)), row_step_(columns(tensor)) {
    if (tensor.rank > 2) entry_step_ = dims(tensor).last(1) * dims(tensor).last(0);
    if (transposed) std::swap(row_step_, column_step_);
  }

  double operator()(int64_t entry, int64_t row, int64_t column) const {
    return data_[entry * entry_step_ + row * row_step_ + column * column_step_];
  }

 private:
  const T* data_;
  int64_t row_step_;
  int64_t column_step_ = 1;
  int64_t entry_step_ = 0;  // a factor of rank 2 is used for the whole batch
};

template<typename T>
void multiply(const OpView& op) {
  const attn_tensor &a = op.input(0), &y = op.output(0);
  const auto params = op.params<attn_matmul_params>();
  const int64_t batch = leading(y, 2), rows = dims(y).last(1), columns = dims(y).last(0);
  const int64_t inner = dims(a).last(params.transpose_a != 0 ? 1 : 0);
  const Factor<T> left(a, params.transpose_a != 0), right(op.input(1), params.transpose_b != 0);

  T* out = data<T>(y);
  for (int64_t entry = 0; entry < batch; ++entry) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column, ++out) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) sum += left(entry, row, k) * right(entry, k, column);
        // with beta 0 the old value is not read: it may be anything, even NaN
        const double old = params.beta != 0 ? params.beta * *out : 0.0;
        *out = static_cast<T>(params.alpha * sum + old);
      }
    }
  }
}

}  // namespace

void matmul(const OpView& op) {
  with_float_type(op.output(0).dtype, [&](auto type) { multiply<decltype(type)>(op); });
}

}  // namespace attn::backend::reference
