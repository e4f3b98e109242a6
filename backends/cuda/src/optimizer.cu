#include <cstring>

#include "kernels.h"
#include "optimizer.cuh"
#include "optimizer.h"

namespace attn::cuda {

namespace {

/// The tensors of one launch, with a share of the blocks for each.
template<typename T>
class StepList {
 public:
  void add(const T* gradient, T* parameter, T* first, T* second, int64_t count) {
    if (count == 0) return;
    tensors_.all[tensors_.count++] = {gradient, parameter, first, second, count, blocks_};
    blocks_ += divide_up(count, elements_per_step_block);
  }
  const StepTensors<T>& tensors() const { return tensors_; }
  unsigned blocks() const { return static_cast<unsigned>(blocks_); }

 private:
  StepTensors<T> tensors_{};
  int64_t blocks_ = 0;
};

bool are_alike(const attn_op& a, const attn_op& b) {
  const OpView left(a), right(b);
  if (b.kind != a.kind || b.input_count != a.input_count || b.output_count != a.output_count) return false;
  if (right.input(1).data != left.input(1).data || right.input(0).dtype != left.input(0).dtype) return false;
  const auto params = left.params<attn_adam_params>(), others = right.params<attn_adam_params>();
  return params.decoupled == others.decoupled && params.beta1 == others.beta1 &&
         params.beta2 == others.beta2 && params.epsilon == others.epsilon &&
         params.weight_decay == others.weight_decay;
}

}  // namespace

uint32_t adam_steps(const attn_op* ops, uint32_t count) {
  uint32_t steps = 1;
  for (; steps < count && steps < most_step_tensors && are_alike(ops[0], ops[steps]); ++steps) {
    for (uint32_t before = 0; before < steps; ++before) {
      if (OpView(ops[before]).output(0).data == OpView(ops[steps]).output(0).data) return steps;
    }
  }
  return steps;
}

template<typename T>
void run_adam_steps(const attn_op* ops, uint32_t count, Call& call) {
  const OpView first(ops[0]);
  const auto params = first.params<attn_adam_params>();
  StepList<T> list;
  for (uint32_t index = 0; index < count; ++index) {
    const OpView op(ops[index]);
    list.add(data<const T>(op.input(0)), data<T>(op.output(0)), data<T>(op.output(1)), data<T>(op.output(2)),
             elements(op.input(0)));
  }
  const AdamSettings<T> settings = {static_cast<T>(params.beta1),
                                    static_cast<T>(params.beta2),
                                    static_cast<T>(1 - params.beta1),
                                    static_cast<T>(1 - params.beta2),
                                    static_cast<T>(params.epsilon),
                                    static_cast<T>(params.weight_decay),
                                    params.decoupled != 0};
  launch(call.stream, list.blocks(), element_threads, adam_kernel<T>, list.tensors(),
         data<const T>(first.input(1)), settings);
}
template void run_adam_steps<float>(const attn_op*, uint32_t, Call&);
template void run_adam_steps<double>(const attn_op*, uint32_t, Call&);

template<typename T>
void run_sgd(const OpView& op, Call& call) {
  const auto params = op.params<attn_sgd_params>();
  StepList<T> list;
  list.add(data<const T>(op.input(0)), data<T>(op.output(0)), optional_data<T>(op.output(1)), nullptr,
           elements(op.input(0)));
  launch(call.stream, list.blocks(), element_threads, sgd_kernel<T>, list.tensors(),
         data<const T>(op.input(1)), static_cast<T>(params.momentum), static_cast<T>(params.weight_decay));
}

template<typename T>
void run_clip_by_norm(const OpView& op, Call& call) {
  const auto params = op.params<attn_clip_params>();
  StepList<T> list;
  for (int index = 0; index < op.output_count(); ++index) {
    list.add(nullptr, data<T>(op.output(index)), nullptr, nullptr, elements(op.output(index)));
  }
  launch(call.stream, list.blocks(), element_threads, clip_kernel<T>, list.tensors(),
         data<const T>(op.input(0)), static_cast<T>(params.max_norm), static_cast<T>(params.epsilon));
}

ATTN_FOR_BOTH_TYPES(run_sgd)
ATTN_FOR_BOTH_TYPES(run_clip_by_norm)

}  // namespace attn::cuda
