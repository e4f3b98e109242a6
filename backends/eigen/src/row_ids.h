#pragma once
// The check of ids that pick rows of a table.
#include "parallel.h"

namespace attn::eigen {

/// Throws BackendError(ATTN_INVALID) for an id that is not a row. `ignored` is an id that need not be a row,
/// -1 for none.
inline void check_ids(const attn_tensor& ids, std::int64_t row_count, std::int32_t ignored) {
  const auto* id = data<const std::int32_t>(ids);
  const std::int64_t count = elements(ids);
  for (std::int64_t i = 0; i < count; ++i) {
    if ((id[i] >= 0 && id[i] < row_count) || (ignored != -1 && id[i] == ignored)) continue;
    throw backend::BackendError(
        ATTN_INVALID,
        backend::message("id %d at position %lld is not a row of the table, which has %lld rows", id[i],
                         static_cast<long long>(i), static_cast<long long>(row_count)));
  }
}

}  // namespace attn::eigen
