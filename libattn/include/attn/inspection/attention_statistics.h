#pragma once
#include <cstddef>
#include <span>

namespace attn {

/// The entropy of one row of attention weights, - sum w ln w, in nats; a weight of 0 adds nothing. From 0
/// (everything on one key) to ln(keys) (the same on every key).
double row_entropy(std::span<const float> row);

/// The mean of row_entropy over the rows of a map [queries, keys]; NaN without rows.
double mean_entropy(std::span<const float> map, std::size_t queries, std::size_t keys);

}  // namespace attn
