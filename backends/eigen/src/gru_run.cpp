#include "gru.h"
#include "kernels.h"

namespace attn::eigen {
namespace {

template<class T>
T* optional_output(const OpView& op, int index) {
  return op.has_output(index) ? backend::data<T>(op.output(index)) : nullptr;
}

}  // namespace

template<class T>
void run_gru_sequence(const OpView& op, KernelContext& context) {
  const attn_tensor& states = op.output(0);
  GruSequence<T> sequence;
  sequence.shape = {states.dims[0], states.dims[1], states.dims[2]};
  sequence.input_gates = backend::data<const T>(op.input(0));
  sequence.initial_state = backend::data<const T>(op.input(1));
  sequence.weight = backend::data<const T>(op.input(2));
  sequence.bias = op.has_input(3) ? backend::data<const T>(op.input(3)) : nullptr;
  sequence.states = backend::data<T>(states);
  sequence.gates = backend::data<T>(op.output(1));
  gru_sequence(sequence, context.threads, context.workspace);
}

template<class T>
void run_gru_sequence_gradient(const OpView& op, KernelContext& context) {
  const attn_tensor& states = op.input(2);
  GruSequenceGradient<T> gradient;
  gradient.shape = {states.dims[0], states.dims[1], states.dims[2]};
  gradient.initial_state = backend::data<const T>(op.input(0));
  gradient.weight = backend::data<const T>(op.input(1));
  gradient.states = backend::data<const T>(states);
  gradient.gates = backend::data<const T>(op.input(3));
  gradient.d_states = backend::data<const T>(op.input(4));
  gradient.d_input_gates = optional_output<T>(op, 0);
  gradient.d_initial_state = optional_output<T>(op, 1);
  gradient.d_weight = optional_output<T>(op, 2);
  gradient.d_bias = optional_output<T>(op, 3);
  gradient.add_to_input_gates = op.accumulates(0);
  gradient.add_to_initial_state = op.accumulates(1);
  gradient.add_to_weight = op.accumulates(2);
  gradient.add_to_bias = op.accumulates(3);
  gru_sequence_gradient(gradient, context.threads, context.workspace);
}

template void run_gru_sequence<float>(const OpView&, KernelContext&);
template void run_gru_sequence<double>(const OpView&, KernelContext&);
template void run_gru_sequence_gradient<float>(const OpView&, KernelContext&);
template void run_gru_sequence_gradient<double>(const OpView&, KernelContext&);

}  // namespace attn::eigen
