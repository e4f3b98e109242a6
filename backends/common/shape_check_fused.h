#pragma once
// One function a fused operation: throws MalformedOp unless the descriptor is what attn/op_kinds.h says.
#include "shape_rules.h"

namespace attn::backend::rules {

/// Checks an optional tensor only where it is given.
inline void expect_optional(const OpView& op, const attn_tensor& tensor, const attn_tensor& like,
                            const Dims& sizes) {
  if (is_present(tensor)) expect_tensor(op, tensor, like, sizes);
}
inline void expect_optional_like(const OpView& op, const attn_tensor& tensor, const attn_tensor& like) {
  if (is_present(tensor)) expect_like(op, tensor, like);
}

/// f32 or f64 and of this rank.
inline void expect_float_of_rank(const OpView& op, const attn_tensor& tensor, int rank) {
  expect_float(op, tensor);
  expect(tensor.rank == rank, op, tensor, message("of rank %d", rank).c_str());
}

/// [..., columns] with as many rows as `like` and of its type.
inline void expect_rows(const OpView& op, const attn_tensor& tensor, const attn_tensor& like,
                        int64_t columns) {
  expect_same_type(op, tensor, like);
  expect_trailing(op, tensor, rows(like), {columns});
}

// ---- linear

inline void expect_linear(const OpView& op, const attn_tensor& x, const attn_tensor& weight) {
  expect_params(op);
  expect_function(op.params<attn_linear_params>().activation, ATTN_ACTIVATION_SIGMOID);
  expect_float(op, x);
  expect_rank_at_least(op, x, 1);
  expect_same_type(op, weight, x);
  expect(weight.rank == 2 && weight.dims[1] == columns(x), op, weight, "[outputs, columns of x]");
}

inline void check_linear(const OpView& op) {
  expect_counts(op, 3, 1);
  const attn_tensor &x = op.input(0), &weight = op.input(1);
  expect_linear(op, x, weight);
  expect_optional(op, op.input(2), x, {weight.dims[0]});
  expect_rows(op, op.output(0), x, weight.dims[0]);
}

inline void check_linear_gradient(const OpView& op) {
  expect_counts(op, 4, 3);
  const attn_tensor &x = op.input(0), &weight = op.input(1), &y = op.input(2);
  expect_linear(op, x, weight);
  expect_accumulate(op);
  const bool needs_y = op.params<attn_linear_params>().activation != ATTN_ACTIVATION_NONE;
  if (needs_y || is_present(y)) expect_rows(op, y, x, weight.dims[0]);
  expect_rows(op, op.input(3), x, weight.dims[0]);
  expect_optional_like(op, op.output(0), x);
  expect_optional_like(op, op.output(1), weight);
  expect_optional(op, op.output(2), x, {weight.dims[0]});
}

// ---- attention

struct AttentionSizes {
  int64_t batch, queries, keys, value_columns, heads;
};

inline AttentionSizes expect_attention(const OpView& op) {
  expect_params(op);
  const auto params = op.params<attn_attention_params>();
  expect_masking(params.masking);
  require(params.heads >= 1, [&] { return message("heads must be at least 1, found %d", params.heads); });
  const attn_tensor &query = op.input(0), &key = op.input(1), &value = op.input(2);
  expect_float_of_rank(op, query, 3);
  expect_float_of_rank(op, key, 3);
  expect_tensor(op, key, query, {query.dims[0], key.dims[1], query.dims[2]});
  expect_float_of_rank(op, value, 3);
  expect_tensor(op, value, query, {query.dims[0], key.dims[1], value.dims[2]});
  require(query.dims[2] % params.heads == 0 && value.dims[2] % params.heads == 0, [&] {
    return message("the columns of query and value must be a multiple of %d heads", params.heads);
  });
  expect_lengths(op, op.input(3), query.dims[0], query.dims[1]);
  expect_random(op, op.input(4), params.dropout_rate);
  return {query.dims[0], query.dims[1], key.dims[1], value.dims[2], params.heads};
}

inline void check_attention(const OpView& op) {
  expect_counts(op, 5, 3);
  const AttentionSizes sizes = expect_attention(op);
  const attn_tensor& query = op.input(0);
  expect_tensor(op, op.output(0), query, {sizes.batch, sizes.queries, sizes.value_columns});
  expect_tensor(op, op.output(1), query, {sizes.batch, sizes.heads, sizes.queries});
  expect_optional(op, op.output(2), query, {sizes.batch, sizes.heads, sizes.queries, sizes.keys});
}

inline void check_attention_gradient(const OpView& op) {
  expect_counts(op, 8, 3);
  const AttentionSizes sizes = expect_attention(op);
  expect_accumulate(op);
  const attn_tensor& query = op.input(0);
  expect_tensor(op, op.input(5), query, {sizes.batch, sizes.queries, sizes.value_columns});
  expect_tensor(op, op.input(6), query, {sizes.batch, sizes.heads, sizes.queries});
  expect_like(op, op.input(7), op.input(5));
  for (int index = 0; index < 3; ++index) expect_optional_like(op, op.output(index), op.input(index));
}

inline void check_cached_attention(const OpView& op) {
  expect_counts(op, 5, 2);
  expect_params(op);
  const auto params = op.params<attn_attention_params>();
  expect_masking(params.masking);
  require(params.heads >= 1, [&] { return message("heads must be at least 1, found %d", params.heads); });
  require(params.dropout_rate == 0, [&] {
    return message("cached attention has no dropout, found a rate of %g", params.dropout_rate);
  });
  const attn_tensor &query = op.input(0), &keys = op.input(1), &values = op.input(2), &rows = op.input(3);
  expect_float_of_rank(op, query, 3);
  expect_float_of_rank(op, keys, 2);
  expect_tensor(op, keys, query, {keys.dims[0], query.dims[2]});
  expect_float_of_rank(op, values, 2);
  expect_tensor(op, values, query, {keys.dims[0], values.dims[1]});
  require(query.dims[2] % params.heads == 0 && values.dims[1] % params.heads == 0, [&] {
    return message("the columns of query and values must be a multiple of %d heads", params.heads);
  });
  expect_i32(op, rows);
  expect(rows.rank == 2, op, rows, "2 dimensions");
  expect_dims(op, rows, {query.dims[0], rows.dims[1]});
  expect_lengths(op, op.input(4), query.dims[0], query.dims[1]);
  expect_tensor(op, op.output(0), query, {query.dims[0], query.dims[1], values.dims[1]});
  expect_optional(op, op.output(1), query, {query.dims[0], params.heads, query.dims[1], rows.dims[1]});
}

inline AttentionSizes expect_additive_attention(const OpView& op) {
  expect_params(op);
  const auto params = op.params<attn_attention_params>();
  expect_masking(params.masking);
  require(params.heads == 1,
          [&] { return message("additive attention has 1 head, found %d", params.heads); });
  const attn_tensor &query = op.input(0), &key = op.input(1), &value = op.input(3);
  expect_float_of_rank(op, query, 3);
  expect_float_of_rank(op, key, 3);
  expect_tensor(op, key, query, {query.dims[0], key.dims[1], query.dims[2]});
  expect_tensor(op, op.input(2), query, {query.dims[2]});
  expect_float_of_rank(op, value, 3);
  expect_tensor(op, value, query, {query.dims[0], key.dims[1], value.dims[2]});
  expect_lengths(op, op.input(4), query.dims[0], query.dims[1]);
  expect_random(op, op.input(5), params.dropout_rate);
  return {query.dims[0], query.dims[1], key.dims[1], value.dims[2], 1};
}

inline void check_additive_attention(const OpView& op) {
  expect_counts(op, 6, 2);
  const AttentionSizes sizes = expect_additive_attention(op);
  expect_tensor(op, op.output(0), op.input(0), {sizes.batch, sizes.queries, sizes.value_columns});
  expect_tensor(op, op.output(1), op.input(0), {sizes.batch, sizes.queries, sizes.keys});
}

inline void check_additive_attention_gradient(const OpView& op) {
  expect_counts(op, 8, 4);
  const AttentionSizes sizes = expect_additive_attention(op);
  expect_accumulate(op);
  expect_tensor(op, op.input(6), op.input(0), {sizes.batch, sizes.queries, sizes.keys});
  expect_tensor(op, op.input(7), op.input(0), {sizes.batch, sizes.queries, sizes.value_columns});
  for (int index = 0; index < 4; ++index) expect_optional_like(op, op.output(index), op.input(index));
}

// ---- normalisation

/// gain may have several axes, which are the last ones of x; returns the number of entries that each have a
/// mean.
inline int64_t expect_gain(const OpView& op, const attn_tensor& x, const attn_tensor& gain) {
  expect_params(op);
  const auto params = op.params<attn_layer_norm_params>();
  expect_epsilon(params.epsilon);
  expect_float(op, x);
  expect_same_type(op, gain, x);
  expect_rank_at_least(op, gain, 1);
  expect_rank_at_least(op, x, gain.rank);
  const int64_t entries = leading(x, gain.rank);
  expect_trailing(op, x, entries, dims(gain));
  return entries;
}

inline void check_layer_norm(const OpView& op) {
  expect_counts(op, 5, 4);
  const attn_tensor &x = op.input(0), &gain = op.input(1), &residual = op.input(3);
  const int64_t entries = expect_gain(op, x, gain);
  expect_like(op, op.input(2), gain);
  expect_optional_like(op, residual, x);
  const double rate = op.params<attn_layer_norm_params>().dropout_rate;
  expect_random(op, op.input(4), rate);
  expect_like(op, op.output(0), x);
  for (int index = 1; index <= 2; ++index) {
    expect_same_type(op, op.output(index), x);
    expect_trailing(op, op.output(index), entries, {});
  }
  if (is_present(residual) || rate > 0) {
    expect_optional_like(op, op.output(3), x);
  } else {
    expect(!is_present(op.output(3)), op, op.output(3),
           "absent without residual and dropout, when it is x itself");
  }
}

inline void check_layer_norm_gradient(const OpView& op) {
  expect_counts(op, 7, 4);
  const attn_tensor &sum = op.input(0), &gain = op.input(1);
  const int64_t entries = expect_gain(op, sum, gain);
  expect_accumulate(op);
  for (int index = 2; index <= 3; ++index) {
    expect_same_type(op, op.input(index), sum);
    expect_trailing(op, op.input(index), entries, {});
  }
  expect_like(op, op.input(4), sum);
  expect_optional_like(op, op.input(5), sum);
  expect_random(op, op.input(6), op.params<attn_layer_norm_params>().dropout_rate);
  expect_optional_like(op, op.output(0), sum);
  expect_optional_like(op, op.output(1), gain);
  expect_optional_like(op, op.output(2), gain);
  expect_optional_like(op, op.output(3), sum);
}

inline Dims expect_batch_norm(const OpView& op) {
  expect_params(op);
  expect_epsilon(op.params<attn_batch_norm_params>().epsilon);
  expect_float_of_rank(op, op.input(0), 2);
  const Dims channels{op.input(0).dims[1]};
  expect_tensor(op, op.input(1), op.input(0), channels);
  return channels;
}

inline void check_batch_norm(const OpView& op) {
  expect_counts(op, 3, 3);
  const Dims channels = expect_batch_norm(op);
  expect_tensor(op, op.input(2), op.input(0), channels);
  expect_like(op, op.output(0), op.input(0));
  expect_tensor(op, op.output(1), op.input(0), channels);
  expect_tensor(op, op.output(2), op.input(0), channels);
}

inline void check_batch_norm_gradient(const OpView& op) {
  expect_counts(op, 5, 3);
  const Dims channels = expect_batch_norm(op);
  expect_accumulate(op);
  expect_tensor(op, op.input(2), op.input(0), channels);
  expect_tensor(op, op.input(3), op.input(0), channels);
  expect_like(op, op.input(4), op.input(0));
  expect_optional_like(op, op.output(0), op.input(0));
  expect_optional(op, op.output(1), op.input(0), channels);
  expect_optional(op, op.output(2), op.input(0), channels);
}

// ---- sequences

inline void check_gru_sequence(const OpView& op) {
  expect_counts(op, 4, 2);
  const attn_tensor &gates_in = op.input(0), &initial = op.input(1);
  expect_float_of_rank(op, initial, 2);
  const int64_t batch = initial.dims[0], hidden = initial.dims[1];
  expect_float_of_rank(op, gates_in, 3);
  const int64_t steps = gates_in.dims[0];
  expect_tensor(op, gates_in, initial, {steps, batch, 3 * hidden});
  expect_tensor(op, op.input(2), initial, {3 * hidden, hidden});
  expect_optional(op, op.input(3), initial, {3 * hidden});
  expect_tensor(op, op.output(0), initial, {steps, batch, hidden});
  expect_tensor(op, op.output(1), initial, {steps, batch, 4 * hidden});
}

inline void check_gru_sequence_gradient(const OpView& op) {
  expect_counts(op, 5, 4);
  expect_accumulate(op);
  const attn_tensor &initial = op.input(0), &states = op.input(2);
  expect_float_of_rank(op, initial, 2);
  const int64_t batch = initial.dims[0], hidden = initial.dims[1];
  expect_tensor(op, op.input(1), initial, {3 * hidden, hidden});
  expect_float_of_rank(op, states, 3);
  const int64_t steps = states.dims[0];
  expect_tensor(op, states, initial, {steps, batch, hidden});
  expect_tensor(op, op.input(3), initial, {steps, batch, 4 * hidden});
  expect_tensor(op, op.input(4), initial, {steps, batch, hidden});
  expect_optional(op, op.output(0), initial, {steps, batch, 3 * hidden});
  expect_optional_like(op, op.output(1), initial);
  expect_optional_like(op, op.output(2), op.input(1));
  expect_optional(op, op.output(3), initial, {3 * hidden});
}

/// weight [O,kernel,C] and y [B,T_out,O] for x [B,T,C].
inline void expect_convolution(const OpView& op, const attn_tensor& y) {
  const auto params = expect_window(op);
  const attn_tensor &x = op.input(0), &weight = op.input(1);
  expect_float_of_rank(op, x, 3);
  expect_float_of_rank(op, weight, 3);
  expect_tensor(op, weight, x, {weight.dims[0], params.kernel, x.dims[2]});
  expect_float_of_rank(op, y, 3);
  expect_tensor(op, y, x, {x.dims[0], y.dims[1], weight.dims[0]});
}

inline void check_conv_1d(const OpView& op) {
  expect_counts(op, 3, 1);
  expect_convolution(op, op.output(0));
  expect_optional(op, op.input(2), op.input(0), {op.input(1).dims[0]});
}

inline void check_conv_1d_gradient(const OpView& op) {
  expect_counts(op, 3, 3);
  expect_convolution(op, op.input(2));
  expect_accumulate(op);
  expect_optional_like(op, op.output(0), op.input(0));
  expect_optional_like(op, op.output(1), op.input(1));
  expect_optional(op, op.output(2), op.input(0), {op.input(1).dims[0]});
}

// ---- embedding, loss, optimizers, cache

/// positions [P,W] has a row for each of the T steps.
inline void expect_positions(const OpView& op, const attn_tensor& positions, const attn_tensor& like,
                             int64_t steps, int64_t width) {
  if (!is_present(positions)) return;
  const int64_t offset = op.params<attn_embed_params>().position_offset;
  expect_same_type(op, positions, like);
  expect(positions.rank == 2 && positions.dims[1] == width, op, positions,
         "[positions, columns of the table]");
  require(offset >= 0 && steps <= positions.dims[0] && offset <= positions.dims[0] - steps, [&] {
    return message("%lld steps from position %lld are not inside ", static_cast<long long>(steps),
                   static_cast<long long>(offset)) +
           describe(positions);
  });
}

inline void check_embed(const OpView& op) {
  expect_counts(op, 4, 1);
  expect_params(op);
  const attn_tensor &table = op.input(0), &ids = op.input(1);
  expect_float_of_rank(op, table, 2);
  expect_i32(op, ids);
  expect_rank_at_least(op, ids, 1);
  expect_positions(op, op.input(2), table, columns(ids), table.dims[1]);
  expect_random(op, op.input(3), op.params<attn_embed_params>().dropout_rate);
  expect_same_type(op, op.output(0), table);
  expect_trailing(op, op.output(0), rows(ids), {columns(ids), table.dims[1]});
}

inline void check_embed_gradient(const OpView& op) {
  expect_counts(op, 3, 2);
  expect_params(op);
  expect_accumulate(op);
  const attn_tensor &ids = op.input(0), &d_y = op.input(1), &d_table = op.output(0);
  expect_i32(op, ids);
  expect_rank_at_least(op, ids, 1);
  expect_float(op, d_y);
  expect_rank_at_least(op, d_y, 2);
  const int64_t width = columns(d_y);
  expect_trailing(op, d_y, rows(ids), {columns(ids), width});
  expect_random(op, op.input(2), op.params<attn_embed_params>().dropout_rate);
  if (is_present(d_table)) {
    expect_same_type(op, d_table, d_y);
    expect(d_table.rank == 2 && d_table.dims[1] == width, op, d_table, "[rows, columns of d_y]");
  }
  expect_positions(op, op.output(1), d_y, columns(ids), width);
}

inline void expect_labelled_logits(const OpView& op) {
  expect_params(op);
  const auto params = op.params<attn_cross_entropy_params>();
  const attn_tensor& logits = op.input(0);
  expect_float_of_rank(op, logits, 2);
  expect_i32(op, op.input(1));
  expect_dims(op, op.input(1), {logits.dims[0]});
  expect_function(params.smoothing_kind, ATTN_SMOOTH_OTHERS);
  require(params.smoothing >= 0 && params.smoothing < 1,
          [&] { return message("the smoothing must be in [0, 1), found %g", params.smoothing); });
  if (params.smoothing_kind == ATTN_SMOOTH_OTHERS && params.smoothing > 0) {
    require(logits.dims[1] > 2 && params.excluded_class >= 0 && params.excluded_class < logits.dims[1], [&] {
      return message("smoothing over the other classes needs an excluded class among at least 3, found %d",
                     params.excluded_class);
    });
  }
}

inline void check_cross_entropy(const OpView& op) {
  expect_counts(op, 2, 2);
  expect_labelled_logits(op);
  expect_tensor(op, op.output(0), op.input(0), {op.input(0).dims[0]});
  expect_tensor(op, op.output(1), op.input(0), {op.input(0).dims[0]});
}

inline void check_cross_entropy_gradient(const OpView& op) {
  expect_counts(op, 4, 1);
  expect_labelled_logits(op);
  expect_accumulate(op);
  expect_tensor(op, op.input(2), op.input(0), {op.input(0).dims[0]});
  expect_tensor(op, op.input(3), op.input(0), {op.input(0).dims[0]});
  expect_like(op, op.output(0), op.input(0));
}

/// gradient, control [4] and the outputs of a step.
inline void expect_step(const OpView& op, int required_outputs) {
  expect_params(op);
  expect_float(op, op.input(0));
  expect_tensor(op, op.input(1), op.input(0), {4});
  for (int index = 0; index < op.output_count(); ++index) {
    if (index < required_outputs || op.has_output(index)) expect_like(op, op.output(index), op.input(0));
  }
}

inline void check_adam(const OpView& op) {
  expect_counts(op, 2, 3);
  expect_step(op, 3);
  expect_epsilon(op.params<attn_adam_params>().epsilon);
}

inline void check_sgd(const OpView& op) {
  expect_counts(op, 2, 2);
  expect_step(op, 1);
  require(op.has_output(1) || op.params<attn_sgd_params>().momentum == 0, "momentum needs a velocity");
}

inline void check_clip_by_norm(const OpView& op) {
  require(op.output_count() >= 1, "no tensor to clip");
  expect_counts(op, 1, op.output_count());
  expect_params(op);
  const auto params = op.params<attn_clip_params>();
  require(params.max_norm >= 0,
          [&] { return message("max_norm must not be negative, found %g", params.max_norm); });
  expect_epsilon(params.epsilon);
  expect_float_of_rank(op, op.input(0), 0);
  for (int index = 0; index < op.output_count(); ++index) expect_same_type(op, op.output(index), op.input(0));
}

inline void check_kv_append(const OpView& op) {
  expect_counts(op, 2, 1);
  const attn_tensor &x = op.input(0), &cache = op.output(0);
  expect_float_of_rank(op, x, 3);
  expect_i32(op, op.input(1));
  expect_dims(op, op.input(1), {});
  expect_float_of_rank(op, cache, 3);
  expect_tensor(op, cache, x, {x.dims[0], cache.dims[1], x.dims[2]});
  expect(x.dims[1] <= cache.dims[1], op, x, "no longer than the capacity of the cache");
}

}  // namespace attn::backend::rules
