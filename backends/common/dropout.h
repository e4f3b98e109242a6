#pragma once
// The dropout mask that all backends share, as attn/op_kinds.h defines it under "Dropout".
#include <cstdint>

#include "attn/philox.h"
#include "op_view.h"

namespace attn::backend {

/// Says element by element what to multiply by: 0, or 1/(1-rate). Cheapest when asked in ascending order, as
/// four neighbours share one Philox block. With rate 0 everything is kept and `random` may be absent.
class DropoutMask {
 public:
  DropoutMask(const attn_tensor& random, uint32_t stream, double rate)
      : random_(rate > 0 ? data<const int32_t>(random) : nullptr),
        stream_(stream),
        threshold_(attn_dropout_threshold(rate)),
        scale_(1.0 / (1.0 - rate)) {}

  double scale() const { return scale_; }

  bool keeps(uint64_t element) {
    if (random_ == nullptr) return true;
    const uint64_t block = element / 4;
    if (block != block_) {
      attn_dropout_block(random_, stream_, block, words_);
      block_ = block;
    }
    return words_[element % 4] >= threshold_;
  }
  double factor(uint64_t element) { return keeps(element) ? scale_ : 0.0; }

 private:
  const int32_t* random_;
  uint32_t stream_, threshold_;
  double scale_;
  uint64_t block_ = ~uint64_t{0};
  uint32_t words_[4] = {};
};

}  // namespace attn::backend
