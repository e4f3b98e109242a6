#include "internal.h"

namespace attn::ops {

// The k largest elements of each row, in descending order.
const Operation top_k_operation{
    .kind = ATTN_OP_TOP_K,
    .name = "top_k",
    .flops = [](const Call& call, const TensorSpecs&) { return as_double(call.input(0).elements()); },
};

std::pair<Tensor, Tensor> top_k(const Tensor& x, std::int64_t k) {
  require(x.rank() >= 1 && k >= 1 && k <= x.size(-1), "top_k: k is {}, expected 1 to the last size of x {}",
          k, x.shape());
  const Shape shape = x.shape().with(-1, k);
  const std::array<Into, 2> targets{Into{Tensor(x.shared_device(), shape, x.dtype())},
                                    Into{Tensor(x.shared_device(), shape, DType::i32)}};
  Tensors outputs = apply_operation(Call{&top_k_operation, {x.detached()}, {}, 3u}, targets);
  return {outputs[0], outputs[1]};
}

}  // namespace attn::ops
