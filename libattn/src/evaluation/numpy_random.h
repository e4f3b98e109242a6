#pragma once
#include <cstdint>

namespace attn {

/// The numbers that numpy.random.default_rng(seed).integers(0, bound) gives for bounds below 2^32, which are
/// also those of choice with replacement: PCG64 (XSL-RR), seeded through SeedSequence, Lemire's method of
/// bounding. Samples that are drawn with it are those that sacrebleu draws.
/// Source: O'Neill, 2014; Lemire, 2019; numpy's documentation of SeedSequence.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint64_t seed);

  /// A number from 0 to bound - 1; bound at least 1.
  std::uint32_t below(std::uint32_t bound);

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t next_64();
  std::uint32_t next_32();
  void step();

  Wide state_ = 0;
  Wide increment_ = 0;
  std::uint32_t kept_ = 0;
  bool has_kept_ = false;
};

}  // namespace attn
