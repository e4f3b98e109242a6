#include "attn/io/did_you_mean.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace attn {
namespace {

std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

}  // namespace

std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> above(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above.back();
}

std::optional<std::string> closest_name(std::string_view wrong, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    // Of a path, only the last name counts as the word that a slip can change.
    const std::size_t word = std::min(last_name(candidate).size(), last_name(wrong).size());
    const std::size_t distance = edit_distance(wrong, candidate);
    const bool near = distance <= std::max<std::size_t>(word / 3, 1);
    if (near && (best == nullptr || distance < best_distance)) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best != nullptr) return *best;
  const auto same_name = [&](const std::string& candidate) {
    return last_name(candidate) == last_name(wrong);
  };
  if (std::count_if(candidates.begin(), candidates.end(), same_name) != 1) return std::nullopt;
  return *std::find_if(candidates.begin(), candidates.end(), same_name);
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string> candidates) {
  const std::optional<std::string> name = closest_name(wrong, candidates);
  return name ? fmt::format(" (did you mean '{}'?)", *name) : "";
}

}  // namespace attn
