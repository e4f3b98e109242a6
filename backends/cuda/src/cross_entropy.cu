#include "cross_entropy.cuh"
#include "kernels.h"

namespace attn::cuda {

namespace {

LabelDistribution label_distribution(const OpView& op) {
  const auto params = op.params<attn_cross_entropy_params>();
  LabelDistribution q{};
  q.classes = columns(op.input(0));
  if (params.smoothing == 0) return q;
  const auto count = static_cast<double>(q.classes);
  if (params.smoothing_kind == ATTN_SMOOTH_UNIFORM) {
    q.others = params.smoothing / count;
    q.label = 1 - params.smoothing + q.others;
  } else {
    q.others = params.smoothing / (count - 2);
    q.label = 1 - params.smoothing;
    q.excluded = params.excluded_class;
    q.is_divergence = true;
  }
  return q;
}

}  // namespace

template<typename T>
void run_cross_entropy(const OpView& op, Call& call) {
  const attn_tensor& logits = op.input(0);
  launch(call.stream, row_blocks(logits.dims[0]), row_threads(logits.dims[1]), cross_entropy_kernel<T>,
         data<T>(op.output(0)), data<T>(op.output(1)), data<const T>(logits),
         data<const int32_t>(op.input(1)), logits.dims[0], label_distribution(op),
         call.id_check(logits.dims[1]));
}

template<typename T>
void run_cross_entropy_gradient(const OpView& op, Call& call) {
  const attn_tensor& logits = op.input(0);
  launch(call.stream, row_blocks(logits.dims[0]), row_threads(logits.dims[1]),
         cross_entropy_gradient_kernel<T>, data<T>(op.output(0)), op.accumulates(0), data<const T>(logits),
         data<const int32_t>(op.input(1)), data<const T>(op.input(2)), data<const T>(op.input(3)),
         logits.dims[0], label_distribution(op), call.id_check(logits.dims[1]));
}

ATTN_FOR_BOTH_TYPES(run_cross_entropy)
ATTN_FOR_BOTH_TYPES(run_cross_entropy_gradient)

}  // namespace attn::cuda
