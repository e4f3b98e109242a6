#pragma once
// Which keys a query may see, as attn/op_kinds.h defines it under "Masks".
#include <algorithm>
#include <cstdint>

#include "op_view.h"

namespace attn::backend {

/// The mask of scores [entries, queries, keys]; it always leaves the first keys of a row.
class KeyMask {
 public:
  /// `lengths` is i32 [B], i32 [B,Q] or absent, with B a divisor of `entries`.
  KeyMask(const attn_tensor& lengths, bool causal, int64_t causal_offset, int64_t entries, int64_t queries,
          int64_t keys)
      : lengths_(is_present(lengths) ? data<const int32_t>(lengths) : nullptr),
        per_query_(lengths.rank == 2),
        entries_per_length_(is_present(lengths) && lengths.dims[0] > 0 ? entries / lengths.dims[0] : 1),
        queries_(queries),
        keys_(keys),
        causal_(causal),
        // beyond these bounds nothing changes, and query + 1 + offset cannot overflow
        causal_offset_(std::clamp(causal_offset, -queries - 1, keys)) {}

  /// How many keys, from the first, this query of this leading entry sees: 0 .. keys.
  int64_t visible(int64_t entry, int64_t query) const {
    int64_t count = keys_;
    if (lengths_ != nullptr) {
      const int64_t batch = entry / entries_per_length_;
      count = std::min<int64_t>(count, lengths_[per_query_ ? batch * queries_ + query : batch]);
    }
    if (causal_) count = std::min(count, query + 1 + causal_offset_);
    return std::max<int64_t>(count, 0);
  }

 private:
  const int32_t* lengths_;
  bool per_query_;
  int64_t entries_per_length_, queries_, keys_;
  bool causal_;
  int64_t causal_offset_;
};

}  // namespace attn::backend
