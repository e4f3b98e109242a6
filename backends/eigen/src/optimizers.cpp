// Steps of the optimizers over all parameters at once, one pass through memory.
#include <cmath>

#include "parallel.h"
#include "vector_loops.h"

namespace attn::eigen {
namespace {

// What the control tensor says about this step.
template<class T>
struct Control {
  Vec<T> learning_rate, correction1, correction2, gradient_scale;

  explicit Control(const attn_tensor& control) {
    const T* values = data<const T>(control);
    learning_rate = broadcast(values[0]);
    correction1 = broadcast(values[1]);
    correction2 = broadcast(values[2]);
    gradient_scale = broadcast(values[3]);
  }
};

// step(i, load, store) for each vector from element i on, the last one being incomplete.
template<class T, class Step>
void for_vectors(Threads& threads, std::int64_t count, Step&& step) {
  for_pieces(threads, count, kElementsPerTask, [&](std::int64_t first, std::int64_t some) {
    std::int64_t i = first;
    const std::int64_t end = first + some;
    for (; i + kWidth<T> <= end; i += kWidth<T>) {
      step(i, [](const T* from) { return load<T>(from); }, [](T* to, Vec<T> x) { store<T>(to, x); });
    }
    if (i < end) {
      const std::int64_t left = end - i;
      step(i, [left](const T* from) { return load_partial(from, left); }, [left](T* to, Vec<T> x) { store_partial(to, left, x); });
    }
  });
}

}  // namespace

template<class T>
void run_adam(const OpView& op, KernelContext& context) {
  const auto params = op.params<attn_adam_params>();
  const Control<T> control(op.input(1));
  const T* gradient = data<const T>(op.input(0));
  T* parameter = data<T>(op.output(0));
  T* first = data<T>(op.output(1));
  T* second = data<T>(op.output(2));
  const auto constant = [](double value) { return broadcast(static_cast<T>(value)); };
  const Vec<T> beta1 = constant(params.beta1), beta2 = constant(params.beta2), rest1 = constant(1 - params.beta1),
               rest2 = constant(1 - params.beta2), epsilon = constant(params.epsilon), decay = constant(params.weight_decay);
  const Vec<T> shrink = constant(1) - control.learning_rate * decay;
  const bool decays = params.weight_decay != 0, decoupled = params.decoupled != 0;
  for_vectors<T>(context.threads, elements(op.input(0)), [&](std::int64_t i, auto get, auto put) {
    Vec<T> p = get(parameter + i);
    Vec<T> g = control.gradient_scale * get(gradient + i);
    if (decays && decoupled) p *= shrink;
    if (decays && !decoupled) g += decay * p;
    const Vec<T> m = beta1 * get(first + i) + rest1 * g;
    const Vec<T> v = beta2 * get(second + i) + rest2 * (g * g);
    put(first + i, m);
    put(second + i, v);
    put(parameter + i, p - control.learning_rate * (m / control.correction1) / (square_root<T>(v / control.correction2) + epsilon));
  });
}

template<class T>
void run_sgd(const OpView& op, KernelContext& context) {
  const auto params = op.params<attn_sgd_params>();
  const Control<T> control(op.input(1));
  const T* gradient = data<const T>(op.input(0));
  T* parameter = data<T>(op.output(0));
  T* velocity = op.has_output(1) ? data<T>(op.output(1)) : nullptr;
  const Vec<T> momentum = broadcast(static_cast<T>(params.momentum)), decay = broadcast(static_cast<T>(params.weight_decay));
  for_vectors<T>(context.threads, elements(op.input(0)), [&](std::int64_t i, auto get, auto put) {
    const Vec<T> p = get(parameter + i);
    Vec<T> step = control.gradient_scale * get(gradient + i) + decay * p;
    if (velocity != nullptr) {
      step += momentum * get(velocity + i);
      put(velocity + i, step);
    }
    put(parameter + i, p - control.learning_rate * step);
  });
}

template<class T>
void run_clip_by_norm(const OpView& op, KernelContext& context) {
  const auto params = op.params<attn_clip_params>();
  const double norm = std::sqrt(static_cast<double>(*data<const T>(op.input(0))));
  const double scale = std::min(1.0, params.max_norm / (norm + params.epsilon));
  if (scale == 1.0) return;
  const Vec<T> factor = broadcast(static_cast<T>(scale));
  for (int output = 0; output < op.output_count(); ++output) {
    if (!op.has_output(output)) continue;
    T* x = data<T>(op.output(output));
    for_vectors<T>(context.threads, elements(op.output(output)),
                   [&](std::int64_t i, auto get, auto put) { put(x + i, factor * get(x + i)); });
  }
}

#define ATTN_INSTANTIATE(T)                                 \
  template void run_adam<T>(const OpView&, KernelContext&); \
  template void run_sgd<T>(const OpView&, KernelContext&);  \
  template void run_clip_by_norm<T>(const OpView&, KernelContext&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn::eigen
