#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "attn/philox.h"

namespace attn {

/// A reproducible sequence of random numbers on the host: Philox4x32-10 with the key (seed) and a counter
/// that starts from a hash of `name`, so that what one part draws does not depend on what another part drew
/// before it.
class RandomSequence {
 public:
  RandomSequence(std::uint64_t seed, std::string_view name);

  std::uint32_t next_word();
  /// In [0, 1), 53 bits.
  double uniform();
  /// In [0, bound), without bias. bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Standard normal (Box and Muller, 1958).
  double normal();

 private:
  std::uint32_t key_[2];
  std::uint32_t counter_[4] = {};
  std::uint32_t block_[4] = {};
  int used_ = 4;
};

/// `count` values uniform in [-limit, limit).
std::vector<double> uniform_values(RandomSequence& random, std::int64_t count, double limit);
/// `count` normal values with this standard deviation.
std::vector<double> normal_values(RandomSequence& random, std::int64_t count, double standard_deviation);

}  // namespace attn
