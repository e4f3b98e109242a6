// Operations whose addresses are data: rows of tables that ids choose. All ids are checked before anything is
// written.
#include <cstring>

#include "column_sums.h"
#include "parallel.h"
#include "random.h"
#include "row_ids.h"
#include "vector_loops.h"

namespace attn::eigen {
namespace {

// table[ids[i]] += scale x[i], in the order of ids. Tasks share out the columns.
template<class T>
void add_rows(Threads& threads, std::int64_t count, const std::int32_t* ids, std::int32_t ignored,
              std::int64_t width, T scale, const T* x, T* table) {
  const std::int64_t fair = kElementsPerTask / std::max<std::int64_t>(count, 1);
  const std::int64_t piece = std::max(padded<T>(fair), 4 * kWidth<T>);
  const Vec<T> factor = broadcast(scale);
  for_pieces(threads, width, piece, [=](std::int64_t first, std::int64_t some) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (ids[i] == ignored && ignored != -1) continue;
      T* row = table + ids[i] * width + first;
      transform<T>(
          some, row, [=](Vec<T> a, Vec<T> b) { return a + b * factor; }, row, x + i * width + first);
    }
  });
}

template<class T>
DropoutMask<T> embed_mask(const attn_embed_params& params, const attn_tensor& random) {
  return {params.dropout_rate > 0 ? data<const std::int32_t>(random) : nullptr, params.stream,
          params.dropout_rate};
}

template<class T>
void fill_zero(Threads& threads, std::int64_t count, T* y) {
  for_pieces(threads, count, 2 * kElementsPerTask,
             [=](std::int64_t first, std::int64_t some) { std::fill_n(y + first, some, T(0)); });
}

// positions[t + offset] (+)= the sum of d_y[b, t] over the batch; all other rows get nothing.
template<class T>
void position_gradient(KernelContext& context, const OpView& op, std::int64_t steps, std::int64_t width,
                       const T* d_y) {
  const attn_tensor& positions = op.output(1);
  const std::int64_t offset = op.params<attn_embed_params>().position_offset;
  T* to = data<T>(positions);
  if (!op.accumulates(1)) {
    fill_zero(context.threads, offset * width, to);
    const std::int64_t end = offset + steps;
    fill_zero(context.threads, (positions.dims[0] - end) * width, to + end * width);
  }
  // A step and its columns lie together: to the sum over the batch, all steps are one long row.
  const std::int64_t batch = steps == 0 ? 0 : elements(op.input(0)) / steps;
  sum_rows_of(context, batch, steps * width, d_y, steps * width, to + offset * width, op.accumulates(1));
}

}  // namespace

void run_gather_rows(const OpView& op, KernelContext& context) {
  const attn_tensor &table = op.input(0), &ids = op.input(1);
  check_ids(ids, table.dims[0], -1);
  const std::int64_t bytes =
      dims(table).product(1, table.rank) * static_cast<std::int64_t>(backend::element_size(table.dtype));
  if (bytes == 0) return;
  const char* from = data<const char>(table);
  char* to = data<char>(op.output(0));
  const auto* id = data<const std::int32_t>(ids);
  for_rows(context.threads, elements(ids), bytes / 4, 1, [=](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      std::memcpy(to + i * bytes, from + id[i] * bytes, static_cast<std::size_t>(bytes));
    }
  });
}

template<class T>
void run_scatter_add_rows(const OpView& op, KernelContext& context) {
  const attn_tensor &ids = op.input(1), &table = op.output(0);
  const std::int32_t ignored = op.params<attn_scatter_params>().ignored_id;
  check_ids(ids, table.dims[0], ignored);
  add_rows(context.threads, elements(ids), data<const std::int32_t>(ids), ignored, columns(table), T(1),
           data<const T>(op.input(0)), data<T>(table));
}

template<class T>
void run_embed(const OpView& op, KernelContext& context) {
  const attn_tensor &table = op.input(0), &ids = op.input(1);
  const auto params = op.params<attn_embed_params>();
  check_ids(ids, table.dims[0], -1);
  const std::int64_t width = table.dims[1], steps = columns(ids);
  const DropoutMask<T> mask = embed_mask<T>(params, op.input(3));
  const Vec<T> scale = broadcast(static_cast<T>(params.scale));
  const T* rows_of_table = data<const T>(table);
  const T* positions =
      op.has_input(2) ? data<const T>(op.input(2)) + params.position_offset * width : nullptr;
  const auto* id = data<const std::int32_t>(ids);
  T* y = data<T>(op.output(0));
  for_rows(context.threads, elements(ids), width, mask.active() ? 2 : 1,
           [&](std::int64_t first, std::int64_t count) {
             for (std::int64_t i = first; i < first + count; ++i) {
               const T* row = rows_of_table + id[i] * width;
               if (positions == nullptr) {
                 transform<T>(
                     width, y + i * width, [=](Vec<T> a) { return scale * a; }, row);
               } else {
                 transform<T>(
                     width, y + i * width, [=](Vec<T> a, Vec<T> b) { return scale * a + b; }, row,
                     positions + i % steps * width);
               }
             }
             T* part = y + first * width;
             mask.apply(first * width, count * width, part, part);
           });
}

template<class T>
void run_embed_gradient(const OpView& op, KernelContext& context) {
  const attn_tensor &ids = op.input(0), &d_out = op.input(1);
  const auto params = op.params<attn_embed_params>();
  const std::int64_t width = columns(d_out), steps = columns(ids), count = elements(d_out);
  if (op.has_output(0)) check_ids(ids, op.output(0).dims[0], params.ignored_id);
  const DropoutMask<T> mask = embed_mask<T>(params, op.input(2));
  const auto kept = context.workspace.take<T>(mask.active() ? count : 0);
  const T* d_y = data<const T>(d_out);
  if (mask.active()) {
    for_pieces(context.threads, count, kElementsPerTask, [&](std::int64_t first, std::int64_t some) {
      mask.apply(first, some, d_y + first, kept.data() + first);
    });
    d_y = kept.data();
  }
  if (op.has_output(0)) {
    T* table = data<T>(op.output(0));
    if (!op.accumulates(0)) fill_zero(context.threads, elements(op.output(0)), table);
    add_rows(context.threads, elements(ids), data<const std::int32_t>(ids), params.ignored_id, width,
             static_cast<T>(params.scale), d_y, table);
  }
  if (op.has_output(1)) position_gradient(context, op, steps, width, d_y);
}

#define ATTN_INSTANTIATE(T)                                             \
  template void run_scatter_add_rows<T>(const OpView&, KernelContext&); \
  template void run_embed<T>(const OpView&, KernelContext&);            \
  template void run_embed_gradient<T>(const OpView&, KernelContext&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn::eigen
