#include "attn/inspection/attention_statistics.h"

#include <cmath>
#include <limits>

namespace attn {

double row_entropy(std::span<const float> row) {
  double sum = 0.0;
  for (const float value : row) {
    const auto weight = static_cast<double>(value);
    if (weight > 0.0) sum -= weight * std::log(weight);
  }
  return sum;
}

double mean_entropy(std::span<const float> map, std::size_t queries, std::size_t keys) {
  if (queries == 0) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0.0;
  for (std::size_t query = 0; query < queries; ++query) sum += row_entropy(map.subspan(query * keys, keys));
  return sum / static_cast<double>(queries);
}

}  // namespace attn
