#include "internal.h"

namespace attn::ops {
namespace {

Tensor binary(const Tensor& x, const Tensor& y, attn_binary_function function) {
  return apply_one(binary_operation, {x, y}, attn_binary_params{0, function});
}

// The gradients of maximum and minimum go to the operand that was taken; a tie goes to the first.
void add_chosen(Gradient& g, const Tensor& second_chosen) {
  const Tensor dy = g.of(0);
  g.add(0, sum_to(multiply(dy, affine(second_chosen, -1.0, 1.0)), g.input(0).shape()));
  g.add(1, sum_to(multiply(dy, second_chosen), g.input(1).shape()));
}

void binary_gradient(Gradient& g) {
  const Tensor x = g.input(0), y = g.input(1), dy = g.of(0);
  const auto add_to = [&](std::size_t input, auto&& contribution) {
    if (g.needs(input)) g.add(input, sum_to(contribution(), g.input(input).shape()));
  };
  switch (g.params<attn_binary_params>().function) {
    case ATTN_BINARY_ADD:
      add_to(0, [&] { return g.of(0); });
      add_to(1, [&] { return g.of(0); });
      break;
    case ATTN_BINARY_SUBTRACT:
      add_to(0, [&] { return g.of(0); });
      add_to(1, [&] { return negate(dy); });
      break;
    case ATTN_BINARY_MULTIPLY:
      add_to(0, [&] { return multiply(dy, y); });
      add_to(1, [&] { return multiply(dy, x); });
      break;
    case ATTN_BINARY_DIVIDE:
      add_to(0, [&] { return divide(dy, y); });
      add_to(1, [&] { return negate(divide(multiply(dy, g.output(0)), y)); });
      break;
    case ATTN_BINARY_MAXIMUM:
      add_chosen(g, greater(y, x));
      break;
    case ATTN_BINARY_MINIMUM:
      add_chosen(g, greater(x, y));
      break;
    default:
      break;
  }
}

}  // namespace

// z = function(x, y), broadcast from the right.
const Operation binary_operation{
    .kind = ATTN_OP_BINARY,
    .name = "binary",
    .shapes =
        [](const Call& call) {
          const Tensor &x = call.input(0), &y = call.input(1);
          require(x.dtype() == y.dtype(), "binary: operands have types {} and {}", name_of(x.dtype()),
                  name_of(y.dtype()));
          return TensorSpecs{{broadcast("binary", x.shape(), y.shape()), x.dtype()}};
        },
    .gradient = binary_gradient,
    .flops = [](const Call&, const TensorSpecs& out) { return elements_of(out); },
};

Tensor add(const Tensor& x, const Tensor& y) {
  return binary(x, y, ATTN_BINARY_ADD);
}
Tensor subtract(const Tensor& x, const Tensor& y) {
  return binary(x, y, ATTN_BINARY_SUBTRACT);
}
Tensor multiply(const Tensor& x, const Tensor& y) {
  return binary(x, y, ATTN_BINARY_MULTIPLY);
}
Tensor divide(const Tensor& x, const Tensor& y) {
  return binary(x, y, ATTN_BINARY_DIVIDE);
}
Tensor maximum(const Tensor& x, const Tensor& y) {
  return binary(x, y, ATTN_BINARY_MAXIMUM);
}
Tensor minimum(const Tensor& x, const Tensor& y) {
  return binary(x, y, ATTN_BINARY_MINIMUM);
}
Tensor greater(const Tensor& x, const Tensor& y) {
  return binary(x.detached(), y.detached(), ATTN_BINARY_GREATER);
}
Tensor equal(const Tensor& x, const Tensor& y) {
  return binary(x.detached(), y.detached(), ATTN_BINARY_EQUAL);
}

}  // namespace attn::ops
