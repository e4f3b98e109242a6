#include "attention.h"
#include "kernels.h"

namespace attn::eigen {
namespace {

template<class T>
AttentionProblem<T> read_problem(const OpView& op) {
  const auto params = op.params<attn_attention_params>();
  const attn_tensor &query = op.input(0), &key = op.input(1), &value = op.input(2);
  AttentionProblem<T> problem;
  problem.batch = query.dims[0];
  problem.queries = query.dims[1];
  problem.keys = key.dims[1];
  problem.heads = params.heads;
  problem.key_width = query.dims[2] / params.heads;
  problem.value_width = value.dims[2] / params.heads;
  problem.query = backend::data<const T>(query);
  problem.key = backend::data<const T>(key);
  problem.value = backend::data<const T>(value);
  if (op.has_input(3)) {
    problem.visible.lengths = backend::data<const std::int32_t>(op.input(3));
    problem.visible.length_per_query = op.input(3).rank == 2;
  }
  problem.visible.causal = params.causal != 0;
  problem.visible.causal_offset = params.causal_offset;
  problem.scale = params.scale;
  const auto* random = op.has_input(4) ? backend::data<const std::int32_t>(op.input(4)) : nullptr;
  problem.dropout = DropoutMask<T>(random, params.stream, params.dropout_rate);
  return problem;
}

template<class T>
T* optional_output(const OpView& op, int index) {
  return op.has_output(index) ? backend::data<T>(op.output(index)) : nullptr;
}

}  // namespace

template<class T>
void run_attention(const OpView& op, KernelContext& context) {
  AttentionResult<T> result;
  result.output = backend::data<T>(op.output(0));
  result.log_sum_exp = backend::data<T>(op.output(1));
  result.weights = optional_output<T>(op, 2);
  attention(read_problem<T>(op), result, context.threads, context.workspace);
}

template<class T>
void run_attention_gradient(const OpView& op, KernelContext& context) {
  AttentionGradient<T> gradient;
  gradient.output = backend::data<const T>(op.input(5));
  gradient.log_sum_exp = backend::data<const T>(op.input(6));
  gradient.d_output = backend::data<const T>(op.input(7));
  gradient.d_query = optional_output<T>(op, 0);
  gradient.d_key = optional_output<T>(op, 1);
  gradient.d_value = optional_output<T>(op, 2);
  gradient.add_to_query = op.accumulates(0);
  gradient.add_to_key = op.accumulates(1);
  gradient.add_to_value = op.accumulates(2);
  attention_gradient(read_problem<T>(op), gradient, context.threads, context.workspace);
}

template void run_attention<float>(const OpView&, KernelContext&);
template void run_attention<double>(const OpView&, KernelContext&);
template void run_attention_gradient<float>(const OpView&, KernelContext&);
template void run_attention_gradient<double>(const OpView&, KernelContext&);

}  // namespace attn::eigen
