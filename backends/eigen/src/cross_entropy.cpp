// Cross-entropy of labels under a softmax, with both kinds of label smoothing, and its gradient.
#include <cmath>

#include "parallel.h"
#include "vector_loops.h"

namespace attn::eigen {
namespace {

// The distribution q of the labels: `label` on the label, `others` on every other class but the excluded one.
struct Target {
  double label = 1, others = 0;
  std::int32_t excluded = -1;
  std::int64_t classes = 0;

  explicit Target(const OpView& op) : classes(columns(op.input(0))) {
    const auto params = op.params<attn_cross_entropy_params>();
    if (params.smoothing == 0) return;
    const auto count = static_cast<double>(classes);
    if (params.smoothing_kind == ATTN_SMOOTH_UNIFORM) {
      others = params.smoothing / count;
      label = 1 - params.smoothing + others;
    } else {
      others = params.smoothing / (count - 2);
      label = 1 - params.smoothing;
      excluded = params.excluded_class;
    }
    divergence = params.smoothing_kind == ATTN_SMOOTH_OTHERS;
  }

  bool excludes(std::int64_t chosen) const { return excluded >= 0 && excluded != chosen; }
  double others_count(std::int64_t chosen) const {
    return static_cast<double>(classes - 1 - (excludes(chosen) ? 1 : 0));
  }
  // The sum of q over the classes.
  double total(std::int64_t chosen) const { return label + others * others_count(chosen); }
  // The sum of q log q, which the divergence adds to the cross-entropy.
  double negative_entropy(std::int64_t chosen) const {
    if (!divergence) return 0;
    return label * std::log(label) + others * std::log(others) * others_count(chosen);
  }

 private:
  bool divergence = false;
};

void check_labels(const attn_tensor& labels, std::int64_t classes) {
  const auto* ids = data<const std::int32_t>(labels);
  for (std::int64_t i = 0; i < elements(labels); ++i) {
    if (ids[i] < classes) continue;
    throw backend::BackendError(
        ATTN_INVALID, backend::message("label %d at position %lld is not one of %lld classes", ids[i],
                                       static_cast<long long>(i), static_cast<long long>(classes)));
  }
}

template<class T>
T loss_of_row(const Target& target, const T* x, T log_sum_exp, std::int32_t label) {
  if (target.others == 0) return log_sum_exp - x[label];
  // sum of q (log_sum_exp - x)
  double weighted = sum_of<T>(
      target.classes, [](Vec<T> a) { return a; }, x);
  if (target.excludes(label)) weighted -= x[target.excluded];
  weighted = target.others * (weighted - x[label]) + target.label * x[label];
  return static_cast<T>(target.total(label) * log_sum_exp - weighted + target.negative_entropy(label));
}

}  // namespace

template<class T>
void run_cross_entropy(const OpView& op, KernelContext& context) {
  const attn_tensor& logits = op.input(0);
  const std::int64_t classes = columns(logits);
  check_labels(op.input(1), classes);
  const Target target(op);
  const auto* labels = data<const std::int32_t>(op.input(1));
  const T* from = data<const T>(logits);
  T* loss = data<T>(op.output(0));
  T* log_sum_exp = data<T>(op.output(1));
  for_rows(context.threads, rows(logits), classes, 4, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      const T* x = from + row * classes;
      log_sum_exp[row] = log_sum_exp_of(classes, x);
      loss[row] = labels[row] < 0 ? T(0) : loss_of_row(target, x, log_sum_exp[row], labels[row]);
    }
  });
}

template<class T>
void run_cross_entropy_gradient(const OpView& op, KernelContext& context) {
  const attn_tensor& logits = op.input(0);
  const std::int64_t classes = columns(logits);
  check_labels(op.input(1), classes);
  const Target target(op);
  const bool accumulate = op.accumulates(0);
  const auto* labels = data<const std::int32_t>(op.input(1));
  const T* from = data<const T>(logits);
  const T* log_sum_exp = data<const T>(op.input(2));
  const T* d_loss = data<const T>(op.input(3));
  T* d_logits = data<T>(op.output(0));
  for_rows(context.threads, rows(logits), classes, 4, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      const T* x = from + row * classes;
      T* d_x = d_logits + row * classes;
      const std::int32_t label = labels[row];
      if (label < 0) {
        if (!accumulate) std::fill(d_x, d_x + classes, T(0));
        continue;
      }
      const double d = d_loss[row];
      const Vec<T> shift = broadcast(log_sum_exp[row]);
      const Vec<T> factor = broadcast(static_cast<T>(d * target.total(label)));
      const Vec<T> others = broadcast(static_cast<T>(d * target.others));
      const auto gradient = [=](Vec<T> value) { return exponential<T>(value - shift) * factor - others; };
      if (accumulate) {
        transform<T>(
            classes, d_x, [=](Vec<T> value, Vec<T> old) { return old + gradient(value); }, x, d_x);
      } else {
        transform<T>(classes, d_x, gradient, x);
      }
      d_x[label] += static_cast<T>(d * (target.others - target.label));
      if (target.excludes(label)) d_x[target.excluded] += static_cast<T>(d * target.others);
    }
  });
}

template void run_cross_entropy<float>(const OpView&, KernelContext&);
template void run_cross_entropy<double>(const OpView&, KernelContext&);
template void run_cross_entropy_gradient<float>(const OpView&, KernelContext&);
template void run_cross_entropy_gradient<double>(const OpView&, KernelContext&);

}  // namespace attn::eigen
