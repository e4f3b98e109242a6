#pragma once
// What the kernels share: sums over warps and blocks in a fixed order, walks through tensors, dropout, masks.
#include <cstdint>

#include "attn/op_kinds.h"
#include "attn/philox.h"
#include "call.h"

namespace attn::cuda {

constexpr unsigned all_lanes = 0xffffffffu;
constexpr int lanes = 32;

template<typename T>
__device__ constexpr T minus_infinity() {
  return -static_cast<T>(INFINITY);
}

/// This thread's first element and the step to its next, for kernels over elements.
__device__ inline int64_t first_element() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t element_step() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

struct Sum {
  template<typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// NaN if either is: a broken training is to be noticed.
struct Maximum {
  template<typename T>
  __device__ T operator()(T a, T b) const {
    return a > b || isnan(a) ? a : b;
  }
};

template<typename T, typename Combine>
__device__ T warp_reduce(T value, Combine combine) {
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(all_lanes, value, offset));
  }
  return value;
}

/// The same value in every thread of a one-dimensional block of whole warps. All threads must call it.
template<typename T, typename Combine>
__device__ T block_reduce(T value, Combine combine) {
  value = warp_reduce(value, combine);
  const int warps = static_cast<int>(blockDim.x) / lanes;
  if (warps == 1) return value;
  ATTN_SHARED(T, parts, lanes);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  if (lane == 0) parts[threadIdx.x / lanes] = value;
  __syncthreads();
  value = parts[0];
  for (int warp = 1; warp < warps; ++warp) value = combine(value, parts[warp]);
  __syncthreads();  // before the next call writes again
  return value;
}
template<typename T>
__device__ T block_sum(T value) {
  return block_reduce(value, Sum{});
}
template<typename T>
__device__ T block_maximum(T value) {
  return block_reduce(value, Maximum{});
}

/// Sizes that several tensors are walked through with, and the strides of each.
template<int Tensors>
struct Walk {
  int32_t rank = 0;
  int64_t count = 1;
  int64_t sizes[ATTN_MAX_RANK] = {};
  int64_t strides[Tensors][ATTN_MAX_RANK] = {};

  /// Where element `index`, counted in row-major order, lies in each tensor.
  __device__ void offsets(int64_t index, int64_t (&result)[Tensors]) const {
    for (int tensor = 0; tensor < Tensors; ++tensor) result[tensor] = 0;
    if (count <= int64_t{0x7fffffff}) {  // a division of 64 bits takes the GPU many instructions
      walk(static_cast<uint32_t>(index), result);
    } else {
      walk(static_cast<uint64_t>(index), result);
    }
  }

 private:
  template<typename Index>
  __device__ void walk(Index index, int64_t (&result)[Tensors]) const {
    for (int axis = rank - 1; axis >= 0; --axis) {
      const Index size = static_cast<Index>(sizes[axis]), rest = index / size;
      const auto here = static_cast<int64_t>(index - rest * size);
      for (int tensor = 0; tensor < Tensors; ++tensor) result[tensor] += here * strides[tensor][axis];
      index = rest;
    }
  }
};

/// Axes of size 1 are left out, and neighbouring axes become one where every tensor allows it.
template<int Tensors>
Walk<Tensors> make_walk(const Dims& sizes, const Dims (&strides)[Tensors]) {
  Walk<Tensors> walk;
  walk.count = sizes.elements();
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    if (sizes[axis] == 1) continue;
    bool joins = walk.rank > 0;
    for (int tensor = 0; joins && tensor < Tensors; ++tensor) {
      joins = walk.strides[tensor][walk.rank - 1] == sizes[axis] * strides[tensor][axis];
    }
    if (!joins) ++walk.rank;
    const int last = walk.rank - 1;
    walk.sizes[last] = joins ? walk.sizes[last] * sizes[axis] : sizes[axis];
    for (int tensor = 0; tensor < Tensors; ++tensor) walk.strides[tensor][last] = strides[tensor][axis];
  }
  return walk;
}

/// The dropout mask of attn/op_kinds.h. Ask a copy of one's own in ascending order: four neighbours share a
/// block of random words.
template<typename T>
class Dropout {
 public:
  Dropout(const attn_tensor& random, uint32_t stream, double rate)
      : random_(rate > 0 ? data<const int32_t>(random) : nullptr),
        stream_(stream),
        threshold_(attn_dropout_threshold(rate)),
        scale_(static_cast<T>(1.0 / (1.0 - rate))) {}

  /// What is dropped is 0 even if it was infinite.
  __device__ T operator()(T value, uint64_t element) {
    if (random_ == nullptr) return value;
    const uint64_t block = element / 4;
    if (block != block_) {
      attn_dropout_block(random_, stream_, block, words_);
      block_ = block;
    }
    const uint32_t low = element % 2 == 0 ? words_[0] : words_[1];
    const uint32_t high = element % 2 == 0 ? words_[2] : words_[3];
    const uint32_t word = element % 4 < 2 ? low : high;  // no indexing: the words stay in registers
    return word >= threshold_ ? value * scale_ : T{0};
  }

 private:
  const int32_t* random_;
  uint32_t stream_, threshold_;
  T scale_;
  uint64_t block_ = ~uint64_t{0};
  uint32_t words_[4] = {};
};

/// How many keys, from the first, a query sees; see "Masks" in attn/op_kinds.h.
class KeyMask {
 public:
  KeyMask(const attn_tensor& lengths, bool causal, int64_t causal_offset, int64_t entries, int64_t queries,
          int64_t keys)
      : lengths_(optional_data<const int32_t>(lengths)),
        entries_per_length_(is_present(lengths) && lengths.dims[0] > 0 ? entries / lengths.dims[0] : 1),
        queries_(queries),
        keys_(keys),
        // beyond these bounds nothing changes, and query + 1 + offset cannot overflow
        causal_offset_(std::clamp(causal_offset, -queries - 1, keys)),
        per_query_(lengths.rank == 2),
        causal_(causal) {}

  __device__ int64_t visible(int64_t entry, int64_t query) const {
    int64_t count = keys_;
    if (lengths_ != nullptr) {
      const int64_t batch = entry / entries_per_length_;
      const int64_t length = lengths_[per_query_ ? batch * queries_ + query : batch];
      count = length < count ? length : count;
    }
    if (causal_ && query + 1 + causal_offset_ < count) count = query + 1 + causal_offset_;
    return count < 0 ? 0 : count;
  }
  /// No query before this one sees the key, however long the sequences are.
  __device__ int64_t first_query(int64_t key) const {
    return causal_ && key > causal_offset_ ? key - causal_offset_ : 0;
  }
  /// False if no query of the entry sees this key or one after it.
  __device__ bool may_be_seen(int64_t entry, int64_t key) const {
    return lengths_ == nullptr || per_query_ || lengths_[entry / entries_per_length_] > key;
  }

 private:
  const int32_t* lengths_;
  int64_t entries_per_length_, queries_, keys_, causal_offset_;
  bool per_query_, causal_;
};

/// Whether `id`, at `position` of the ids, is a row of the table.
__device__ inline bool accepts(const IdCheck& check, int32_t id, int64_t position) {
  if (id >= 0 && id < check.rows) return true;
  if (atomicCAS(&check.fault->occurred, 0, 1) == 0) {
    check.fault->op_index = check.op_index;
    check.fault->op_kind = check.op_kind;
    check.fault->id = id;
    check.fault->position = position;
    check.fault->rows = check.rows;
    __threadfence_system();
  }
  return false;
}

/// Stores a gradient, or adds it to what is there.
template<typename T>
__device__ void put(T* to, T value, bool accumulate) {
  *to = accumulate ? *to + value : value;
}

}  // namespace attn::cuda
