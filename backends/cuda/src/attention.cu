#include <type_traits>

#include "attention.cuh"
#include "attention.h"
#include "kernels.h"

namespace attn::cuda {

namespace {

template<typename T>
AttentionInput<T> attention_input(const OpView& op) {
  const attn_tensor &query = op.input(0), &key = op.input(1), &value = op.input(2);
  const auto params = op.params<attn_attention_params>();
  const int64_t batch = query.dims[0], queries = query.dims[1], keys = key.dims[1];
  return {data<const T>(query),
          data<const T>(key),
          data<const T>(value),
          batch,
          queries,
          keys,
          params.heads,
          static_cast<int>(query.dims[2] / params.heads),
          static_cast<int>(value.dims[2] / params.heads),
          static_cast<T>(params.scale),
          KeyMask(op.input(3), params.causal != 0, params.causal_offset, batch, queries, keys),
          Dropout<T>(op.input(4), params.stream, params.dropout_rate)};
}

/// The side of a tile that leaves enough registers and shared memory for this many columns.
template<typename T, int C>
constexpr int rows_a_thread = (sizeof(T) == sizeof(float) ? 4 : 2) / (C > 8 ? 2 : 1);

template<int Value>
using Constant = std::integral_constant<int, Value>;

/// Calls function(R, C) with compile-time constants so that a block covers heads of so many columns. Short
/// sequences, as of sentences, get small tiles: most of a large one would be empty.
template<typename T, typename Function>
void with_tile(const AttentionInput<T>& in, Function function) {
  constexpr int64_t short_sequence = 2 * tile_lanes;
  const int columns = std::max(in.key_columns, in.value_columns);
  if (columns <= tile_lanes * 4) {
    if (std::max(in.queries, in.keys) <= short_sequence) return function(Constant<1>{}, Constant<4>{});
    return function(Constant<rows_a_thread<T, 4>>{}, Constant<4>{});
  }
  if (columns <= tile_lanes * 8) return function(Constant<rows_a_thread<T, 8>>{}, Constant<8>{});
  function(Constant<rows_a_thread<T, 16>>{}, Constant<16>{});
}
static_assert(tile_lanes * 16 == most_head_columns);

constexpr dim3 tile_block(tile_lanes, tile_lanes);

}  // namespace

template<typename T>
void run_attention(const OpView& op, Call& call) {
  const AttentionInput<T> in = attention_input<T>(op);
  const int64_t heads = in.batch * in.heads;
  T *output = data<T>(op.output(0)), *log_sum_exp = data<T>(op.output(1));
  with_tile(in, [&](auto rows, auto columns) {
    constexpr int R = decltype(rows)::value, C = decltype(columns)::value;
    const int64_t tiles = divide_up(in.queries, tile_size<R>);
    launch(call.stream, row_blocks(heads * tiles), tile_block, attention_kernel<T, R, C>, output, log_sum_exp,
           in, tiles);
  });
  if (!op.has_output(2)) return;
  constexpr int R = 2;
  const int64_t query_tiles = divide_up(in.queries, tile_size<R>);
  const int64_t key_tiles = divide_up(in.keys, tile_size<R>);
  launch(call.stream, row_blocks(heads * query_tiles * key_tiles), tile_block, attention_weights_kernel<T, R>,
         data<T>(op.output(2)), log_sum_exp, in, query_tiles, key_tiles);
}

std::size_t attention_gradient_workspace(const OpView& op) {
  const attn_tensor& log_sum_exp = op.input(6);
  return elements(log_sum_exp) * backend::element_size(log_sum_exp.dtype);
}

template<typename T>
void run_attention_gradient(const OpView& op, Call& call) {
  const AttentionGradientInput<T> gradient = {attention_input<T>(op), data<const T>(op.input(6)),
                                              data<const T>(op.input(7)), call.workspace_as<T>()};
  const AttentionInput<T>& in = gradient.forward;
  const int64_t heads = in.batch * in.heads;
  launch(call.stream, row_blocks(divide_up(heads * in.queries, delta_warps)), dim3(lanes, delta_warps),
         attention_delta_kernel<T>, gradient, data<const T>(op.input(5)));
  with_tile(in, [&](auto rows, auto columns) {
    constexpr int R = decltype(rows)::value, C = decltype(columns)::value;
    if (op.has_output(0)) {
      const int64_t tiles = divide_up(in.queries, tile_size<R>);
      launch(call.stream, row_blocks(heads * tiles), tile_block, attention_query_gradient_kernel<T, R, C>,
             data<T>(op.output(0)), op.accumulates(0), gradient, tiles);
    }
    if (op.has_output(1) || op.has_output(2)) {
      const int64_t tiles = divide_up(in.keys, tile_size<R>);
      const KeyValueGradient<T> to = {optional_data<T>(op.output(1)), optional_data<T>(op.output(2)),
                                      op.accumulates(1), op.accumulates(2)};
      launch(call.stream, row_blocks(heads * tiles), tile_block, attention_key_gradient_kernel<T, R, C>, to,
             gradient, tiles);
    }
  });
}

ATTN_FOR_BOTH_TYPES(run_attention)
ATTN_FOR_BOTH_TYPES(run_attention_gradient)

}  // namespace attn::cuda
