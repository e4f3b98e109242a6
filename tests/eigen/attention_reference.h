#pragma once
// Attention, additive attention and their gradients as the formulas say, in double precision.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "additive_attention.h"
#include "attention.h"
#include "attn/philox.h"

namespace attn::eigen::test {

using Numbers = std::vector<double>;

/// Numbers in [-1, 1) that float represents exactly.
inline Numbers random_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  Numbers numbers(static_cast<std::size_t>(count));
  for (double& x : numbers) x = static_cast<double>(generator() % 16384) / 8192.0 - 1.0;
  return numbers;
}

template<class T>
std::vector<T> as(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

/// The largest difference, as a part of the largest number (at least 1); infinite if one is NaN, or if only
/// one of them is infinite.
template<class T>
double difference(const std::vector<T>& found, const Numbers& expected) {
  if (found.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double worst = 0, largest = 1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double a = static_cast<double>(found[i]), b = expected[i];
    if (a == b) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, std::fabs(a - b));
    largest = std::max(largest, std::fabs(b));
  }
  return worst / largest;
}

template<class T>
constexpr double kTolerance = sizeof(T) == 4 ? 1e-5 : 1e-12;

struct AttentionCase {
  std::int64_t batch = 1, heads = 1, queries = 1, keys = 1, key_width = 1, value_width = 1;
  std::vector<std::int32_t> lengths{};  // none, one for a batch entry, or one for each query
  bool causal = false;
  std::int64_t causal_offset = 0;
  double dropout = 0;

  VisibleKeys visible() const {
    VisibleKeys visible;
    visible.lengths = lengths.empty() ? nullptr : lengths.data();
    visible.length_per_query = static_cast<std::int64_t>(lengths.size()) == batch * queries && queries != 1;
    visible.causal = causal;
    visible.causal_offset = causal_offset;
    return visible;
  }
  bool sees(std::int64_t b, std::int64_t q, std::int64_t k) const {
    if (causal && k > q + causal_offset) return false;
    if (lengths.empty()) return true;
    const bool per_query = static_cast<std::int64_t>(lengths.size()) == batch * queries && queries != 1;
    return k < lengths[static_cast<std::size_t>(per_query ? b * queries + q : b)];
  }
};

inline constexpr std::int32_t kRandom[4] = {17, 4, 1234567, 1};
inline constexpr std::uint32_t kStream = 9;

inline double keep(double rate, std::int64_t element) {
  if (rate == 0) return 1;
  std::uint32_t words[4];
  attn_dropout_block(kRandom, kStream, static_cast<std::uint64_t>(element / 4), words);
  return words[element % 4] >= attn_dropout_threshold(rate) ? 1 / (1 - rate) : 0;
}

/// Softmax over the visible of `scores`; all zeros without any. Returns the logarithm of the sum.
inline double softmax(std::vector<double>& scores, const std::vector<bool>& visible) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    if (visible[k]) largest = std::max(largest, scores[k]);
  }
  for (std::size_t k = 0; k < scores.size(); ++k) {
    scores[k] = visible[k] ? std::exp(scores[k] - largest) : 0;
    sum += scores[k];
  }
  for (double& score : scores) score = sum > 0 ? score / sum : 0;
  return sum > 0 ? largest + std::log(sum) : -std::numeric_limits<double>::infinity();
}

}  // namespace attn::eigen::test
