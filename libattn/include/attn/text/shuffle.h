#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace attn {

/// SplitMix64 (Steele, Lea and Flood, 2014): a small generator whose stream is the same everywhere.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, bound), without bias; bound > 0.
  std::uint64_t below(std::uint64_t bound) noexcept {
    const std::uint64_t rejected = (0 - bound) % bound;  // 2^64 mod bound
    while (true) {
      const std::uint64_t value = next();
      if (value >= rejected) return value % bound;
    }
  }

 private:
  std::uint64_t state_;
};

/// Puts `items` in a random order (Fisher and Yates); unlike std::shuffle, in the same one with every
/// library.
template<typename T>
void shuffle(std::span<T> items, SplitMix64& generator) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[static_cast<std::size_t>(generator.below(i))]);
  }
}

}  // namespace attn
