// Steps of optimizers: Adam (Kingma and Ba, 2015), AdamW (Loshchilov and Hutter, 2019), gradient descent with
// momentum; and clipping by the norm of all gradients.
#include <cmath>

#include "parallel.h"
#include "vector_loops.h"

namespace attn::eigen {
namespace {

// The tensor `control` of a step.
template<class T>
struct Control {
  T rate, correction1, correction2, scale;
  explicit Control(const attn_tensor& tensor)
      : rate(data<const T>(tensor)[0]),
        correction1(data<const T>(tensor)[1]),
        correction2(data<const T>(tensor)[2]),
        scale(data<const T>(tensor)[3]) {}
};

// Calls step(position, vector length) for vectors of [0, count), with load and store for this length.
template<class T, class Step>
void for_vectors(Threads& threads, std::int64_t count, Step step) {
  for_pieces(threads, count, kElementsPerTask, [=](std::int64_t first, std::int64_t some) {
    const std::int64_t end = first + some;
    std::int64_t i = first;
    const auto load_whole = [&i](const T* from) { return load<T>(from + i); };
    const auto store_whole = [&i](T* to, Vec<T> x) { store<T>(to + i, x); };
    for (; i + kWidth<T> <= end; i += kWidth<T>) step(load_whole, store_whole);
    if (i == end) return;
    step([=](const T* from) { return load_partial(from + i, end - i); },
         [=](T* to, Vec<T> x) { store_partial(to + i, end - i, x); });
  });
}

}  // namespace

template<class T>
void run_adam(const OpView& op, KernelContext& context) {
  const auto params = op.params<attn_adam_params>();
  const Control<T> control(op.input(1));
  const bool decoupled = params.decoupled != 0;
  const T decay = static_cast<T>(params.weight_decay);
  const T* gradient = data<const T>(op.input(0));
  T* parameter = data<T>(op.output(0));
  T* first_moment = data<T>(op.output(1));
  T* second_moment = data<T>(op.output(2));
  const Vec<T> scale = broadcast(control.scale);
  const Vec<T> added_decay = broadcast(decoupled ? T(0) : decay);
  const Vec<T> shrink = broadcast(decoupled ? T(1) - control.rate * decay : T(1));
  const Vec<T> beta1 = broadcast(static_cast<T>(params.beta1)),
               beta2 = broadcast(static_cast<T>(params.beta2));
  const Vec<T> rest1 = broadcast(static_cast<T>(1 - params.beta1)),
               rest2 = broadcast(static_cast<T>(1 - params.beta2));
  const Vec<T> step_size = broadcast(control.rate / control.correction1);
  const Vec<T> inverse2 = broadcast(T(1) / control.correction2);
  const Vec<T> epsilon = broadcast(static_cast<T>(params.epsilon));
  for_vectors<T>(context.threads, elements(op.output(0)), [=](auto load_at, auto store_at) {
    Vec<T> p = load_at(parameter);
    const Vec<T> g = scale * load_at(gradient) + added_decay * p;
    const Vec<T> m = beta1 * load_at(first_moment) + rest1 * g;
    const Vec<T> v = beta2 * load_at(second_moment) + rest2 * (g * g);
    p = p * shrink - step_size * m / (square_root<T>(v * inverse2) + epsilon);
    store_at(first_moment, m);
    store_at(second_moment, v);
    store_at(parameter, p);
  });
}

template<class T>
void run_sgd(const OpView& op, KernelContext& context) {
  const auto params = op.params<attn_sgd_params>();
  const Control<T> control(op.input(1));
  const T* gradient = data<const T>(op.input(0));
  T* parameter = data<T>(op.output(0));
  T* velocity = op.has_output(1) ? data<T>(op.output(1)) : nullptr;
  const Vec<T> scale = broadcast(control.scale), rate = broadcast(control.rate);
  const Vec<T> decay = broadcast(static_cast<T>(params.weight_decay));
  const Vec<T> momentum = broadcast(static_cast<T>(params.momentum));
  for_vectors<T>(context.threads, elements(op.output(0)), [=](auto load_at, auto store_at) {
    const Vec<T> p = load_at(parameter);
    Vec<T> step = scale * load_at(gradient) + decay * p;
    if (velocity != nullptr) {
      step = momentum * load_at(velocity) + step;
      store_at(velocity, step);
    }
    store_at(parameter, p - rate * step);
  });
}

template<class T>
void run_clip_by_norm(const OpView& op, KernelContext& context) {
  const auto params = op.params<attn_clip_params>();
  const T norm = std::sqrt(*data<const T>(op.input(0)));
  const T scale = static_cast<T>(params.max_norm) / (norm + static_cast<T>(params.epsilon));
  if (scale >= T(1)) return;  // not so if the norm is NaN
  const Vec<T> factor = broadcast(scale);
  for (int index = 0; index < op.output_count(); ++index) {
    T* x = data<T>(op.output(index));
    for_pieces(context.threads, elements(op.output(index)), kElementsPerTask,
               [=](std::int64_t first, std::int64_t count) {
                 transform<T>(
                     count, x + first, [=](Vec<T> a) { return a * factor; }, x + first);
               });
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
