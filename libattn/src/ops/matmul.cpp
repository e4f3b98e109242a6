#include "internal.h"

namespace attn::ops {
namespace {

struct Sizes {
  std::int64_t m, n, k;
};

Sizes sizes_of(const Tensor& a, const Tensor& b, const attn_matmul_params& params) {
  const bool ta = params.transpose_a != 0, tb = params.transpose_b != 0;
  const std::int64_t k = a.size(ta ? -2 : -1), k_of_b = b.size(tb ? -1 : -2);
  require(k == k_of_b, "matmul: a is {}{}, b is {}{}: the inner sizes {} and {} differ", a.shape(),
          ta ? " transposed" : "", b.shape(), tb ? " transposed" : "", k, k_of_b);
  return {a.size(ta ? -1 : -2), b.size(tb ? -2 : -1), k};
}

TensorSpecs matmul_shapes(const Call& call) {
  const Tensor &a = call.input(0), &b = call.input(1);
  require(a.rank() >= 2 && b.rank() >= 2, "matmul: a is {}, b is {}, expected at least 2 dimensions",
          a.shape(), b.shape());
  require(a.dtype() == b.dtype(), "matmul: a has type {}, b has {}", name_of(a.dtype()), name_of(b.dtype()));
  const Sizes sizes = sizes_of(a, b, call.params.as<attn_matmul_params>());
  const Tensor& batched = a.rank() >= b.rank() ? a : b;
  require(a.rank() == 2 || b.rank() == 2 || a.shape().without_last(2) == b.shape().without_last(2),
          "matmul: the leading dimensions of a {} and b {} differ", a.shape(), b.shape());
  return {{batched.shape().with(-2, sizes.m).with(-1, sizes.n), a.dtype()}};
}

// One operand of rank 2 served a whole batch: its gradient is a single product over all rows if the other
// operand is not transposed, and a sum of products otherwise.
void gradient_of_shared(const Into& into, const Tensor& left, const Tensor& right,
                        const MatmulOptions& options) {
  if (!into.wanted) return;
  const Tensor products = matmul(left, right, options);
  std::array<int, ATTN_MAX_RANK> axes{};
  const auto leading = static_cast<std::size_t>(products.rank() - 2);
  for (std::size_t i = 0; i < leading; ++i) axes[i] = static_cast<int>(i);
  sum_into(into, products, std::span(axes).first(leading));
}

// y = alpha A B, where A is a or its transpose:  dA = alpha dy B^T, dB = alpha A^T dy
void matmul_gradient(Gradient& g) {
  const auto& params = g.params<attn_matmul_params>();
  const bool ta = params.transpose_a != 0, tb = params.transpose_b != 0;
  const Tensor a = g.input(0), b = g.input(1), dy = g.of(0);
  const auto product = [&](std::size_t input, const Tensor& left, const Tensor& right, bool transpose_left,
                           bool transpose_right) {
    const Into into = g.into(input);
    const MatmulOptions options{transpose_left, transpose_right, params.alpha};
    if (g.input(input).rank() < dy.rank()) {
      gradient_of_shared(into, left, right, options);
    } else {
      matmul_into(into, left, right, options);
    }
  };
  if (g.needs(0)) ta ? product(0, b, dy, tb, true) : product(0, dy, b, false, !tb);
  if (g.needs(1)) tb ? product(1, dy, a, true, ta) : product(1, a, dy, !ta, false);
}

}  // namespace

const Operation matmul_operation{
    .kind = ATTN_OP_MATMUL,
    .name = "matmul",
    .shapes = matmul_shapes,
    .gradient = matmul_gradient,
    .flops =
        [](const Call& call, const TensorSpecs& out) {
          const auto& params = call.params.as<attn_matmul_params>();
          return 2 * elements_of(out) * as_double(call.input(0).size(params.transpose_a != 0 ? -2 : -1));
        },
};

Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  return apply_one(matmul_operation, {a, b},
                   attn_matmul_params{0, options.transpose_a, options.transpose_b, 0, options.alpha, 0.0});
}

void matmul_into(const Into& into, const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  if (!into.wanted) return;
  const attn_matmul_params params{0, options.transpose_a, options.transpose_b,
                                  0, options.alpha,       into.accumulate ? 1.0 : 0.0};
  const Into target{into.target};
  apply_operation(Call{&matmul_operation, {a, b}, params, 1u}, {&target, 1});
}

}  // namespace attn::ops
