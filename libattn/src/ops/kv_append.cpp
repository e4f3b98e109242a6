#include <vector>

#include "internal.h"

namespace attn::ops {
namespace {

// The position stands on the device, so the part before and after it cannot be named here: all of the cache
// is gathered by a row index that points at the new rows where they belong.
Tensors kv_append_decomposed(const Call& call, std::span<const Into> into) {
  const Tensor &x = call.input(0), cache = into[0].target.detached();
  const std::int64_t batch = cache.size(0), capacity = cache.size(1), width = cache.size(2),
                     count = x.size(1);
  const std::int32_t position = call.input(1).to_vector<std::int32_t>().front();
  const std::array both{cache, x};
  const Tensor rows = concatenate(both, 1).reshaped({batch * (capacity + count), width});
  std::vector<std::int32_t> ids;
  ids.reserve(static_cast<std::size_t>(batch * capacity));
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < capacity; ++t) {
      const bool fresh = t >= position && t < position + count;
      ids.push_back(
          static_cast<std::int32_t>(b * (capacity + count) + (fresh ? capacity + t - position : t)));
    }
  }
  return {gather_rows(rows, Tensor::from<std::int32_t>(x.shared_device(), ids, {batch, capacity}))};
}

}  // namespace

// cache[:, position : position + n] = x, in place.
const Operation kv_append_operation{
    .kind = ATTN_OP_KV_APPEND,
    .name = "kv_append",
    .decomposition = kv_append_decomposed,
    .in_out = 1u,
};

void kv_append(const Tensor& cache, const Tensor& x, const Tensor& position, std::int64_t host_position) {
  require_rank("kv_append", "cache", cache, 3);
  require_rank("kv_append", "x", x, 3);
  require_shape("kv_append", "x", x, {cache.size(0), x.size(1), cache.size(2)});
  require(host_position >= 0 && host_position + x.size(1) <= cache.size(1),
          "kv_append: rows {} to {} do not fit into a cache of {} steps", host_position,
          host_position + x.size(1), cache.size(1));
  const Into target{cache};
  apply_operation(Call{&kv_append_operation, {x.detached(), position.detached()}, {}, 1u}, {&target, 1});
}

}  // namespace attn::ops
