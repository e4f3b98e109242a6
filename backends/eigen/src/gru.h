#pragma once
/*
 * A gated recurrent unit over a sequence (Cho et al., 2014; gates in PyTorch's order r, z, n):
 *   u = h weight^T + bias,  r = s(a_r + u_r),  z = s(a_z + u_z),  n = tanh(a_n + r u_n),  h' = (1 - z) n + z
 * h where a are the input gates.
 */
#include <cstdint>

#include "threads.h"

namespace attn::eigen {

struct GruShape {
  std::int64_t steps = 0, batch = 0, hidden = 0;
};

template<class T>
struct GruSequence {
  GruShape shape;
  const T* input_gates = nullptr;    // [steps, batch, 3 hidden]
  const T* initial_state = nullptr;  // [batch, hidden]
  const T* weight = nullptr;         // [3 hidden, hidden]
  const T* bias = nullptr;           // [3 hidden]; may be null
  T* states = nullptr;               // [steps, batch, hidden]
  T* gates = nullptr;                // [steps, batch, 4 hidden]: r, z, n, u_n
};

template<class T>
struct GruSequenceGradient {
  GruShape shape;
  const T* initial_state = nullptr;
  const T* weight = nullptr;
  const T* states = nullptr;
  const T* gates = nullptr;
  const T* d_states = nullptr;  // [steps, batch, hidden]
  T* d_input_gates = nullptr;   // each may be null: not computed
  T* d_initial_state = nullptr;
  T* d_weight = nullptr;
  T* d_bias = nullptr;
  bool add_to_input_gates = false, add_to_initial_state = false, add_to_weight = false, add_to_bias = false;
};

template<class T>
void gru_sequence(const GruSequence<T>& sequence, Threads& threads, Workspace& workspace);

template<class T>
void gru_sequence_gradient(const GruSequenceGradient<T>& gradient, Threads& threads, Workspace& workspace);

/// Rows of the batch that one task takes through the whole sequence.
std::int64_t gru_rows_per_task(const GruShape& shape);

}  // namespace attn::eigen
