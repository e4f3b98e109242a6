#include "random.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace attn::eigen {
namespace {

// Vectors of 64-bit lanes of which only the lower half counts until a product fills both halves.
#if defined(__AVX512F__)
using Lanes = std::uint64_t __attribute__((vector_size(64)));
Lanes multiply(Lanes a, Lanes b) {
  return reinterpret_cast<Lanes>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
#elif defined(__AVX2__)
using Lanes = std::uint64_t __attribute__((vector_size(32)));
Lanes multiply(Lanes a, Lanes b) {
  return reinterpret_cast<Lanes>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
#elif defined(__SSE2__)
using Lanes = std::uint64_t __attribute__((vector_size(16)));
Lanes multiply(Lanes a, Lanes b) {
  return reinterpret_cast<Lanes>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
}
#else
using Lanes = std::uint64_t __attribute__((vector_size(16)));
Lanes multiply(Lanes a, Lanes b) {
  return (a & 0xffffffffu) * (b & 0xffffffffu);
}
#endif

constexpr std::int64_t kLanes = sizeof(Lanes) / sizeof(std::uint64_t);
constexpr std::int64_t kGroups = 4;  // independent chains, because a product takes several cycles
constexpr std::int64_t kBlocks = kLanes * kGroups;
constexpr std::int64_t kWords = 4 * kBlocks;

Lanes broadcast(std::uint64_t value) {
  return Lanes{} + value;
}

// words[4 * i .. 4 * i + 3] = block first + i, for i in [0, kBlocks).
void philox_blocks(const std::int32_t* random, std::uint32_t stream, std::uint64_t first,
                   std::uint32_t* words) {
  Lanes c0[kGroups], c1[kGroups], c2[kGroups], c3[kGroups];
  for (std::int64_t g = 0; g < kGroups; ++g) {
    Lanes block{};
    for (std::int64_t lane = 0; lane < kLanes; ++lane) block[lane] = static_cast<std::uint64_t>(lane);
    block += first + static_cast<std::uint64_t>(g * kLanes);
    c0[g] = block;
    c1[g] = ((block >> 32) << 16) ^ stream;
    c2[g] = broadcast(static_cast<std::uint32_t>(random[2]));
    c3[g] = broadcast(static_cast<std::uint32_t>(random[3]));
  }
  std::uint32_t k0 = static_cast<std::uint32_t>(random[0]), k1 = static_cast<std::uint32_t>(random[1]);
  const Lanes m0 = broadcast(ATTN_PHILOX_MULTIPLIER_0), m1 = broadcast(ATTN_PHILOX_MULTIPLIER_1);
  for (int round = 0; round < 10; ++round) {
    const Lanes key0 = broadcast(k0), key1 = broadcast(k1);
    for (std::int64_t g = 0; g < kGroups; ++g) {
      const Lanes p0 = multiply(c0[g], m0), p1 = multiply(c2[g], m1);
      c0[g] = (p1 >> 32) ^ c1[g] ^ key0;
      c2[g] = (p0 >> 32) ^ c3[g] ^ key1;
      c1[g] = p1;
      c3[g] = p0;
    }
    k0 += ATTN_PHILOX_WEYL_0;
    k1 += ATTN_PHILOX_WEYL_1;
  }
  for (std::int64_t g = 0; g < kGroups; ++g) {
    const Lanes lower = (c0[g] & 0xffffffffu) | (c1[g] << 32);
    const Lanes upper = (c2[g] & 0xffffffffu) | (c3[g] << 32);
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t pair[2] = {lower[lane], upper[lane]};
      std::uint32_t* out = words + 4 * (g * kLanes + lane);
      for (int half = 0; half < 2; ++half) {
        out[2 * half] = static_cast<std::uint32_t>(pair[half]);
        out[2 * half + 1] = static_cast<std::uint32_t>(pair[half] >> 32);
      }
    }
  }
}

// Calls use(j, words, n) for pieces of [0, count): words[0..n) belong to the elements first + j + [0, n).
template<class Use>
void for_words(const std::int32_t* random, std::uint32_t stream, std::int64_t first, std::int64_t count,
               Use use) {
  alignas(64) std::uint32_t words[kWords];
  std::int64_t skip = first % 4;
  std::uint64_t block = static_cast<std::uint64_t>(first / 4);
  for (std::int64_t done = 0; done < count;) {
    philox_blocks(random, stream, block, words);
    const std::int64_t piece = std::min(kWords - skip, count - done);
    use(done, words + skip, piece);
    done += piece;
    skip = 0;
    block += kBlocks;
  }
}

}  // namespace

template<class T>
DropoutMask<T>::DropoutMask(const std::int32_t* random, std::uint32_t stream, double rate)
    : stream_(stream),
      threshold_(attn_dropout_threshold(rate)),
      scale_(rate > 0 ? static_cast<T>(1.0 / (1.0 - rate)) : T(1)),
      active_(rate > 0) {
  if (active_) std::copy(random, random + 4, random_);
}

template<class T>
void DropoutMask<T>::fill(std::int64_t first, std::int64_t count, T* out) const {
  if (!active_) {
    std::fill(out, out + count, T(1));
    return;
  }
  const T scale = scale_;
  const std::uint32_t threshold = threshold_;
  for_words(random_, stream_, first, count, [=](std::int64_t j, const std::uint32_t* words, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[j + i] = words[i] >= threshold ? scale : T(0);
  });
}

template<class T>
void DropoutMask<T>::apply(std::int64_t first, std::int64_t count, const T* x, T* y) const {
  if (!active_) {
    if (x != y && count > 0) std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(T));
    return;
  }
  const T scale = scale_;
  const std::uint32_t threshold = threshold_;
  for_words(random_, stream_, first, count, [=](std::int64_t j, const std::uint32_t* words, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const T scaled = x[j + i] * scale;
      y[j + i] = words[i] >= threshold ? scaled : T(0);
    }
  });
}

template<class T>
const T* DropoutRows<T>::kept(std::int64_t first, std::int64_t count) {
  if (first < start_ || first + count > end_) {
    start_ = first - first % 4;
    end_ = start_ + kKept;
    mask_.fill(start_, kKept, factors_);
  }
  return factors_ + (first - start_);
}

template<class T>
void DropoutRows<T>::fill(std::int64_t first, std::int64_t count, T* out) {
  if (!mask_.active() || count > kKept / 4) {
    mask_.fill(first, count, out);
    return;
  }
  const T* factors = kept(first, count);
  std::copy(factors, factors + count, out);
}

template<class T>
void DropoutRows<T>::apply(std::int64_t first, std::int64_t count, const T* x, T* y) {
  if (!mask_.active() || count > kKept / 4) {
    mask_.apply(first, count, x, y);
    return;
  }
  const T* factors = kept(first, count);
  for (std::int64_t i = 0; i < count; ++i) {
    const T scaled = x[i] * factors[i];
    y[i] = factors[i] > T(0) ? scaled : T(0);
  }
}

template class DropoutRows<float>;
template class DropoutRows<double>;
template class DropoutMask<float>;
template class DropoutMask<double>;

}  // namespace attn::eigen
