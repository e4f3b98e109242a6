#pragma once
// One step of a gated recurrent unit, element by element; the products with the weight are cuBLAS's.
#include "elementwise.cuh"

namespace attn::cuda {

/// states [B,H] and gates [B,4H] of one step from a and u [B,3H]; `u` is without bias, which may be NULL.
template<typename T>
__global__ void gru_step_kernel(T* state, T* gates, const T* a, const T* u, const T* bias, const T* before,
                                int64_t batch, int64_t hidden) {
  for (int64_t i = first_element(); i < batch * hidden; i += element_step()) {
    const int64_t entry = i / hidden, h = i - entry * hidden;
    const T *a_row = a + entry * 3 * hidden, *u_row = u + entry * 3 * hidden;
    const auto hidden_gate = [&](int gate) {
      const int64_t at = gate * hidden + h;
      return bias != nullptr ? u_row[at] + bias[at] : u_row[at];
    };
    const T reset = sigmoid(a_row[h] + hidden_gate(0));
    const T update = sigmoid(a_row[hidden + h] + hidden_gate(1));
    const T hidden_new = hidden_gate(2);
    const T fresh = tanh(a_row[2 * hidden + h] + reset * hidden_new);
    state[i] = (T{1} - update) * fresh + update * before[i];
    T* gate_row = gates + entry * 4 * hidden;
    gate_row[h] = reset;
    gate_row[hidden + h] = update;
    gate_row[2 * hidden + h] = fresh;
    gate_row[3 * hidden + h] = hidden_new;
  }
}

/// Backwards through one step: d_a (may be NULL) and d_u [B,3H], and `carry`, the gradient that reaches the
/// state before without passing through u. On entry carry is what reaches this state from later steps.
template<typename T>
__global__ void gru_step_gradient_kernel(T* d_a, bool accumulate, T* d_u, T* carry, const T* d_state,
                                         const T* gates, const T* before, int64_t batch, int64_t hidden) {
  for (int64_t i = first_element(); i < batch * hidden; i += element_step()) {
    const int64_t entry = i / hidden, h = i - entry * hidden;
    const T* gate_row = gates + entry * 4 * hidden;
    const T reset = gate_row[h], update = gate_row[hidden + h];
    const T fresh = gate_row[2 * hidden + h], hidden_new = gate_row[3 * hidden + h];
    const T d = d_state[i] + carry[i];
    const T d_fresh = d * (T{1} - update) * (T{1} - fresh * fresh);
    const T d_update = d * (before[i] - fresh) * update * (T{1} - update);
    const T d_reset = d_fresh * hidden_new * reset * (T{1} - reset);
    carry[i] = d * update;
    const int64_t row = entry * 3 * hidden + h;
    d_u[row] = d_reset;
    d_u[row + hidden] = d_update;
    d_u[row + 2 * hidden] = d_fresh * reset;
    if (d_a == nullptr) continue;
    put(d_a + row, d_reset, accumulate);
    put(d_a + row + hidden, d_update, accumulate);
    put(d_a + row + 2 * hidden, d_fresh, accumulate);
  }
}

template<typename T>
__global__ void put_kernel(T* to, const T* from, int64_t count, bool accumulate) {
  for (int64_t i = first_element(); i < count; i += element_step()) put(to + i, from[i], accumulate);
}

}  // namespace attn::cuda
