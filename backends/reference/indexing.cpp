// Operations whose addresses are data: only run() sees the ids, so that it may refuse them.
#include <cstring>

#include "common/guard.h"
#include "kernels.h"
#include "types.h"

namespace attn::backend::reference {

namespace {

/// Fails before anything is written; `ignored` is an id that need not be a row, -1 for none.
void require_rows(const attn_tensor& ids, const attn_tensor& table, int32_t ignored) {
  for (int64_t i = 0; i < elements(ids); ++i) {
    const int32_t id = data<int32_t>(ids)[i];
    if ((id >= 0 && id < table.dims[0]) || (ignored != -1 && id == ignored)) continue;
    throw BackendError(ATTN_INVALID,
                       message("id %d at position %lld is not a row of the table, which has %lld rows", id,
                               static_cast<long long>(i), static_cast<long long>(table.dims[0])));
  }
}

}  // namespace

void gather_rows(const OpView& op) {
  const attn_tensor &table = op.input(0), &ids = op.input(1);
  require_rows(ids, table, -1);
  const int64_t row_bytes =
      dims(table).product(1, table.rank) * static_cast<int64_t>(element_size(table.dtype));
  if (row_bytes == 0) return;
  for (int64_t i = 0; i < elements(ids); ++i) {
    const char* row = data<char>(table) + data<int32_t>(ids)[i] * row_bytes;
    std::memcpy(data<char>(op.output(0)) + i * row_bytes, row, row_bytes);
  }
}

void scatter_add_rows(const OpView& op) {
  const attn_tensor &x = op.input(0), &ids = op.input(1), &table = op.output(0);
  const int32_t ignored = op.params<attn_scatter_params>().ignored_id;
  require_rows(ids, table, ignored);
  const int64_t width = columns(table);
  with_float_type(table.dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < elements(ids); ++i) {
      const int32_t id = data<int32_t>(ids)[i];
      if (id == ignored) continue;
      for (int64_t column = 0; column < width; ++column) {
        data<T>(table)[id * width + column] += data<T>(x)[i * width + column];
      }
    }
  });
}

}  // namespace attn::backend::reference
