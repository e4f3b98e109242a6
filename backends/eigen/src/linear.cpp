// Matrix products of the boundary: matmul, linear and its gradient.
#include "column_sums.h"
#include "gemm.h"
#include "parallel.h"

namespace attn::eigen {
namespace {

// A matrix of a batch that is stored as [rows, columns] or transposed.
template<class T>
MatrixView<T> factor(const attn_tensor& tensor, std::int64_t entry, bool transposed) {
  const std::int64_t width = columns(tensor);
  const std::int64_t step = tensor.rank == 2 ? 0 : dims(tensor).last(1) * width;
  const MatrixView<T> stored = row_major(data<const T>(tensor) + entry * step, width);
  return transposed ? stored.transposed() : stored;
}

// d_z = d_y times the derivative of the activation, which all are functions of its result.
template<class T>
void activation_gradient(Threads& threads, std::int32_t activation, std::int64_t count, const T* y,
                         const T* d_y, T* d_z) {
  const Vec<T> one = broadcast(T(1));
  for_pieces(threads, count, kElementsPerTask, [=](std::int64_t first, std::int64_t some) {
    const T* result = y + first;
    const T* d_result = d_y + first;
    T* to = d_z + first;
    switch (activation) {
      case ATTN_ACTIVATION_RELU:
        transform<T>(
            some, to, [](Vec<T> a, Vec<T> d) -> Vec<T> { return a > Vec<T>{} ? d : Vec<T>{}; }, result,
            d_result);
        break;
      case ATTN_ACTIVATION_TANH:
        transform<T>(
            some, to, [=](Vec<T> a, Vec<T> d) { return d * (one - a * a); }, result, d_result);
        break;
      default:
        transform<T>(
            some, to, [=](Vec<T> a, Vec<T> d) { return d * (a * (one - a)); }, result, d_result);
    }
  });
}

}  // namespace

template<class T>
void run_matmul(const OpView& op, KernelContext& context) {
  const attn_tensor &a = op.input(0), &b = op.input(1), &y = op.output(0);
  const auto params = op.params<attn_matmul_params>();
  const bool transpose_a = params.transpose_a != 0, transpose_b = params.transpose_b != 0;
  const T alpha = static_cast<T>(params.alpha), beta = static_cast<T>(params.beta);
  const std::int64_t batch = leading(y, 2), row_count = dims(y).last(1), width = columns(y);
  const std::int64_t depth = dims(a).last(transpose_a ? 1 : 0);
  if (batch == 0) return;
  T* to = data<T>(y);
  // What differs from entry to entry may be padded, as the keys of attention are, and then the sums must not
  // depend on how far.
  const Summation summation = b.rank == 2 ? Summation::kByDepth : Summation::kMultiplyAdds;
  if (batch == 1 || (b.rank == 2 && a.rank > 2 && !transpose_a)) {
    // One b for all: the batch is just more rows.
    multiply(context, batch * row_count, width, depth, alpha, factor<T>(a, 0, transpose_a),
             factor<T>(b, 0, transpose_b), beta, to, width, {}, summation);
    return;
  }
  for_rows(context.threads, batch, row_count * width * std::max<std::int64_t>(depth, 1), 1,
           [&](std::int64_t first, std::int64_t count) {
             for (std::int64_t entry = first; entry < first + count; ++entry) {
               multiply_here(context.workspace, row_count, width, depth, alpha,
                             factor<T>(a, entry, transpose_a), factor<T>(b, entry, transpose_b), beta,
                             to + entry * row_count * width, width, {}, summation);
             }
           });
}

template<class T>
void run_linear(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &weight = op.input(1), &y = op.output(0);
  const std::int64_t inputs = weight.dims[1], outputs = weight.dims[0];
  Epilogue<T> epilogue;
  if (op.has_input(2)) epilogue.bias = data<const T>(op.input(2));
  epilogue.activation = op.params<attn_linear_params>().activation;
  multiply(context, rows(y), outputs, inputs, T(1), row_major(data<const T>(x), inputs),
           row_major(data<const T>(weight), inputs).transposed(), T(0), data<T>(y), outputs, epilogue);
}

template<class T>
void run_linear_gradient(const OpView& op, KernelContext& context) {
  const attn_tensor &x = op.input(0), &weight = op.input(1), &d_y = op.input(3);
  const std::int64_t inputs = weight.dims[1], outputs = weight.dims[0], row_count = rows(d_y);
  const std::int32_t activation = op.params<attn_linear_params>().activation;
  const bool active = activation != ATTN_ACTIVATION_NONE;
  const auto scratch = context.workspace.take<T>(active ? elements(d_y) : 0);
  const T* d_z = data<const T>(d_y);
  if (active) {
    activation_gradient(context.threads, activation, elements(d_y), data<const T>(op.input(2)), d_z,
                        scratch.data());
    d_z = scratch.data();
  }
  const MatrixView<T> d_result = row_major(d_z, outputs);
  const auto beta = [&](int output) { return op.accumulates(output) ? T(1) : T(0); };
  if (op.has_output(0)) {
    multiply(context, row_count, inputs, outputs, T(1), d_result, row_major(data<const T>(weight), inputs),
             beta(0), data<T>(op.output(0)), inputs);
  }
  if (op.has_output(1)) {
    multiply(context, outputs, inputs, row_count, T(1), d_result.transposed(),
             row_major(data<const T>(x), inputs), beta(1), data<T>(op.output(1)), inputs);
  }
  if (op.has_output(2)) {
    sum_rows_of(context, row_count, outputs, d_z, outputs, data<T>(op.output(2)), op.accumulates(2));
  }
}

#define ATTN_INSTANTIATE(T)                                   \
  template void run_matmul<T>(const OpView&, KernelContext&); \
  template void run_linear<T>(const OpView&, KernelContext&); \
  template void run_linear_gradient<T>(const OpView&, KernelContext&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn::eigen
