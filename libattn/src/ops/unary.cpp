#include <numbers>

#include "internal.h"

namespace attn::ops {
namespace {

Tensor unary(const Tensor& x, attn_unary_function function) {
  require_float("unary", "x", x);
  return apply_one(unary_operation, {x}, attn_unary_params{0, function});
}

Tensor zero(const Tensor& like) {
  return full(like, {}, 0.0);
}

// Phi(x) + x phi(x)
Tensor gelu_slope(const Tensor& x) {
  const Tensor distribution = affine(erf(affine(x, std::numbers::sqrt2 / 2, 0.0)), 0.5, 0.5);
  const Tensor density =
      affine(exp(affine(square(x), -0.5, 0.0)), std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2, 0.0);
  return add(distribution, multiply(x, density));
}

Tensor sign(const Tensor& x) {
  return subtract(greater(x, zero(x)), greater(zero(x), x));
}

// dy/dx, given x and y.
Tensor slope(attn_unary_function function, const Tensor& x, const Tensor& y) {
  switch (function) {
    case ATTN_UNARY_EXP:
      return y;
    case ATTN_UNARY_LOG:
      return reciprocal(x);
    case ATTN_UNARY_SQRT:
      return affine(reciprocal(y), 0.5, 0.0);
    case ATTN_UNARY_RSQRT:
      return affine(multiply(y, square(y)), -0.5, 0.0);
    case ATTN_UNARY_SQUARE:
      return affine(x, 2.0, 0.0);
    case ATTN_UNARY_RECIPROCAL:
      return negate(square(y));
    case ATTN_UNARY_TANH:
      return affine(square(y), -1.0, 1.0);
    case ATTN_UNARY_SIGMOID:
      return multiply(y, affine(y, -1.0, 1.0));
    case ATTN_UNARY_RELU:
      return greater(x, zero(x));
    case ATTN_UNARY_GELU:
      return gelu_slope(x);
    case ATTN_UNARY_SIN:
      return cos(x);
    case ATTN_UNARY_COS:
      return negate(sin(x));
    case ATTN_UNARY_ERF:
      return affine(exp(negate(square(x))), 2 * std::numbers::inv_sqrtpi, 0.0);
    case ATTN_UNARY_ABS:
      return sign(x);
    case ATTN_UNARY_NEGATE:
      break;
  }
  return full(x, {}, -1.0);
}

}  // namespace

// y = function(x);  dx = dy function'(x)
const Operation unary_operation{
    .kind = ATTN_OP_UNARY,
    .name = "unary",
    .shapes =
        [](const Call& call) {
          return TensorSpecs{{call.input(0).shape(), call.input(0).dtype()}};
        },
    .gradient =
        [](Gradient& g) {
          const auto function = static_cast<attn_unary_function>(g.params<attn_unary_params>().function);
          const Tensor dy = g.of(0);
          // The slope is computed for dy's sake: whoever watches the one is to see the other.
          const auto seen = [&dy](const Tensor& value) {
            return value.recorded(dy.recorder(), dy.variable());
          };
          g.add(0, multiply(dy, slope(function, seen(g.input(0)), seen(g.output(0)))));
        },
    .flops = [](const Call&, const TensorSpecs& out) { return elements_of(out); },
};

Tensor negate(const Tensor& x) {
  return unary(x, ATTN_UNARY_NEGATE);
}
Tensor exp(const Tensor& x) {
  return unary(x, ATTN_UNARY_EXP);
}
Tensor log(const Tensor& x) {
  return unary(x, ATTN_UNARY_LOG);
}
Tensor sqrt(const Tensor& x) {
  return unary(x, ATTN_UNARY_SQRT);
}
Tensor rsqrt(const Tensor& x) {
  return unary(x, ATTN_UNARY_RSQRT);
}
Tensor square(const Tensor& x) {
  return unary(x, ATTN_UNARY_SQUARE);
}
Tensor reciprocal(const Tensor& x) {
  return unary(x, ATTN_UNARY_RECIPROCAL);
}
Tensor tanh(const Tensor& x) {
  return unary(x, ATTN_UNARY_TANH);
}
Tensor sigmoid(const Tensor& x) {
  return unary(x, ATTN_UNARY_SIGMOID);
}
Tensor relu(const Tensor& x) {
  return unary(x, ATTN_UNARY_RELU);
}
Tensor gelu(const Tensor& x) {
  return unary(x, ATTN_UNARY_GELU);
}
Tensor sin(const Tensor& x) {
  return unary(x, ATTN_UNARY_SIN);
}
Tensor cos(const Tensor& x) {
  return unary(x, ATTN_UNARY_COS);
}
Tensor erf(const Tensor& x) {
  return unary(x, ATTN_UNARY_ERF);
}
Tensor abs(const Tensor& x) {
  return unary(x, ATTN_UNARY_ABS);
}

}  // namespace attn::ops
