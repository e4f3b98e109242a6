#include <cmath>
#include <numeric>
#include <vector>

#include "internal.h"

namespace attn::ops {
namespace {

TensorSpecs cross_entropy_shapes(const Call& call) {
  const auto& params = call.params.as<attn_cross_entropy_params>();
  const Tensor &logits = call.input(0), &labels = call.input(1);
  require_rank("cross_entropy", "logits", logits, 2);
  require_type("cross_entropy", "labels", labels, DType::i32);
  require_shape("cross_entropy", "labels", labels, Shape{logits.size(0)});
  require(params.smoothing >= 0.0 && params.smoothing < 1.0,
          "cross_entropy: smoothing is {}, expected at least 0 and below 1", params.smoothing);
  return {{labels.shape(), logits.dtype()}, {labels.shape(), logits.dtype()}};
}

// What the target distribution gives to the label, and to every other class.
struct Target {
  double label, other;
};

Target target_of(const attn_cross_entropy_params& params, std::int64_t classes) {
  if (params.smoothing_kind == ATTN_SMOOTH_UNIFORM) {
    const double other = params.smoothing / as_double(classes);
    return {1.0 - params.smoothing + other, other};
  }
  return {1.0 - params.smoothing, classes > 2 ? params.smoothing / as_double(classes - 2) : 0.0};
}

bool excludes(const attn_cross_entropy_params& params) {
  return params.smoothing_kind == ATTN_SMOOTH_OTHERS && params.excluded_class >= 0;
}

// Positions row * classes + column in the flattened logits, i32 [rows].
Tensor flat_positions(const Tensor& logits, const Tensor& columns) {
  std::vector<std::int32_t> starts(static_cast<std::size_t>(logits.size(0)));
  for (std::size_t row = 0; row < starts.size(); ++row) {
    starts[row] = static_cast<std::int32_t>(static_cast<std::int64_t>(row) * logits.size(1));
  }
  const Tensor first = Tensor::from<std::int32_t>(logits.shared_device(), starts, Shape{logits.size(0)});
  return add(first, columns);
}

Tensor label_positions(const Tensor& logits, const Tensor& labels) {
  return flat_positions(logits, maximum(labels, full(labels, {}, 0.0)));
}

Tensor excluded_positions(const Tensor& logits, const Tensor& labels, std::int32_t excluded) {
  return flat_positions(logits, full(labels, labels.shape(), excluded));
}

// 1 for a token, 0 for padding.
Tensor token_mask(const Tensor& labels, DType type) {
  return cast(greater(labels, full(labels, {}, -1.0)), type);
}

Tensor picked(const Tensor& logits, const Tensor& positions) {
  return gather_rows(logits.reshaped({logits.elements(), 1}), positions).reshaped({logits.size(0)});
}

// sum of q log q, which only ATTN_SMOOTH_OTHERS counts
double entropy_term(const attn_cross_entropy_params& params, const Target& target, std::int64_t classes) {
  if (params.smoothing_kind == ATTN_SMOOTH_UNIFORM || params.smoothing == 0.0) return 0.0;
  const std::int64_t others = excludes(params) ? classes - 2 : classes - 1;
  return target.label * std::log(target.label) +
         (target.other > 0 ? as_double(others) * target.other * std::log(target.other) : 0.0);
}

// loss = sum(q) log_sum_exp - sum(q logits) + sum(q log q), 0 for padding
Tensors cross_entropy_decomposed(const Call& call, std::span<const Into>) {
  const auto& params = call.params.as<attn_cross_entropy_params>();
  const Tensor &logits = call.input(0), &labels = call.input(1);
  const std::int64_t classes = logits.size(1);
  const Target target = target_of(params, classes);
  const Tensor normaliser = log_sum_exp(logits);
  Tensor expected = affine(picked(logits, label_positions(logits, labels)), target.label - target.other, 0.0);
  double total = target.label + as_double(classes - 1) * target.other;
  if (target.other > 0.0) {
    expected = add(expected, affine(reduce_last(logits, false, false), target.other, 0.0));
    if (excludes(params)) {
      const Tensor at = excluded_positions(logits, labels, params.excluded_class);
      expected = subtract(expected, affine(picked(logits, at), target.other, 0.0));
      total -= target.other;
    }
  }
  const Tensor loss = subtract(affine(normaliser, total, entropy_term(params, target, classes)), expected);
  // select, not a product: the loss of padding is 0 even where its logits are not finite
  return {select(token_mask(labels, logits.dtype()), loss, full(loss, {}, 0.0)), normaliser};
}

TensorSpecs cross_entropy_gradient_shapes(const Call& call) {
  return {{call.input(0).shape(), call.input(0).dtype()}};
}

// dlogits = dloss (sum(q) softmax(logits) - q), 0 for padding
Tensors cross_entropy_gradient_decomposed(const Call& call, std::span<const Into>) {
  const auto& params = call.params.as<attn_cross_entropy_params>();
  const Tensor &logits = call.input(0), &labels = call.input(1);
  const std::int64_t rows = logits.size(0), classes = logits.size(1);
  const Target target = target_of(params, classes);
  const Shape column{rows, 1}, flat{rows * classes, 1};
  const auto scatter = [&](const Tensor& q, const Tensor& at, double value) {
    scatter_add_rows(q.reshaped(flat), full(logits, column, value), at);
  };
  const Tensor q = full(logits, logits.shape(), target.other);
  double total = target.label + as_double(classes - 1) * target.other;
  scatter(q, label_positions(logits, labels), target.label - target.other);
  if (target.other > 0.0 && excludes(params)) {
    scatter(q, excluded_positions(logits, labels, params.excluded_class), -target.other);
    total -= target.other;
  }
  const Tensor probability = exp(subtract(logits, call.input(2).reshaped(column)));
  const Tensor d_loss = call.input(3).reshaped(column);
  const Tensor d_logits = multiply(d_loss, subtract(affine(probability, total, 0.0), q));
  const Tensor mask = token_mask(labels, logits.dtype()).reshaped(column);
  return {select(mask, d_logits, full(d_logits, {}, 0.0))};
}

}  // namespace

const Operation cross_entropy_operation{
    .kind = ATTN_OP_CROSS_ENTROPY,
    .name = "cross_entropy",
    .shapes = cross_entropy_shapes,
    .gradient =
        [](Gradient& g) {
          if (!g.of(0).defined()) return;
          const Into into = g.into(0);
          apply_operation(Call{&cross_entropy_gradient_operation,
                               {g.input(0), g.input(1), g.output(1), g.of(0)},
                               g.params<attn_cross_entropy_params>(),
                               1u},
                          {&into, 1});
        },
    .flops = [](const Call& call, const TensorSpecs&) { return 4 * as_double(call.input(0).elements()); },
    .decomposition = cross_entropy_decomposed,
};

const Operation cross_entropy_gradient_operation{
    .kind = ATTN_OP_CROSS_ENTROPY_GRADIENT,
    .name = "cross_entropy_gradient",
    .shapes = cross_entropy_gradient_shapes,
    .flops = [](const Call&, const TensorSpecs& out) { return 4 * elements_of(out); },
    .decomposition = cross_entropy_gradient_decomposed,
    .accumulates = true,
};

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options) {
  const attn_cross_entropy_params params{0, 0, options.kind, options.excluded_class, options.smoothing};
  return apply_operation(Call{&cross_entropy_operation, {logits, labels}, params, 3u})[0];
}

}  // namespace attn::ops
