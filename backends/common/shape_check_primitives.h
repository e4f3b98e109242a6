#pragma once
// One function a primitive: throws MalformedOp unless the descriptor is what attn/op_kinds.h says.
#include "shape_rules.h"

namespace attn::backend::rules {

inline void check_fill(const OpView& op) {
  expect_counts(op, 0, 1);
  expect_params(op);
  expect_number(op, op.output(0));
}

inline void check_copy(const OpView& op) {
  expect_counts(op, 1, 1);
  expect_present(op, op.input(0));
  expect_same_type(op, op.output(0), op.input(0));
  expect(elements(op.output(0)) == elements(op.input(0)), op, op.output(0), "as many elements as the input");
}

inline void check_cast(const OpView& op) {
  expect_counts(op, 1, 1);
  expect_number(op, op.input(0));
  expect_number(op, op.output(0));
  expect_dims(op, op.output(0), dims(op.input(0)));
}

inline void check_affine(const OpView& op) {
  expect_counts(op, 1, 1);
  expect_params(op);
  expect_number(op, op.input(0));
  expect_like(op, op.output(0), op.input(0));
}

inline void check_unary(const OpView& op) {
  expect_counts(op, 1, 1);
  expect_params(op);
  expect_function(op.params<attn_unary_params>().function, ATTN_UNARY_ABS);
  expect_float(op, op.input(0));
  expect_like(op, op.output(0), op.input(0));
}

inline void check_binary(const OpView& op) {
  expect_counts(op, 2, 1);
  expect_params(op);
  expect_function(op.params<attn_binary_params>().function, ATTN_BINARY_EQUAL);
  expect_number(op, op.input(0));
  expect_same_type(op, op.input(1), op.input(0));
  expect_tensor(op, op.output(0), op.input(0), broadcast(dims(op.input(0)), dims(op.input(1))));
}

inline void check_select(const OpView& op) {
  expect_counts(op, 3, 1);
  expect_float(op, op.input(0));
  expect_same_type(op, op.input(1), op.input(0));
  expect_same_type(op, op.input(2), op.input(0));
  const Dims values = broadcast(dims(op.input(1)), dims(op.input(2)));
  expect_tensor(op, op.output(0), op.input(0), broadcast(dims(op.input(0)), values));
}

/// A factor [..., rows, columns]; with rank 2 it serves the whole batch.
inline void expect_factor(const OpView& op, const attn_tensor& factor, int64_t batch, const Dims& matrix) {
  expect_rank_at_least(op, factor, 2);
  expect_trailing(op, factor, factor.rank == 2 ? 1 : batch, matrix);
}

inline void check_matmul(const OpView& op) {
  expect_counts(op, 2, 1);
  expect_params(op);
  const attn_tensor &a = op.input(0), &b = op.input(1), &y = op.output(0);
  expect_float(op, a);
  expect_same_type(op, b, a);
  expect_same_type(op, y, a);
  expect_rank_at_least(op, a, 2);
  expect_rank_at_least(op, y, 2);
  const auto params = op.params<attn_matmul_params>();
  const int64_t m = dims(y).last(1), n = dims(y).last(0), batch = leading(y, 2);
  const int64_t k = dims(a).last(params.transpose_a != 0 ? 1 : 0);
  expect_factor(op, a, batch, params.transpose_a != 0 ? Dims{k, m} : Dims{m, k});
  expect_factor(op, b, batch, params.transpose_b != 0 ? Dims{n, k} : Dims{k, n});
}

inline void check_reduce(const OpView& op) {
  expect_counts(op, 1, 1);
  expect_params(op);
  const auto params = op.params<attn_reduce_params>();
  expect_function(params.function, ATTN_REDUCE_MAX);
  require(params.accumulate == 0 || params.function == ATTN_REDUCE_SUM, "only a sum can be accumulated");
  const attn_tensor &x = op.input(0), &y = op.output(0);
  expect_float(op, x);
  expect_same_type(op, y, x);
  require(params.axes >> x.rank == 0,
          [&] { return message("axes 0x%x are not all axes of ", params.axes) + describe(x); });
  Dims kept, dropped;
  for (int axis = 0; axis < x.rank; ++axis) {
    const bool reduced = (params.axes >> axis & 1u) != 0;
    kept.push_back(reduced ? 1 : x.dims[axis]);
    if (!reduced) dropped.push_back(x.dims[axis]);
  }
  if (dims(y) != kept) expect_dims(op, y, dropped);
}

inline void check_argmax(const OpView& op) {
  expect_counts(op, 1, 1);
  const attn_tensor& x = op.input(0);
  expect_float(op, x);
  expect_rank_at_least(op, x, 1);
  expect(columns(x) > 0 || rows(x) == 0, op, x, "without empty rows");
  expect_i32(op, op.output(0));
  expect_trailing(op, op.output(0), rows(x), {});
}

inline void check_top_k(const OpView& op) {
  expect_counts(op, 1, 2);
  const attn_tensor &x = op.input(0), &values = op.output(0), &indices = op.output(1);
  expect_float(op, x);
  expect_rank_at_least(op, x, 1);
  expect_same_type(op, values, x);
  expect_rank_at_least(op, values, 1);
  const int64_t k = columns(values);
  expect(k >= 1 && k <= columns(x), op, values, "between 1 and as many columns as the input");
  expect_trailing(op, values, rows(x), {k});
  expect_i32(op, indices);
  expect_trailing(op, indices, rows(x), {k});
}

/// valid_lengths for weights [...,Q,K]: the number of leading entries is a multiple of its batch.
inline void expect_grouped_lengths(const OpView& op, const attn_tensor& lengths, const attn_tensor& weights) {
  if (!is_present(lengths)) return;
  expect_i32(op, lengths);
  expect(lengths.rank == 1 || lengths.rank == 2, op, lengths, "of rank 1 or 2");
  const int64_t batch = lengths.dims[0], entries = leading(weights, 2);
  expect(batch == 0 ? entries == 0 : entries % batch == 0, op, lengths,
         "of a batch that divides the number of score matrices");
  expect_lengths(op, lengths, batch, dims(weights).last(1));
}

inline void check_masked_softmax(const OpView& op) {
  expect_counts(op, 2, 1);
  expect_params(op);
  expect_masking(op.params<attn_masked_softmax_params>().masking);
  expect_float(op, op.input(0));
  expect_rank_at_least(op, op.input(0), 2);
  expect_grouped_lengths(op, op.input(1), op.input(0));
  expect_like(op, op.output(0), op.input(0));
}

inline void check_masked_softmax_gradient(const OpView& op) {
  expect_counts(op, 3, 1);
  expect_params(op);
  const auto params = op.params<attn_masked_softmax_params>();
  expect_masking(params.masking);
  require(params.accumulate == 0, "the gradient of masked softmax never accumulates");
  expect_float(op, op.input(0));
  expect_rank_at_least(op, op.input(0), 2);
  expect_like(op, op.input(1), op.input(0));
  expect_grouped_lengths(op, op.input(2), op.input(0));
  expect_like(op, op.output(0), op.input(0));
}

inline void check_log_sum_exp(const OpView& op) {
  expect_counts(op, 1, 1);
  expect_float(op, op.input(0));
  expect_rank_at_least(op, op.input(0), 1);
  expect_same_type(op, op.output(0), op.input(0));
  expect_trailing(op, op.output(0), rows(op.input(0)), {});
}

inline void check_permute(const OpView& op) {
  expect_counts(op, 1, 1);
  expect_params(op);
  const attn_tensor& x = op.input(0);
  expect_present(op, x);
  const auto params = op.params<attn_permute_params>();
  Dims permuted;
  uint32_t seen = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    const int32_t from = params.axes[axis];
    require(from >= 0 && from < x.rank && (seen >> from & 1u) == 0,
            "axes is not a permutation of the axes of x");
    seen |= 1u << from;
    permuted.push_back(x.dims[from]);
  }
  expect_tensor(op, op.output(0), x, permuted);
}

/// `part` lies inside `whole` at params.start.
inline void expect_part(const OpView& op, const attn_tensor& part, const attn_tensor& whole) {
  expect_params(op);
  expect_same_type(op, part, whole);
  expect(part.rank == whole.rank, op, part, "of the same rank as the tensor that it is a part of");
  const auto params = op.params<attn_slice_params>();
  for (int axis = 0; axis < whole.rank; ++axis) {
    const int64_t start = params.start[axis];
    require(start >= 0 && part.dims[axis] <= whole.dims[axis] && start <= whole.dims[axis] - part.dims[axis],
            [&] {
              return message("along axis %d, %lld elements from %lld are not inside ", axis,
                             static_cast<long long>(part.dims[axis]), static_cast<long long>(start)) +
                     describe(whole);
            });
  }
}

inline void check_slice(const OpView& op) {
  expect_counts(op, 1, 1);
  expect_present(op, op.input(0));
  expect_part(op, op.output(0), op.input(0));
}

inline void check_slice_add(const OpView& op) {
  expect_counts(op, 1, 1);
  expect_float(op, op.output(0));
  expect_part(op, op.input(0), op.output(0));
}

inline void check_concatenate(const OpView& op) {
  require(op.input_count() >= 1, "nothing to concatenate");
  expect_counts(op, op.input_count(), 1);
  expect_params(op);
  const attn_tensor &y = op.output(0), &first = op.input(0);
  expect_present(op, first);
  const int32_t axis = op.params<attn_concatenate_params>().axis;
  require(axis >= 0 && axis < first.rank,
          [&] { return message("axis %d is not an axis of ", axis) + describe(first); });
  Dims sizes = dims(first);
  sizes[axis] = 0;
  for (int index = 0; index < op.input_count(); ++index) {
    const attn_tensor& x = op.input(index);
    expect_same_type(op, x, first);
    expect(x.rank == first.rank, op, x, "of the same rank as the first input");
    Dims expected = dims(first);
    expected[axis] = x.dims[axis];
    expect_dims(op, x, expected);
    sizes[axis] += x.dims[axis];
  }
  expect_tensor(op, y, first, sizes);
}

inline void check_gather_rows(const OpView& op) {
  expect_counts(op, 2, 1);
  const attn_tensor &table = op.input(0), &ids = op.input(1), &y = op.output(0);
  expect_rank_at_least(op, table, 1);
  expect_i32(op, ids);
  expect_same_type(op, y, table);
  expect_trailing(op, y, elements(ids), Dims(table.dims + 1, table.rank - 1));
}

inline void check_scatter_add_rows(const OpView& op) {
  expect_counts(op, 2, 1);
  expect_params(op);
  const attn_tensor &x = op.input(0), &ids = op.input(1), &table = op.output(0);
  expect_float(op, table);
  expect(table.rank == 2, op, table, "of rank 2");
  expect_i32(op, ids);
  expect_same_type(op, x, table);
  expect_trailing(op, x, elements(ids), {table.dims[1]});
}

/// x [B,T,C] and y [B,T_out,kernel*C].
inline void expect_windows(const OpView& op, const attn_tensor& x, const attn_tensor& y) {
  const auto params = expect_window(op);
  require(params.accumulate == 0, "unfold_1d and fold_1d never accumulate");
  expect_float(op, x);
  expect_same_type(op, y, x);
  expect(x.rank == 3, op, x, "of rank 3");
  expect(y.rank == 3, op, y, "of rank 3");
  expect(x.dims[0] == y.dims[0] && y.dims[2] % params.kernel == 0 && x.dims[2] == y.dims[2] / params.kernel,
         op, y, "of the shape [batch, positions, kernel * channels]");
}

inline void check_unfold_1d(const OpView& op) {
  expect_counts(op, 1, 1);
  expect_windows(op, op.input(0), op.output(0));
}

inline void check_fold_1d(const OpView& op) {
  expect_counts(op, 1, 1);
  expect_windows(op, op.output(0), op.input(0));
}

inline void check_dropout(const OpView& op) {
  expect_counts(op, 2, 1);
  expect_params(op);
  expect_float(op, op.input(0));
  expect_random(op, op.input(1), op.params<attn_dropout_params>().rate);
  expect_like(op, op.output(0), op.input(0));
}

inline void check_squared_norm(const OpView& op) {
  require(op.input_count() >= 1, "no tensor to take the norm of");
  expect_counts(op, op.input_count(), 1);
  expect_float(op, op.input(0));
  for (int index = 1; index < op.input_count(); ++index) expect_same_type(op, op.input(index), op.input(0));
  expect_tensor(op, op.output(0), op.input(0), {});
}

}  // namespace attn::backend::rules
