// Elementwise operations, products and reductions.
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels.h"

namespace attn::libtorch {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// f64 values as i32: towards zero, the nearest representable value if out of range, 0 for NaN.
at::Tensor to_integers(const at::Tensor& values) {
  constexpr double lowest = INT32_MIN, highest = INT32_MAX;
  return at::nan_to_num(values, 0.0, highest, lowest).clamp_(lowest, highest).to(at::kInt);
}

}  // namespace

void fill(const Call& call) {
  const at::Tensor y = call.out(0);
  const double value = call.params<attn_fill_params>().value;
  if (y.scalar_type() == at::kInt) {
    y.copy_(to_integers(at::full({}, value, at::kDouble)));
  } else {
    y.fill_(value);
  }
}

void copy(const Call& call) {
  const int64_t count = elements(call.output(0));
  call.out(0, {count}).copy_(call.in(0, {count}));
}

void cast(const Call& call) {
  const at::Tensor x = call.in(0), y = call.out(0);
  const bool rounds = y.scalar_type() == at::kInt && x.scalar_type() != at::kInt;
  y.copy_(rounds ? to_integers(x.to(at::kDouble)) : x);
}

void affine(const Call& call) {
  const at::Tensor x = call.in(0);
  at::Tensor y = call.out(0);
  const auto params = call.params<attn_affine_params>();
  if (y.scalar_type() == at::kInt) {
    y.copy_(to_integers(x.to(at::kDouble).mul_(params.scale).add_(params.shift)));
  } else if (params.shift == 0) {
    at::mul_out(y, x, at::scalar_tensor(params.scale, x.scalar_type()));
  } else {
    at::add_out(y, at::scalar_tensor(params.shift, x.scalar_type()), x, params.scale);  // shift + scale x
  }
}

void unary(const Call& call) {
  const at::Tensor x = call.in(0);
  at::Tensor y = call.out(0);
  switch (call.params<attn_unary_params>().function) {
    case ATTN_UNARY_NEGATE:
      at::neg_out(y, x);
      break;
    case ATTN_UNARY_EXP:
      at::exp_out(y, x);
      break;
    case ATTN_UNARY_LOG:
      at::log_out(y, x);
      break;
    case ATTN_UNARY_SQRT:
      at::sqrt_out(y, x);
      break;
    case ATTN_UNARY_RSQRT:
      at::rsqrt_out(y, x);
      break;
    case ATTN_UNARY_SQUARE:
      at::mul_out(y, x, x);
      break;
    case ATTN_UNARY_RECIPROCAL:
      at::reciprocal_out(y, x);
      break;
    case ATTN_UNARY_TANH:
      at::tanh_out(y, x);
      break;
    case ATTN_UNARY_SIGMOID:
      at::sigmoid_out(y, x);
      break;
    case ATTN_UNARY_RELU:
      at::clamp_min_out(y, x, 0);
      break;
    case ATTN_UNARY_GELU:
      at::gelu_out(y, x);
      break;
    case ATTN_UNARY_SIN:
      at::sin_out(y, x);
      break;
    case ATTN_UNARY_COS:
      at::cos_out(y, x);
      break;
    case ATTN_UNARY_ERF:
      at::erf_out(y, x);
      break;
    default:
      at::abs_out(y, x);  // ATTN_UNARY_ABS
      break;
  }
}

namespace {

/// Towards zero, and 0 where b is 0: LibTorch would refuse the whole tensor. A quotient of two i32 that is no
/// whole number is too far from the next for f64 to round it there.
at::Tensor integer_quotient(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor quotient = a.to(at::kDouble) / b.to(at::kDouble);
  return quotient.masked_fill(b == 0, 0).to(at::kLong).to(at::kInt);
}

}  // namespace

void binary(const Call& call) {
  const at::Tensor a = call.in(0), b = call.in(1);
  at::Tensor y = call.out(0);
  switch (call.params<attn_binary_params>().function) {
    case ATTN_BINARY_ADD:
      at::add_out(y, a, b);
      break;
    case ATTN_BINARY_SUBTRACT:
      at::sub_out(y, a, b);
      break;
    case ATTN_BINARY_MULTIPLY:
      at::mul_out(y, a, b);
      break;
    case ATTN_BINARY_DIVIDE:
      if (y.scalar_type() == at::kInt) {
        y.copy_(integer_quotient(a, b));
      } else {
        at::div_out(y, a, b);
      }
      break;
    case ATTN_BINARY_MAXIMUM:
      at::maximum_out(y, a, b);
      break;
    case ATTN_BINARY_MINIMUM:
      at::minimum_out(y, a, b);
      break;
    case ATTN_BINARY_GREATER:
      y.copy_(at::gt(a, b));
      break;
    default:
      y.copy_(at::eq(a, b));  // ATTN_BINARY_EQUAL
      break;
  }
}

void select(const Call& call) {
  call.out(0).copy_(at::where(call.in(0) != 0, call.in(1), call.in(2)));
}

namespace {

/// A factor of a batched product [batch, rows, columns], or [rows, columns] if it serves the whole batch.
at::Tensor factor(const Call& call, int index, int64_t batch, bool transposed) {
  const attn_tensor& tensor = call.input(index);
  const int64_t height = dims(tensor).last(1), width = dims(tensor).last(0);
  const at::Tensor stored = tensor.rank == 2 ? call.in(index) : call.in(index, {batch, height, width});
  return transposed ? stored.transpose(-2, -1) : stored;
}

/// Calls part(first, count) for parts of [0, total), on several threads where the device is the processor.
template<typename Part>
void for_parts(const at::Tensor& y, int64_t total, int64_t part_size, Part part) {
  if (!y.is_cpu()) {
    part(0, total);
    return;
  }
  at::parallel_for(0, (total + part_size - 1) / part_size, 1, [&](int64_t first, int64_t end) {
    const c10::InferenceMode no_gradients;  // the threads of a team do not inherit it
    for (int64_t i = first; i < end; ++i) part(i * part_size, std::min(part_size, total - i * part_size));
  });
}

}  // namespace

void multiply(const at::Tensor& y, const at::Tensor& a, const at::Tensor& b, double beta, double alpha) {
  constexpr int64_t rows_of_part = 256;
  for_parts(y, y.size(0), rows_of_part, [&](int64_t first, int64_t count) {
    at::Tensor part = y.narrow(0, first, count);
    at::addmm_out(part, part, a.narrow(0, first, count), b, beta, alpha);
  });
}

void multiply_batch(const at::Tensor& y, const at::Tensor& a, const at::Tensor& b, double beta,
                    double alpha) {
  // LibTorch 1.13 multiplies even by 0 what y holds, if the matrices are small
  const bool plain = beta == 0 && alpha == 1;
  if (beta == 0 && !plain) y.zero_();
  constexpr int64_t elements_of_part = 8192;
  const int64_t matrices = std::max<int64_t>(1, elements_of_part / (y.size(1) * y.size(2)));
  for_parts(y, y.size(0), matrices, [&](int64_t first, int64_t count) {
    at::Tensor part = y.narrow(0, first, count);
    const at::Tensor left = a.narrow(0, first, count), right = b.narrow(0, first, count);
    if (plain) {
      at::bmm_out(part, left, right);
    } else {
      at::baddbmm_out(part, part, left, right, beta, alpha);
    }
  });
}

at::Tensor batch_product(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor y = at::empty({a.size(0), a.size(1), b.size(2)}, a.options());
  multiply_batch(y, a, b);
  return y;
}

void Call::store_product(int index, const at::Tensor& a, const at::Tensor& b) const {
  multiply(out(index, {a.size(0), b.size(1)}), a, b, accumulates(index) ? 1.0 : 0.0);
}

void matmul(const Call& call) {
  const attn_tensor& shape = call.output(0);
  const auto params = call.params<attn_matmul_params>();
  const int64_t batch = leading(shape, 2), height = dims(shape).last(1), width = dims(shape).last(0);
  const at::Tensor a = factor(call, 0, batch, params.transpose_a != 0);
  const at::Tensor b = factor(call, 1, batch, params.transpose_b != 0);
  const int64_t inner = a.size(-1);
  const at::Tensor y = call.out(0, {batch, height, width});
  if (inner == 0) {  // what is multiplied by beta 0 may be anything, even NaN
    if (params.beta == 0) {
      y.zero_();
    } else {
      y.mul_(params.beta);
    }
  } else if (y.numel() == 0) {
    return;
  } else if (b.dim() == 2 && (batch == 1 || (a.dim() == 3 && a.is_contiguous()))) {
    const at::Tensor joined = y.view({batch * height, width});  // one product for the whole batch
    multiply(joined, a.reshape({batch * height, inner}), b, params.beta, params.alpha);
  } else {
    const at::Tensor left = a.expand({batch, height, inner}), right = b.expand({batch, inner, width});
    multiply_batch(y, left, right, params.beta, params.alpha);
  }
}

namespace {

at::Tensor reduced(const at::Tensor& x, int32_t function, const std::vector<int64_t>& axes) {
  if (axes.empty()) return x;  // LibTorch takes no axis to mean all
  switch (function) {
    case ATTN_REDUCE_SUM:
      return at::sum(x, axes);
    case ATTN_REDUCE_MEAN:
      return at::mean(x, axes);
    default:
      return at::amax(x, axes);
  }
}

}  // namespace

void reduce(const Call& call) {
  const auto params = call.params<attn_reduce_params>();
  const at::Tensor x = call.in(0), y = call.out(0);
  if (x.numel() == 0) {
    if (params.accumulate == 0) y.fill_(params.function == ATTN_REDUCE_MAX ? minus_infinity : 0.0);
    return;
  }
  std::vector<int64_t> axes;
  for (int axis = 0; axis < x.dim(); ++axis) {
    if ((params.axes >> axis & 1u) != 0) axes.push_back(axis);
  }
  const at::Tensor value = reduced(x, params.function, axes).view(y.sizes());
  if (params.accumulate != 0) {
    y.add_(value);
  } else {
    y.copy_(value);
  }
}

void argmax(const Call& call) {
  if (elements(call.output(0)) == 0) return;
  const at::Tensor x = call.in_rows(0);
  call.out(0, {x.size(0)}).copy_(at::argmax(x, 1));
}

namespace {

/// Descending, NaN first as in argmax, the lowest index first among equals.
template<typename T>
void top_k_of_rows(const at::Tensor& x, const at::Tensor& top_values, const at::Tensor& top_indices) {
  const int64_t width = x.size(1), k = top_values.size(1);
  at::parallel_for(0, x.size(0), 1, [&](int64_t first, int64_t end) {
    std::vector<int32_t> order(static_cast<std::size_t>(width));
    for (int64_t row = first; row < end; ++row) {
      const T* values = x.data_ptr<T>() + row * width;
      const auto before = [values](int32_t a, int32_t b) {
        if (std::isnan(values[a]) != std::isnan(values[b])) return std::isnan(values[a]);
        return values[a] > values[b] || (!(values[a] < values[b]) && a < b);
      };
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
      for (int64_t i = 0; i < k; ++i) {
        top_values.data_ptr<T>()[row * k + i] = values[order[i]];
        top_indices.data_ptr<int32_t>()[row * k + i] = order[i];
      }
    }
  });
}

}  // namespace

void top_k(const Call& call) {
  // at::topk leaves open which of equals it takes, and a stable sort orders all of a vocabulary for a few
  const at::Tensor x = call.in_rows(0), top_values = call.out_rows(0), top_indices = call.out_rows(1);
  if (!x.is_cpu()) {
    const auto [values, indices] = at::sort(x, /*stable=*/true, /*dim=*/1, /*descending=*/true);
    top_values.copy_(values.narrow(1, 0, top_values.size(1)));
    top_indices.copy_(indices.narrow(1, 0, top_values.size(1)));
  } else if (x.scalar_type() == at::kFloat) {
    top_k_of_rows<float>(x, top_values, top_indices);
  } else {
    top_k_of_rows<double>(x, top_values, top_indices);
  }
}

void log_sum_exp(const Call& call) {
  const at::Tensor x = call.in_rows(0), y = call.out(0, {x.size(0)});
  if (x.size(1) == 0) {
    y.fill_(minus_infinity);
  } else {
    y.copy_(at::logsumexp(x, {1}));
  }
}

void squared_norm(const Call& call) {
  const at::Tensor y = call.out(0);
  y.zero_();
  for (int index = 0; index < call.input_count(); ++index) {
    const at::Tensor x = call.in(index, {elements(call.input(index))});
    y.add_(at::sum(x * x));
  }
}

}  // namespace attn::libtorch
