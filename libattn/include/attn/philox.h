#ifndef ATTN_PHILOX_H
#define ATTN_PHILOX_H
/*
 * Philox4x32-10, the counter-based random number generator of Salmon et al., "Parallel random numbers: as
 * easy as 1, 2, 3" (SC 2011). Every word is a function of (seed, step, stream, index) alone, so all backends,
 * at any number of threads, draw the same dropout masks. Plain C11; also compiles as C++ and as CUDA.
 */
#include <stdint.h>

#ifdef __CUDACC__
#define ATTN_PHILOX_FUNCTION static inline __host__ __device__
#else
#define ATTN_PHILOX_FUNCTION static inline
#endif

#define ATTN_PHILOX_MULTIPLIER_0 0xD2511F53u
#define ATTN_PHILOX_MULTIPLIER_1 0xCD9E8D57u
#define ATTN_PHILOX_WEYL_0 0x9E3779B9u
#define ATTN_PHILOX_WEYL_1 0xBB67AE85u

/* Ten rounds on counter[4] with key[2]; the four words of the block go to out. */
ATTN_PHILOX_FUNCTION void attn_philox4x32_10(const uint32_t counter[4], const uint32_t key[2],
                                             uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = (uint64_t)ATTN_PHILOX_MULTIPLIER_0 * c0;
    const uint64_t p1 = (uint64_t)ATTN_PHILOX_MULTIPLIER_1 * c2;
    const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += ATTN_PHILOX_WEYL_0;
    k1 += ATTN_PHILOX_WEYL_1;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/*
 * The dropout block of elements 4*block .. 4*block+3: `random` are the four words of an operation's random
 * tensor (seed low, seed high, step low, step high). The counter is (block low, stream ^ (block high << 16),
 * step low, step high), the key is the seed. Tensors of up to 2^34 elements use the low word of the block
 * alone.
 */
ATTN_PHILOX_FUNCTION void attn_dropout_block(const int32_t random[4], uint32_t stream, uint64_t block,
                                             uint32_t out[4]) {
  const uint32_t counter[4] = {(uint32_t)block, stream ^ ((uint32_t)(block >> 32) << 16), (uint32_t)random[2],
                               (uint32_t)random[3]};
  const uint32_t key[2] = {(uint32_t)random[0], (uint32_t)random[1]};
  attn_philox4x32_10(counter, key, out);
}

/* A word below this is dropped. rate in [0, 1). */
ATTN_PHILOX_FUNCTION uint32_t attn_dropout_threshold(double rate) {
  const double scaled = rate * 4294967296.0;
  return scaled <= 0.0 ? 0u : (scaled >= 4294967295.0 ? 4294967295u : (uint32_t)scaled);
}

#endif
