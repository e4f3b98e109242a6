#include "evaluation/numpy_random.h"

#include <array>
#include <bit>
#include <cstddef>
#include <limits>

namespace attn {
namespace {

/// numpy's SeedSequence with a pool of four words.
class SeedSequence {
 public:
  explicit SeedSequence(std::uint64_t seed) {
    const std::array<std::uint32_t, 4> entropy = {static_cast<std::uint32_t>(seed),
                                                  static_cast<std::uint32_t>(seed >> 32U), 0, 0};
    std::uint32_t constant = 0x43b0d7e5;
    for (std::size_t i = 0; i < pool_.size(); ++i) pool_[i] = hash(entropy[i], constant, 0x931e8875);
    for (std::size_t from = 0; from < pool_.size(); ++from) {
      for (std::size_t to = 0; to < pool_.size(); ++to) {
        if (from != to) pool_[to] = mix(pool_[to], hash(pool_[from], constant, 0x931e8875));
      }
    }
  }

  std::array<std::uint64_t, 4> words() const {
    std::array<std::uint64_t, 4> words{};
    std::uint32_t constant = 0x8b51f9dd;
    for (std::size_t i = 0; i < 2 * words.size(); ++i) {
      const std::uint64_t half = hash(pool_[i % pool_.size()], constant, 0x58f38ded);
      words[i / 2] |= half << (i % 2 == 0 ? 0U : 32U);
    }
    return words;
  }

 private:
  static std::uint32_t hash(std::uint32_t value, std::uint32_t& constant, std::uint32_t multiplier) {
    value ^= constant;
    constant *= multiplier;
    value *= constant;
    return value ^ (value >> 16U);
  }

  static std::uint32_t mix(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t mixed = 0xca01f9ddU * a - 0x4973f715U * b;
    return mixed ^ (mixed >> 16U);
  }

  std::array<std::uint32_t, 4> pool_{};
};

}  // namespace

NumpyRandom::NumpyRandom(std::uint64_t seed) {
  const auto words = SeedSequence(seed).words();
  const Wide start = (Wide(words[0]) << 64U) | words[1];
  increment_ = (((Wide(words[2]) << 64U) | words[3]) << 1U) | 1U;
  step();
  state_ += start;
  step();
}

void NumpyRandom::step() {
  constexpr Wide multiplier = (Wide(2549297995355413924ULL) << 64U) | 4865540595714422341ULL;
  state_ = state_ * multiplier + increment_;
}

std::uint64_t NumpyRandom::next_64() {
  step();
  const auto high = static_cast<std::uint64_t>(state_ >> 64U);
  return std::rotr(high ^ static_cast<std::uint64_t>(state_), static_cast<int>(high >> 58U));
}

std::uint32_t NumpyRandom::next_32() {
  if (has_kept_) {
    has_kept_ = false;
    return kept_;
  }
  const std::uint64_t both = next_64();
  kept_ = static_cast<std::uint32_t>(both >> 32U);
  has_kept_ = true;
  return static_cast<std::uint32_t>(both);
}

std::uint32_t NumpyRandom::below(std::uint32_t bound) {
  if (bound == 1) return 0;  // numpy draws nothing for it
  const std::uint32_t threshold = (std::numeric_limits<std::uint32_t>::max() - bound + 1) % bound;
  std::uint64_t product = 0;
  do {
    product = std::uint64_t{next_32()} * bound;
  } while (static_cast<std::uint32_t>(product) < threshold);
  return static_cast<std::uint32_t>(product >> 32U);
}

}  // namespace attn
