#pragma once
// Masks that the cases of softmax and attention share.
#include <string>
#include <vector>

#include "case.h"

namespace attn::conformance {

/// A way of masking [batch, queries, keys].
struct MaskCase {
  std::string name;
  bool lengths = false;    ///< one for each entry of the batch
  bool per_query = false;  ///< one for each query
  bool nothing = false;    ///< all lengths are 0: every row is masked
  std::int32_t causal = 0;
  std::int64_t causal_offset = 0;
  std::int32_t masking = ATTN_MASK_EXACT;

  /// Adds valid_lengths, also such that are out of range, or their absence.
  void add_lengths(Builder& builder, std::int64_t batch, std::int64_t queries, std::int64_t keys) const {
    if (!lengths && !per_query) {
      builder.absent();
    } else {
      const Shape shape = per_query ? Shape{batch, queries} : Shape{batch};
      if (nothing)
        builder.integers(shape, std::vector<double>(static_cast<std::size_t>(shape.elements()), 0.0));
      else
        builder.integers(shape, -1, keys + 3);
    }
  }
};

inline std::vector<MaskCase> mask_cases() {
  std::vector<MaskCase> list;
  for (const std::int32_t masking : {ATTN_MASK_EXACT, ATTN_MASK_BOOK}) {
    const std::string how = masking == ATTN_MASK_BOOK ? ", as in the book" : "";
    list.push_back({"no mask" + how, false, false, false, 0, 0, masking});
    list.push_back({"lengths" + how, true, false, false, 0, 0, masking});
    list.push_back({"lengths of queries" + how, false, true, false, 0, 0, masking});
    list.push_back({"all masked" + how, true, false, true, 0, 0, masking});
    list.push_back({"causal" + how, false, false, false, 1, 0, masking});
    list.push_back({"causal offset 2 and lengths" + how, true, false, false, 1, 2, masking});
    list.push_back({"causal offset -2" + how, false, false, false, 1, -2, masking});
  }
  return list;
}

}  // namespace attn::conformance
