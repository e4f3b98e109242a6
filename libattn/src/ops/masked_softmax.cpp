#include "internal.h"

namespace attn::ops {
namespace {

attn_masked_softmax_params params_of(const Mask& mask) {
  return {0, 0, mask.masking, mask.causal, mask.causal_offset};
}

Mask mask_of(const attn_masked_softmax_params& params, const Tensor& lengths) {
  return {lengths, params.causal != 0, params.causal_offset, static_cast<attn_masking>(params.masking)};
}

void check_lengths(const char* operation, const Shape& scores, const Tensor& lengths) {
  if (!lengths.defined()) return;
  require_type(operation, "valid_lengths", lengths, DType::i32);
  const std::int64_t leading = scores.leading(2), batch = lengths.rank() > 0 ? lengths.size(0) : 0;
  const bool fits = (lengths.rank() == 1 || (lengths.rank() == 2 && lengths.size(1) == scores[-2])) &&
                    (batch == 0 ? leading == 0 : leading % batch == 0);
  require(fits, "{}: valid_lengths is {}, expected [batch] or [batch, {}] for scores {}", operation,
          lengths.shape(), scores[-2], scores);
}

}  // namespace

// weights = softmax(scores) over the visible keys;  d_scores = weights (d_weights - sum(d_weights weights))
const Operation masked_softmax_operation{
    .kind = ATTN_OP_MASKED_SOFTMAX,
    .name = "masked_softmax",
    .shapes =
        [](const Call& call) {
          const Tensor& scores = call.input(0);
          require(scores.rank() >= 2, "masked_softmax: scores are {}, expected [..., queries, keys]",
                  scores.shape());
          check_lengths("masked_softmax", scores.shape(), call.input(1));
          return TensorSpecs{{scores.shape(), scores.dtype()}};
        },
    .gradient =
        [](Gradient& g) {
          const Mask mask = mask_of(g.params<attn_masked_softmax_params>(), g.input(1));
          g.add(0, masked_softmax_gradient(g.output(0), g.of(0), mask));
        },
    .flops = [](const Call&, const TensorSpecs& out) { return 5 * elements_of(out); },
};

const Operation masked_softmax_gradient_operation{
    .kind = ATTN_OP_MASKED_SOFTMAX_GRADIENT,
    .name = "masked_softmax_gradient",
    .shapes =
        [](const Call& call) {
          require_shape("masked_softmax_gradient", "d_weights", call.input(1), call.input(0).shape());
          return TensorSpecs{{call.input(0).shape(), call.input(0).dtype()}};
        },
    .flops = [](const Call&, const TensorSpecs& out) { return 4 * elements_of(out); },
};

Tensor masked_softmax(const Tensor& scores, const Mask& mask) {
  return apply_one(masked_softmax_operation, {scores, mask.valid_lengths}, params_of(mask));
}

Tensor masked_softmax_gradient(const Tensor& weights, const Tensor& d_weights, const Mask& mask) {
  return apply_one(masked_softmax_gradient_operation, {weights, d_weights, mask.valid_lengths},
                   params_of(mask));
}

void require_lengths(const char* operation, const Tensor& lengths, std::int64_t batch, std::int64_t queries) {
  if (!lengths.defined()) return;
  require_type(operation, "valid_lengths", lengths, DType::i32);
  require(lengths.shape() == Shape{batch} || lengths.shape() == Shape{batch, queries},
          "{}: valid_lengths is {}, expected [{}] or [{}, {}]", operation, lengths.shape(), batch, batch,
          queries);
}

}  // namespace attn::ops
