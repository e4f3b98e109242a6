/* Every primitive of attn/op_kinds.h, element by element. */
#include <attn/philox.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

typedef const attn_tensor* tensor;

static tensor in(const attn_op* op, int index) {
  return &op->tensors[index];
}
static tensor out(const attn_op* op, int index) {
  return &op->tensors[op->input_count + index];
}

/* ---- elements: bf16 and i8 are only ever moved, as their bits */

static double get(tensor t, int64_t i) {
  switch (t->dtype) {
    case ATTN_F32:
      return ((const float*)t->data)[i];
    case ATTN_F64:
      return ((const double*)t->data)[i];
    case ATTN_I32:
      return ((const int32_t*)t->data)[i];
    case ATTN_BF16:
      return ((const uint16_t*)t->data)[i];
    default:
      return ((const int8_t*)t->data)[i];
  }
}

static void set(tensor t, int64_t i, double value) {
  switch (t->dtype) {
    case ATTN_F32:
      ((float*)t->data)[i] = (float)value;
      break;
    case ATTN_F64:
      ((double*)t->data)[i] = value;
      break;
    case ATTN_I32:
      ((int32_t*)t->data)[i] = (int32_t)value;
      break;
    case ATTN_BF16:
      ((uint16_t*)t->data)[i] = (uint16_t)value;
      break;
    default:
      ((int8_t*)t->data)[i] = (int8_t)value;
  }
}

/* The product of the sizes of axes first .. last-1. */
static int64_t product(tensor t, int first, int last) {
  int64_t count = 1;
  for (int axis = first; axis < last; ++axis) count *= t->dims[axis];
  return count;
}
static int64_t elements(tensor t) {
  return product(t, 0, t->rank);
}
/* The axis-th size from the right. */
static int64_t last(tensor t, int axis) {
  return t->dims[t->rank - 1 - axis];
}
static int64_t rows(tensor t) {
  return product(t, 0, t->rank - 1);
}

/* Where element `flat` of y is along each axis. */
static void position(tensor y, int64_t flat, int64_t at[ATTN_MAX_RANK]) {
  for (int axis = y->rank - 1; axis >= 0; --axis) {
    at[axis] = flat % y->dims[axis];
    flat /= y->dims[axis];
  }
}
static int64_t flat_index(tensor x, const int64_t at[ATTN_MAX_RANK]) {
  int64_t flat = 0;
  for (int axis = 0; axis < x->rank; ++axis) flat = flat * x->dims[axis] + at[axis];
  return flat;
}
/* The element of x that is broadcast to position `at` of y. */
static double broadcast(tensor x, tensor y, const int64_t at[ATTN_MAX_RANK]) {
  int64_t flat = 0;
  for (int axis = 0; axis < x->rank; ++axis) {
    const int64_t index = x->dims[axis] == 1 ? 0 : at[axis + y->rank - x->rank];
    flat = flat * x->dims[axis] + index;
  }
  return get(x, flat);
}

/* ---- elementwise */

static void fill(const attn_op* op) {
  const attn_fill_params* params = op->params;
  for (int64_t i = 0; i < elements(out(op, 0)); ++i) set(out(op, 0), i, params->value);
}

static void copy(const attn_op* op) {
  const tensor x = in(op, 0);
  const size_t bytes = (size_t)elements(x) * element_size(x->dtype);
  if (bytes > 0) memmove(out(op, 0)->data, x->data, bytes);
}

static void cast(const attn_op* op) {
  for (int64_t i = 0; i < elements(out(op, 0)); ++i) set(out(op, 0), i, get(in(op, 0), i));
}

static void affine(const attn_op* op) {
  const attn_affine_params* params = op->params;
  for (int64_t i = 0; i < elements(out(op, 0)); ++i)
    set(out(op, 0), i, params->scale * get(in(op, 0), i) + params->shift);
}

static double unary_of(int32_t function, double x) {
  switch (function) {
    case ATTN_UNARY_NEGATE:
      return -x;
    case ATTN_UNARY_EXP:
      return exp(x);
    case ATTN_UNARY_LOG:
      return log(x);
    case ATTN_UNARY_SQRT:
      return sqrt(x);
    case ATTN_UNARY_RSQRT:
      return 1 / sqrt(x);
    case ATTN_UNARY_SQUARE:
      return x * x;
    case ATTN_UNARY_RECIPROCAL:
      return 1 / x;
    case ATTN_UNARY_TANH:
      return tanh(x);
    case ATTN_UNARY_SIGMOID:
      return 1 / (1 + exp(-x));
    case ATTN_UNARY_RELU:
      return x < 0 ? 0 : x;
    case ATTN_UNARY_GELU:
      return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case ATTN_UNARY_SIN:
      return sin(x);
    case ATTN_UNARY_COS:
      return cos(x);
    case ATTN_UNARY_ERF:
      return erf(x);
    default:
      return fabs(x);
  }
}

static void unary(const attn_op* op) {
  const attn_unary_params* params = op->params;
  for (int64_t i = 0; i < elements(out(op, 0)); ++i)
    set(out(op, 0), i, unary_of(params->function, get(in(op, 0), i)));
}

static double binary_of(int32_t function, double a, double b) {
  switch (function) {
    case ATTN_BINARY_ADD:
      return a + b;
    case ATTN_BINARY_SUBTRACT:
      return a - b;
    case ATTN_BINARY_MULTIPLY:
      return a * b;
    case ATTN_BINARY_DIVIDE:
      return a / b;
    case ATTN_BINARY_MAXIMUM:
      return a > b ? a : b;
    case ATTN_BINARY_MINIMUM:
      return a < b ? a : b;
    case ATTN_BINARY_GREATER:
      return a > b;
    default:
      return a == b;
  }
}

static void binary(const attn_op* op) {
  const attn_binary_params* params = op->params;
  const tensor y = out(op, 0);
  int64_t at[ATTN_MAX_RANK];
  for (int64_t i = 0; i < elements(y); ++i) {
    position(y, i, at);
    set(y, i, binary_of(params->function, broadcast(in(op, 0), y, at), broadcast(in(op, 1), y, at)));
  }
}

static void choose(const attn_op* op) {
  const tensor y = out(op, 0);
  int64_t at[ATTN_MAX_RANK];
  for (int64_t i = 0; i < elements(y); ++i) {
    position(y, i, at);
    set(y, i, broadcast(in(op, broadcast(in(op, 0), y, at) != 0 ? 1 : 2), y, at));
  }
}

static void dropout(const attn_op* op) {
  const attn_dropout_params* params = op->params;
  const tensor x = in(op, 0), y = out(op, 0);
  const uint32_t threshold = attn_dropout_threshold(params->rate);
  uint32_t words[4] = {0};
  for (int64_t i = 0; i < elements(y); ++i) {
    if (params->rate > 0 && i % 4 == 0)
      attn_dropout_block(in(op, 1)->data, params->stream, (uint64_t)i / 4, words);
    const int kept = params->rate == 0 || words[i % 4] >= threshold;
    set(y, i, kept ? get(x, i) / (1 - params->rate) : 0);
  }
}

/* ---- products and reductions */

static double factor(tensor t, int transposed, int64_t matrix, int64_t row, int64_t column) {
  const int64_t height = last(t, 1), width = last(t, 0), start = t->rank == 2 ? 0 : matrix * height * width;
  return get(t, start + (transposed ? column * width + row : row * width + column));
}

static void matmul(const attn_op* op) {
  const attn_matmul_params* params = op->params;
  const tensor a = in(op, 0), b = in(op, 1), y = out(op, 0);
  const int64_t m = last(y, 1), n = last(y, 0), k = last(a, params->transpose_a ? 1 : 0);
  for (int64_t i = 0; i < elements(y); ++i) {
    const int64_t matrix = i / (m * n), row = i / n % m, column = i % n;
    double sum = 0;
    for (int64_t inner = 0; inner < k; ++inner)
      sum += factor(a, params->transpose_a, matrix, row, inner) *
             factor(b, params->transpose_b, matrix, inner, column);
    set(y, i, params->alpha * sum + (params->beta != 0 ? params->beta * get(y, i) : 0));
  }
}

static void reduce(const attn_op* op) {
  const attn_reduce_params* params = op->params;
  const tensor x = in(op, 0), y = out(op, 0);
  const int64_t count = elements(y);
  double* sums = malloc((size_t)(count + 1) * sizeof *sums);
  for (int64_t i = 0; i < count; ++i) sums[i] = params->function == ATTN_REDUCE_MAX ? -INFINITY : 0;
  int64_t terms = 1, at[ATTN_MAX_RANK];
  for (int axis = 0; axis < x->rank; ++axis) terms *= (params->axes >> axis & 1) ? x->dims[axis] : 1;
  for (int64_t i = 0; i < elements(x); ++i) {
    position(x, i, at);
    int64_t target = 0;
    for (int axis = 0; axis < x->rank; ++axis) {
      if (!(params->axes >> axis & 1)) target = target * x->dims[axis] + at[axis];
    }
    if (params->function == ATTN_REDUCE_MAX)
      sums[target] = get(x, i) > sums[target] ? get(x, i) : sums[target];
    else
      sums[target] += get(x, i);
  }
  for (int64_t i = 0; i < count; ++i) {
    const double mean = terms > 0 ? sums[i] / (double)terms : 0;
    set(y, i, (params->function == ATTN_REDUCE_MEAN ? mean : sums[i]) + (params->accumulate ? get(y, i) : 0));
  }
  free(sums);
}

/* The largest of a row that comes after (value, index) in descending order, the lowest index first; its
 * index. */
static int64_t next_largest(tensor x, int64_t row, double value, int64_t index) {
  const int64_t width = last(x, 0);
  int64_t best = -1;
  for (int64_t j = 0; j < width; ++j) {
    const double here = get(x, row * width + j);
    if (here > value || (here == value && j <= index)) continue;
    if (best < 0 || here > get(x, row * width + best)) best = j;
  }
  return best;
}

static void argmax(const attn_op* op) {
  const tensor x = in(op, 0);
  for (int64_t row = 0; row < rows(x); ++row) {
    int64_t best = 0;
    for (int64_t j = 1; j < last(x, 0); ++j) {
      if (get(x, row * last(x, 0) + j) > get(x, row * last(x, 0) + best)) best = j;
    }
    set(out(op, 0), row, (double)best);
  }
}

static void top_k(const attn_op* op) {
  const tensor x = in(op, 0), values = out(op, 0), indices = out(op, 1);
  const int64_t k = last(values, 0);
  for (int64_t row = 0; row < rows(x); ++row) {
    double value = INFINITY;
    int64_t index = -1;
    for (int64_t i = 0; i < k; ++i) {
      index = next_largest(x, row, value, index);
      value = get(x, row * last(x, 0) + index);
      set(values, row * k + i, value);
      set(indices, row * k + i, (double)index);
    }
  }
}

static void log_sum_exp(const attn_op* op) {
  const tensor x = in(op, 0);
  for (int64_t row = 0; row < rows(x); ++row) {
    const int64_t first = row * last(x, 0), count = last(x, 0);
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < count; ++j) largest = fmax(largest, get(x, first + j));
    for (int64_t j = 0; j < count; ++j) sum += exp(get(x, first + j) - largest);
    set(out(op, 0), row, isinf(largest) ? largest : largest + log(sum));
  }
}

static void squared_norm(const attn_op* op) {
  double sum = 0;
  for (int index = 0; index < op->input_count; ++index) {
    for (int64_t i = 0; i < elements(in(op, index)); ++i)
      sum += get(in(op, index), i) * get(in(op, index), i);
  }
  set(out(op, 0), 0, sum);
}

/* ---- softmax */

/* Keys that row `row` of weights [...,Q,K] may see. */
static int64_t visible(const attn_op* op, tensor lengths, int64_t row) {
  const attn_masked_softmax_params* params = op->params;
  const tensor weights = out(op, 0);
  const int64_t queries = last(weights, 1), keys = last(weights, 0), query = row % queries;
  int64_t count = keys;
  if (lengths->rank >= 0) {
    const int64_t group = product(weights, 0, weights->rank - 2) / lengths->dims[0];
    const int64_t entry = row / queries / group;
    const double length = get(lengths, lengths->rank == 2 ? entry * queries + query : entry);
    if (length < (double)count) count = (int64_t)length;
  }
  if (params->causal && query + params->causal_offset + 1 < count) count = query + params->causal_offset + 1;
  return count < 0 ? 0 : count;
}

static void masked_softmax(const attn_op* op) {
  const attn_masked_softmax_params* params = op->params;
  const tensor y = out(op, 0);
  const int64_t keys = last(y, 0);
  for (int64_t row = 0; row < rows(y); ++row) {
    const int64_t seen = visible(op, in(op, 1), row),
                  weighted = params->masking == ATTN_MASK_BOOK ? keys : seen;
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < weighted; ++j) {
      const double score = j < seen ? get(in(op, 0), row * keys + j) : -1e6;
      largest = fmax(largest, score);
    }
    for (int64_t j = 0; j < weighted; ++j)
      sum += exp((j < seen ? get(in(op, 0), row * keys + j) : -1e6) - largest);
    for (int64_t j = 0; j < keys; ++j) {
      const double score = j < seen ? get(in(op, 0), row * keys + j) : -1e6;
      set(y, row * keys + j, j < weighted ? exp(score - largest) / sum : 0);
    }
  }
}

static void masked_softmax_gradient(const attn_op* op) {
  const attn_masked_softmax_params* params = op->params;
  const tensor weights = in(op, 0), d_weights = in(op, 1), y = out(op, 0);
  const int64_t keys = last(y, 0);
  for (int64_t row = 0; row < rows(y); ++row) {
    const int64_t seen = visible(op, in(op, 2), row),
                  weighted = params->masking == ATTN_MASK_BOOK ? keys : seen;
    double mean = 0;
    for (int64_t j = row * keys; j < row * keys + weighted; ++j) mean += get(weights, j) * get(d_weights, j);
    for (int64_t j = 0; j < keys; ++j) {
      const int64_t i = row * keys + j;
      set(y, i, j < seen ? get(weights, i) * (get(d_weights, i) - mean) : 0);
    }
  }
}

/* ---- movement */

static void permute(const attn_op* op) {
  const attn_permute_params* params = op->params;
  const tensor x = in(op, 0), y = out(op, 0);
  int64_t to[ATTN_MAX_RANK], from[ATTN_MAX_RANK];
  for (int64_t i = 0; i < elements(y); ++i) {
    position(y, i, to);
    for (int axis = 0; axis < y->rank; ++axis) from[params->axes[axis]] = to[axis];
    set(y, i, get(x, flat_index(x, from)));
  }
}

/* The element of `whole` that element `flat` of `part` stands for. */
static int64_t in_whole(const attn_slice_params* params, tensor part, tensor whole, int64_t flat) {
  int64_t at[ATTN_MAX_RANK];
  position(part, flat, at);
  for (int axis = 0; axis < part->rank; ++axis) at[axis] += params->start[axis];
  return flat_index(whole, at);
}

static void slice(const attn_op* op) {
  for (int64_t i = 0; i < elements(out(op, 0)); ++i)
    set(out(op, 0), i, get(in(op, 0), in_whole(op->params, out(op, 0), in(op, 0), i)));
}

static void slice_add(const attn_op* op) {
  for (int64_t i = 0; i < elements(in(op, 0)); ++i) {
    const int64_t target = in_whole(op->params, in(op, 0), out(op, 0), i);
    set(out(op, 0), target, get(out(op, 0), target) + get(in(op, 0), i));
  }
}

static void concatenate(const attn_op* op) {
  const attn_concatenate_params* params = op->params;
  const tensor y = out(op, 0);
  attn_slice_params place = {.struct_size = sizeof place};
  for (int index = 0; index < op->input_count; ++index) {
    for (int64_t i = 0; i < elements(in(op, index)); ++i)
      set(y, in_whole(&place, in(op, index), y, i), get(in(op, index), i));
    place.start[params->axis] += in(op, index)->dims[params->axis];
  }
}

static void gather_rows(const attn_op* op) {
  const tensor table = in(op, 0), ids = in(op, 1), y = out(op, 0);
  const int64_t width = product(table, 1, table->rank);
  for (int64_t i = 0; i < elements(y); ++i)
    set(y, i, get(table, (int64_t)get(ids, i / width) * width + i % width));
}

static void scatter_add_rows(const attn_op* op) {
  const attn_scatter_params* params = op->params;
  const tensor x = in(op, 0), ids = in(op, 1), table = out(op, 0);
  const int64_t width = table->dims[1];
  for (int64_t i = 0; i < elements(x); ++i) {
    const int32_t id = (int32_t)get(ids, i / width);
    if (id == params->ignored_id) continue;
    const int64_t target = id * width + i % width;
    set(table, target, get(table, target) + get(x, i));
  }
}

/* The element of x [B,T,C] that element `flat` of the windows stands for, or -1 in the padding. */
static int64_t in_sequence(const attn_window_params* params, tensor x, tensor windows, int64_t flat) {
  const int64_t channels = x->dims[2], column = flat % windows->dims[2];
  const int64_t t = flat / windows->dims[2] % windows->dims[1],
                b = flat / windows->dims[2] / windows->dims[1];
  const int64_t step = t * params->stride + column / channels * params->dilation - params->padding;
  return step >= 0 && step < x->dims[1] ? (b * x->dims[1] + step) * channels + column % channels : -1;
}

static void unfold_1d(const attn_op* op) {
  for (int64_t i = 0; i < elements(out(op, 0)); ++i) {
    const int64_t from = in_sequence(op->params, in(op, 0), out(op, 0), i);
    set(out(op, 0), i, from >= 0 ? get(in(op, 0), from) : 0);
  }
}

static void fold_1d(const attn_op* op) {
  const tensor windows = in(op, 0), x = out(op, 0);
  for (int64_t i = 0; i < elements(x); ++i) set(x, i, 0);
  for (int64_t i = 0; i < elements(windows); ++i) {
    const int64_t to = in_sequence(op->params, x, windows, i);
    if (to >= 0) set(x, to, get(x, to) + get(windows, i));
  }
}

const kernel_row* find_kernel(uint32_t kind) {
  static const kernel_row kernels[] = {
      {ATTN_OP_FILL, 0, 1, -1, 1, fill},
      {ATTN_OP_COPY, 1, 1, -1, 0, copy},
      {ATTN_OP_CAST, 1, 1, -1, 0, cast},
      {ATTN_OP_AFFINE, 1, 1, -1, 1, affine},
      {ATTN_OP_UNARY, 1, 1, -1, 1, unary},
      {ATTN_OP_BINARY, 2, 1, -1, 1, binary},
      {ATTN_OP_SELECT, 3, 1, -1, 0, choose},
      {ATTN_OP_MATMUL, 2, 1, -1, 1, matmul},
      {ATTN_OP_REDUCE, 1, 1, -1, 1, reduce},
      {ATTN_OP_ARGMAX, 1, 1, -1, 0, argmax},
      {ATTN_OP_TOP_K, 1, 2, -1, 0, top_k},
      {ATTN_OP_MASKED_SOFTMAX, 2, 1, 1, 1, masked_softmax},
      {ATTN_OP_MASKED_SOFTMAX_GRADIENT, 3, 1, 2, 1, masked_softmax_gradient},
      {ATTN_OP_LOG_SUM_EXP, 1, 1, -1, 0, log_sum_exp},
      {ATTN_OP_PERMUTE, 1, 1, -1, 1, permute},
      {ATTN_OP_SLICE, 1, 1, -1, 1, slice},
      {ATTN_OP_SLICE_ADD, 1, 1, -1, 1, slice_add},
      {ATTN_OP_CONCATENATE, -1, 1, -1, 1, concatenate},
      {ATTN_OP_GATHER_ROWS, 2, 1, -1, 0, gather_rows},
      {ATTN_OP_SCATTER_ADD_ROWS, 2, 1, -1, 1, scatter_add_rows},
      {ATTN_OP_UNFOLD_1D, 1, 1, -1, 1, unfold_1d},
      {ATTN_OP_FOLD_1D, 1, 1, -1, 1, fold_1d},
      {ATTN_OP_DROPOUT, 2, 1, 1, 1, dropout},
      {ATTN_OP_SQUARED_NORM, -1, 1, -1, 0, squared_norm},
  };
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; ++i) {
    if (kernels[i].kind == kind) return &kernels[i];
  }
  return NULL;
}
