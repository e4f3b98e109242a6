#include "additive_attention.h"
#include "kernels.h"

namespace attn::eigen {
namespace {

template<class T>
AdditiveAttentionProblem<T> read_problem(const OpView& op) {
  const auto params = op.params<attn_attention_params>();
  const attn_tensor &query = op.input(0), &key = op.input(1), &value = op.input(3);
  AdditiveAttentionProblem<T> problem;
  problem.batch = query.dims[0];
  problem.queries = query.dims[1];
  problem.units = query.dims[2];
  problem.keys = key.dims[1];
  problem.value_width = value.dims[2];
  problem.query = backend::data<const T>(query);
  problem.key = backend::data<const T>(key);
  problem.score_weight = backend::data<const T>(op.input(2));
  problem.value = backend::data<const T>(value);
  if (op.has_input(4)) {
    problem.visible.lengths = backend::data<const std::int32_t>(op.input(4));
    problem.visible.length_per_query = op.input(4).rank == 2;
  }
  problem.visible.causal = params.causal != 0;
  problem.visible.causal_offset = params.causal_offset;
  const auto* random = op.has_input(5) ? backend::data<const std::int32_t>(op.input(5)) : nullptr;
  problem.dropout = DropoutMask<T>(random, params.stream, params.dropout_rate);
  return problem;
}

template<class T>
T* optional_output(const OpView& op, int index) {
  return op.has_output(index) ? backend::data<T>(op.output(index)) : nullptr;
}

}  // namespace

template<class T>
void run_additive_attention(const OpView& op, KernelContext& context) {
  additive_attention(read_problem<T>(op), backend::data<T>(op.output(0)), backend::data<T>(op.output(1)),
                     context.threads, context.workspace);
}

template<class T>
void run_additive_attention_gradient(const OpView& op, KernelContext& context) {
  AdditiveAttentionGradient<T> gradient;
  gradient.weights = backend::data<const T>(op.input(6));
  gradient.d_output = backend::data<const T>(op.input(7));
  gradient.d_query = optional_output<T>(op, 0);
  gradient.d_key = optional_output<T>(op, 1);
  gradient.d_score_weight = optional_output<T>(op, 2);
  gradient.d_value = optional_output<T>(op, 3);
  gradient.add_to_query = op.accumulates(0);
  gradient.add_to_key = op.accumulates(1);
  gradient.add_to_score_weight = op.accumulates(2);
  gradient.add_to_value = op.accumulates(3);
  additive_attention_gradient(read_problem<T>(op), gradient, context.threads, context.workspace);
}

template void run_additive_attention<float>(const OpView&, KernelContext&);
template void run_additive_attention<double>(const OpView&, KernelContext&);
template void run_additive_attention_gradient<float>(const OpView&, KernelContext&);
template void run_additive_attention_gradient<double>(const OpView&, KernelContext&);

}  // namespace attn::eigen
