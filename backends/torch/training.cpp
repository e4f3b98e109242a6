// The loss, and the steps of optimizers.
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.h"

namespace attn::libtorch {

// ---- cross entropy

namespace {

/// The distribution q of the labels: `label` on the label, `others` on every other class but the excluded
/// one.
struct Target {
  double label = 1, others = 0, total = 1;  // total: the sum of q
  double negative_entropy = 0;              // the sum of q log q, which the divergence adds
  int32_t excluded = -1;

  explicit Target(const Call& call) {
    const auto params = call.params<attn_cross_entropy_params>();
    if (params.smoothing == 0) return;
    const auto classes = static_cast<double>(columns(call.input(0)));
    if (params.smoothing_kind == ATTN_SMOOTH_UNIFORM) {
      others = params.smoothing / classes;
      label = 1 - params.smoothing + others;
    } else {
      others = params.smoothing / (classes - 2);
      label = 1 - params.smoothing;
      excluded = params.excluded_class;
      negative_entropy = label * std::log(label) + (classes - 2) * others * std::log(others);
    }
    total = label + others * (classes - (excluded >= 0 ? 2 : 1));
  }
};

/// The labels of a batch as indices; those of padding are 0, and marked.
struct Labels {
  at::Tensor index, padding, not_excluded;  // [N,1]; the last is 1 or 0, undefined if no class is excluded

  Labels(const Call& call, const Target& target) {
    const at::Tensor host = call.host_integers(1);
    const int64_t classes = columns(call.input(0));
    const auto* labels = host.data_ptr<int32_t>();
    for (int64_t i = 0; i < host.numel(); ++i) {
      if (labels[i] < classes) continue;
      throw BackendError(ATTN_INVALID,
                         message("label %d at position %lld is not one of %lld classes", labels[i],
                                 static_cast<long long>(i), static_cast<long long>(classes)));
    }
    const at::Tensor given = call.in(1, {host.numel(), 1});
    padding = given < 0;
    index = given.clamp_min(0).to(at::kLong);
    if (target.excluded >= 0) not_excluded = (given != target.excluded).to(call.in(0).scalar_type());
  }
};

}  // namespace

void cross_entropy(const Call& call) {
  const Target target(call);
  const Labels labels(call, target);
  const at::Tensor logits = call.in(0);
  const at::Tensor log_sum_exp = at::logsumexp(logits, {1}, /*keepdim=*/true);
  call.out(1, log_sum_exp.sizes()).copy_(log_sum_exp);
  at::Tensor loss = log_sum_exp * target.total;
  const at::Tensor at_label = logits.gather(1, labels.index);
  loss.sub_(at_label, target.label - target.others);
  if (target.others > 0)
    loss.sub_(logits.sum(1, /*keepdim=*/true), target.others).add_(target.negative_entropy);
  if (target.excluded >= 0) {
    // the excluded class has no share of the others; where it is the label itself, all others have theirs
    const at::Tensor excluded = logits.narrow(1, target.excluded, 1);
    loss.add_(excluded * labels.not_excluded, target.others);
    const double one_more = target.others * std::log(target.others);
    loss.add_((log_sum_exp * target.others + one_more).mul_(1 - labels.not_excluded));
  }
  call.out(0, loss.sizes()).copy_(loss.masked_fill_(labels.padding, 0));
}

void cross_entropy_gradient(const Call& call) {
  const Target target(call);
  const Labels labels(call, target);
  const at::Tensor logits = call.in(0);
  const int64_t count = logits.size(0);
  const at::Tensor d_loss = call.in(3, {count, 1}).masked_fill(labels.padding, 0);
  at::Tensor total = d_loss * target.total;
  if (target.excluded >= 0) total.add_(d_loss * (1 - labels.not_excluded), target.others);
  // d_loss (sum(q) softmax(logits) - q)
  at::Tensor d_logits = (logits - call.in(2, {count, 1})).exp_().mul_(total);
  if (target.others > 0) d_logits.sub_(d_loss, target.others);
  d_logits.scatter_add_(1, labels.index, d_loss * (target.others - target.label));
  if (target.excluded >= 0) {
    d_logits.narrow(1, target.excluded, 1).add_(d_loss * labels.not_excluded, target.others);
  }
  call.store(0, d_logits.masked_fill_(labels.padding, 0));  // also where the logits are not finite
}

// ---- optimizers

namespace {

/// Calls step(first, count) for parts of a flat tensor that stay in the processor's cache from one pass over
/// them to the next; on other devices once, for all of it.
template<typename Step>
void for_each_part(const Call& call, int64_t count, Step step) {
  if (!call.device().is_cpu()) {
    step(0, count);
    return;
  }
  constexpr int64_t part = 16384;
  at::parallel_for(0, (count + part - 1) / part, 1, [&](int64_t first, int64_t end) {
    const c10::InferenceMode no_gradients;  // the threads of a team do not inherit it
    for (int64_t i = first; i < end; ++i) step(i * part, std::min(part, count - i * part));
  });
}

/// The gradient times the scale of the control tensor, with the decay that is added to it.
at::Tensor scaled_gradient(const at::Tensor& gradient, const at::Tensor& scale, const at::Tensor& parameter,
                           double weight_decay) {
  at::Tensor scaled = gradient * scale;
  if (weight_decay != 0) scaled.add_(parameter, weight_decay);
  return scaled;
}

}  // namespace

void adam(const Call& call) {
  const auto params = call.params<attn_adam_params>();
  const bool decoupled = params.decoupled != 0;
  const int64_t count = elements(call.input(0));
  const at::Tensor control = call.in(1);
  const at::Tensor rate = control[0], correction = control[2], scale = control[3];
  const at::Tensor step_size = rate / control[1], shrink = 1 - rate * params.weight_decay;
  const at::Tensor gradient = call.in(0, {count});
  const at::Tensor parameter = call.out(0, {count}), m = call.out(1, {count}), v = call.out(2, {count});
  for_each_part(call, count, [&](int64_t first, int64_t size) {
    const at::Tensor p = parameter.narrow(0, first, size), part_v = v.narrow(0, first, size);
    const at::Tensor part_m = m.narrow(0, first, size);
    const at::Tensor g =
        scaled_gradient(gradient.narrow(0, first, size), scale, p, decoupled ? 0.0 : params.weight_decay);
    part_m.mul_(params.beta1).add_(g, 1 - params.beta1);
    part_v.mul_(params.beta2).addcmul_(g, g, 1 - params.beta2);
    at::Tensor change = part_v.div(correction).sqrt_().add_(params.epsilon);
    at::div_out(change, part_m, change);
    if (decoupled) p.mul_(shrink);
    p.sub_(change.mul_(step_size));
  });
}

void sgd(const Call& call) {
  const auto params = call.params<attn_sgd_params>();
  const int64_t count = elements(call.input(0));
  const at::Tensor control = call.in(1);
  const at::Tensor rate = control[0], scale = control[3];
  const at::Tensor gradient = call.in(0, {count}), parameter = call.out(0, {count});
  const at::Tensor velocity = call.has_output(1) ? call.out(1, {count}) : at::Tensor();
  for_each_part(call, count, [&](int64_t first, int64_t size) {
    const at::Tensor p = parameter.narrow(0, first, size);
    at::Tensor step = scaled_gradient(gradient.narrow(0, first, size), scale, p, params.weight_decay);
    if (velocity.defined()) {
      const at::Tensor part = velocity.narrow(0, first, size);
      step = part.mul_(params.momentum).add_(step);
    }
    p.sub_(step * rate);
  });
}

void clip_by_norm(const Call& call) {
  const auto params = call.params<attn_clip_params>();
  const at::Tensor norm = call.in(0).sqrt();
  const at::Tensor factor = at::clamp_max(params.max_norm / (norm + params.epsilon), 1);
  for (int index = 0; index < call.output_count(); ++index) {
    call.out(index, {elements(call.output(index))}).mul_(factor);
  }
}

}  // namespace attn::libtorch
