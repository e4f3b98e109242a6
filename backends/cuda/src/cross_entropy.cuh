#pragma once
#include "rows.cuh"

namespace attn::cuda {

/// The distribution q of the labels: `label` on the label, `others` on every other class but the excluded
/// one.
struct LabelDistribution {
  double label = 1, others = 0;
  int32_t excluded = -1;
  bool is_divergence = false;  // the loss is sum q log(q/p), not only -sum q log p
  int64_t classes;

  __device__ bool excludes(int32_t chosen) const { return excluded >= 0 && excluded != chosen; }
  __device__ double others_count(int32_t chosen) const {
    return static_cast<double>(classes - 1 - (excludes(chosen) ? 1 : 0));
  }
  __device__ double total(int32_t chosen) const { return label + others * others_count(chosen); }
  __device__ double negative_entropy(int32_t chosen) const {
    if (!is_divergence) return 0;
    return label * log(label) + others * log(others) * others_count(chosen);
  }
};

template<typename T>
__global__ void cross_entropy_kernel(T* loss, T* log_sum_exp_out, const T* logits, const int32_t* labels,
                                     int64_t count, LabelDistribution q, IdCheck check) {
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const T* x = logits + row * q.classes;
    const T log_sum_exp = log_sum_exp_of_row(x, q.classes);
    const int32_t label = labels[row];
    const bool counts = label >= 0 && accepts(check, label, row);
    T result{0};
    if (q.others != 0) {
      T sum{0};  // of the distances, which are not as large as the logits may be
      for (int64_t i = threadIdx.x; i < q.classes; i += blockDim.x) sum += log_sum_exp - x[i];
      sum = block_sum(sum);
      if (counts) {
        if (q.excludes(label)) sum -= log_sum_exp - x[q.excluded];
        const T of_label = log_sum_exp - x[label];
        result = static_cast<T>(q.others * (sum - of_label) + q.label * of_label + q.negative_entropy(label));
      }
    } else if (counts) {
      result = log_sum_exp - x[label];
    }
    if (threadIdx.x == 0) {
      loss[row] = result;
      log_sum_exp_out[row] = log_sum_exp;
    }
  }
}

template<typename T>
__global__ void cross_entropy_gradient_kernel(T* d_logits, bool accumulate, const T* logits,
                                              const int32_t* labels, const T* log_sum_exp, const T* d_loss,
                                              int64_t count, LabelDistribution q, IdCheck check) {
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const int32_t label = labels[row];
    const bool counts = label >= 0 && accepts(check, label, row);
    const T factor = counts ? static_cast<T>(q.total(label)) : T{0};
    for (int64_t i = threadIdx.x; i < q.classes; i += blockDim.x) {
      T d{0};
      if (counts) {
        const bool excluded = i == q.excluded && q.excludes(label);
        const T target = i == label ? T(q.label) : excluded ? T{0} : T(q.others);
        d = d_loss[row] * (exp(logits[row * q.classes + i] - log_sum_exp[row]) * factor - target);
      }
      put(d_logits + row * q.classes + i, d, accumulate);
    }
  }
}

}  // namespace attn::cuda
