#include "gru.cuh"
#include "kernels.h"
#include "product.h"
#include "sums.h"

namespace attn::cuda {

namespace {

struct Sequence {
  int64_t steps, batch, hidden;
  int64_t state_size() const { return batch * hidden; }
  int64_t gate_size() const { return batch * 3 * hidden; }  // of a step of the input gates
};

}  // namespace

/// u of one step.
std::size_t gru_sequence_workspace(const OpView& op) {
  const attn_tensor& initial = op.input(1);
  return 3 * elements(initial) * backend::element_size(initial.dtype);
}

template<typename T>
void run_gru_sequence(const OpView& op, Call& call) {
  const attn_tensor &input = op.input(0), &initial = op.input(1);
  const Sequence size = {input.dims[0], initial.dims[0], initial.dims[1]};
  const T* weight = data<const T>(op.input(2));
  const T* bias = optional_data<const T>(op.input(3));
  T *states = data<T>(op.output(0)), *gates = data<T>(op.output(1)), *u = call.workspace_as<T>();
  const T* before = data<const T>(initial);
  for (int64_t step = 0; step < size.steps; ++step) {
    multiply<T>(call, {size.batch, 3 * size.hidden, size.hidden, {before}, {weight, true}, u});
    T* state = states + step * size.state_size();
    launch(call.stream, element_blocks(size.state_size()), element_threads, gru_step_kernel<T>, state,
           gates + step * 4 * size.state_size(), data<const T>(input) + step * size.gate_size(), u, bias,
           before, size.batch, size.hidden);
    before = state;
  }
}

/// d_u of all steps, the gradient that is carried from step to step, the parts of the sums over rows.
std::size_t gru_sequence_gradient_workspace(const OpView& op) {
  const attn_tensor &initial = op.input(0), &states = op.input(2);
  const Sequence size = {states.dims[0], initial.dims[0], initial.dims[1]};
  return (size.steps * size.gate_size() + size.state_size() +
          column_sums_elements(size.steps * size.batch, 3 * size.hidden)) *
         backend::element_size(initial.dtype);
}

template<typename T>
void run_gru_sequence_gradient(const OpView& op, Call& call) {
  const attn_tensor& initial = op.input(0);
  const Sequence size = {op.input(2).dims[0], initial.dims[0], initial.dims[1]};
  const T *weight = data<const T>(op.input(1)), *states = data<const T>(op.input(2));
  const T *gates = data<const T>(op.input(3)), *d_states = data<const T>(op.input(4));
  T* d_u = call.workspace_as<T>();
  T* carry = d_u + size.steps * size.gate_size();
  T* parts = carry + size.state_size();
  T* d_input = optional_data<T>(op.output(0));
  if (size.state_size() > 0) {
    check(cudaMemsetAsync(carry, 0, size.state_size() * sizeof(T), call.stream), "clearing the workspace");
  }
  for (int64_t step = size.steps - 1; step >= 0; --step) {
    T* d_u_here = d_u + step * size.gate_size();
    const T* before = step > 0 ? states + (step - 1) * size.state_size() : data<const T>(initial);
    launch(call.stream, element_blocks(size.state_size()), element_threads, gru_step_gradient_kernel<T>,
           d_input != nullptr ? d_input + step * size.gate_size() : nullptr, op.accumulates(0), d_u_here,
           carry, d_states + step * size.state_size(), gates + step * 4 * size.state_size(), before,
           size.batch, size.hidden);
    multiply<T>(call, {size.batch, size.hidden, 3 * size.hidden, {d_u_here}, {weight}, carry, 1, 1});
  }
  if (op.has_output(1)) {
    launch(call.stream, element_blocks(size.state_size()), element_threads, put_kernel<T>,
           data<T>(op.output(1)), carry, size.state_size(), op.accumulates(1));
  }
  if (op.has_output(2)) {
    T* d_weight = data<T>(op.output(2));
    const int64_t first_rows = size.steps > 0 ? size.batch : 0;  // those that follow the initial state
    multiply<T>(call, {3 * size.hidden,
                       size.hidden,
                       first_rows,
                       {d_u, true},
                       {data<const T>(initial)},
                       d_weight,
                       1,
                       op.accumulates(2) ? 1.0 : 0.0});
    if (size.steps > 1) {
      multiply<T>(call, {3 * size.hidden,
                         size.hidden,
                         (size.steps - 1) * size.batch,
                         {d_u + size.gate_size(), true},
                         {states},
                         d_weight,
                         1,
                         1});
    }
  }
  if (op.has_output(3)) {
    column_sums(call, data<T>(op.output(3)), d_u, size.steps * size.batch, 3 * size.hidden, op.accumulates(3),
                parts);
  }
}

ATTN_FOR_BOTH_TYPES(run_gru_sequence)
ATTN_FOR_BOTH_TYPES(run_gru_sequence_gradient)

}  // namespace attn::cuda
