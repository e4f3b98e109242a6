#pragma once
// Steps of optimizers, over many tensors at once: a model has hundreds of small ones.
#include "device.cuh"

namespace attn::cuda {

constexpr int most_step_tensors = 32;
constexpr int elements_per_step_block = 2048;

template<typename T>
struct StepTensor {
  const T* gradient;
  T *parameter, *first, *second;  // moments of Adam; `first` is the velocity of gradient descent
  int64_t count;
  int64_t first_block;  // of the blocks that work on this tensor
};

template<typename T>
struct StepTensors {
  int count;
  StepTensor<T> all[most_step_tensors];
};

/// Calls step(tensor, element) for the elements of this thread.
template<typename T, typename Step>
__device__ void for_each_step(const StepTensors<T>& tensors, Step step) {
  int index = tensors.count - 1;
  while (index > 0 && tensors.all[index].first_block > blockIdx.x) --index;
  const StepTensor<T>& tensor = tensors.all[index];
  const int64_t start = (blockIdx.x - tensor.first_block) * elements_per_step_block;
  const int64_t end =
      start + elements_per_step_block < tensor.count ? start + elements_per_step_block : tensor.count;
  for (int64_t i = start + threadIdx.x; i < end; i += blockDim.x) step(tensor, i);
}

template<typename T>
struct AdamSettings {
  T beta1, beta2, rest1, rest2, epsilon, weight_decay;  // rest: 1 - beta
  bool decoupled;
};

/// control: learning rate, 1 - beta1^t, 1 - beta2^t, gradient scale.
template<typename T>
__global__ void adam_kernel(StepTensors<T> tensors, const T* control, AdamSettings<T> settings) {
  const T rate = control[0], correction1 = control[1], correction2 = control[2], scale = control[3];
  const T added_decay = settings.decoupled ? T{0} : settings.weight_decay;
  const T shrink = settings.decoupled ? T{1} - rate * settings.weight_decay : T{1};
  for_each_step(tensors, [&](const StepTensor<T>& tensor, int64_t i) {
    const T parameter = tensor.parameter[i];
    const T g = scale * tensor.gradient[i] + added_decay * parameter;
    const T m = settings.beta1 * tensor.first[i] + settings.rest1 * g;
    const T v = settings.beta2 * tensor.second[i] + settings.rest2 * (g * g);
    tensor.first[i] = m;
    tensor.second[i] = v;
    tensor.parameter[i] =
        parameter * shrink - rate * (m / correction1) / (sqrt(v / correction2) + settings.epsilon);
  });
}

template<typename T>
__global__ void sgd_kernel(StepTensors<T> tensors, const T* control, T momentum, T weight_decay) {
  const T rate = control[0], scale = control[3];
  for_each_step(tensors, [&](const StepTensor<T>& tensor, int64_t i) {
    T g = scale * tensor.gradient[i] + weight_decay * tensor.parameter[i];
    if (tensor.first != nullptr) {
      g += momentum * tensor.first[i];
      tensor.first[i] = g;
    }
    tensor.parameter[i] -= rate * g;
  });
}

template<typename T>
__global__ void clip_kernel(StepTensors<T> tensors, const T* squared_norm, T max_norm, T epsilon) {
  const T factor = max_norm / (sqrt(*squared_norm) + epsilon);
  if (factor >= T{1}) return;  // not so if the norm is NaN
  for_each_step(tensors, [&](const StepTensor<T>& tensor, int64_t i) { tensor.parameter[i] *= factor; });
}

}  // namespace attn::cuda
