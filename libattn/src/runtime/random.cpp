#include "attn/runtime/random.h"

#include <cmath>
#include <numbers>

namespace attn {
namespace {

// FNV-1a, 64 bits.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3u;
  return hash;
}

}  // namespace

RandomSequence::RandomSequence(std::uint64_t seed, std::string_view name)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {
  const std::uint64_t hash = hash_of(name);
  counter_[2] = static_cast<std::uint32_t>(hash);
  counter_[3] = static_cast<std::uint32_t>(hash >> 32);
}

std::uint32_t RandomSequence::next_word() {
  if (used_ == 4) {
    attn_philox4x32_10(counter_, key_, block_);
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return block_[used_++];
}

double RandomSequence::uniform() {
  const std::uint64_t high = next_word() >> 5, low = next_word() >> 6;
  return static_cast<double>((high << 26) | low) * 0x1p-53;
}

std::uint64_t RandomSequence::below(std::uint64_t bound) {
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  while (true) {
    const std::uint64_t high = next_word();
    const std::uint64_t word = (high << 32) | next_word();
    if (word < limit) return word % bound;
  }
}

double RandomSequence::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::vector<double> uniform_values(RandomSequence& random, std::int64_t count, double limit) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = (2.0 * random.uniform() - 1.0) * limit;
  return values;
}

std::vector<double> normal_values(RandomSequence& random, std::int64_t count, double standard_deviation) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = standard_deviation * random.normal();
  return values;
}

}  // namespace attn
