#pragma once
#include "elementwise.cuh"

namespace attn::cuda {

template<typename T>
__device__ T activate(int activation, T x) {
  switch (activation) {
    case ATTN_ACTIVATION_RELU:
      return x < T{0} ? T{0} : x;
    case ATTN_ACTIVATION_TANH:
      return tanh(x);
    case ATTN_ACTIVATION_SIGMOID:
      return sigmoid(x);
    default:
      return x;
  }
}

/// The gradient before the activation from that behind it and the activation's value.
template<typename T>
__device__ T activation_gradient(int activation, T y, T d_y) {
  switch (activation) {
    case ATTN_ACTIVATION_RELU:
      return y > T{0} ? d_y : T{0};
    case ATTN_ACTIVATION_TANH:
      return d_y * (T{1} - y * y);
    case ATTN_ACTIVATION_SIGMOID:
      return d_y * y * (T{1} - y);
    default:
      return d_y;
  }
}

/// y = activation(y + bias) in place. `bias` may be NULL.
template<typename T>
__global__ void bias_kernel(T* y, const T* bias, int64_t count, int64_t columns, int activation) {
  for (int64_t i = first_element(); i < count; i += element_step()) {
    const T value = bias != nullptr ? y[i] + bias[i % columns] : y[i];
    y[i] = activate(activation, value);
  }
}

template<typename T>
__global__ void activation_gradient_kernel(T* d_x, const T* y, const T* d_y, int64_t count, int activation) {
  for (int64_t i = first_element(); i < count; i += element_step()) {
    d_x[i] = activation_gradient(activation, y[i], d_y[i]);
  }
}

}  // namespace attn::cuda
