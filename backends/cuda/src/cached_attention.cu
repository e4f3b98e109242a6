#include "cached_attention.cuh"
#include "kernels.h"

namespace attn::cuda {

std::size_t cached_attention_workspace(const OpView& op) {
  if (op.has_output(1)) return 0;
  const attn_tensor &query = op.input(0), &rows = op.input(3);
  const int64_t heads = op.params<attn_attention_params>().heads;
  return static_cast<std::size_t>(query.dims[0] * heads * query.dims[1] * rows.dims[1]) *
         backend::element_size(query.dtype);
}

template<typename T>
void run_cached_attention(const OpView& op, Call& call) {
  const attn_tensor &query = op.input(0), &keys = op.input(1), &values = op.input(2), &rows = op.input(3);
  const auto params = op.params<attn_attention_params>();
  const int64_t batch = query.dims[0], queries = query.dims[1], key_count = rows.dims[1];
  const CachedInput<T> in = {
      data<const T>(query),
      data<const T>(keys),
      data<const T>(values),
      data<const int32_t>(rows),
      batch,
      queries,
      key_count,
      params.heads,
      static_cast<int>(query.dims[2] / params.heads),
      static_cast<int>(values.dims[1] / params.heads),
      static_cast<T>(params.scale),
      KeyMask(op.input(4), params.causal != 0, params.causal_offset, batch, queries, key_count),
      params.masking == ATTN_MASK_BOOK,
      call.id_check(keys.dims[0])};
  T* weights = op.has_output(1) ? data<T>(op.output(1)) : call.workspace_as<T>();
  constexpr int threads = 128;
  launch(call.stream, row_blocks(batch * params.heads * queries), threads, cached_attention_kernel<T>,
         data<T>(op.output(0)), weights, in);
}

ATTN_FOR_BOTH_TYPES(run_cached_attention)

}  // namespace attn::cuda
