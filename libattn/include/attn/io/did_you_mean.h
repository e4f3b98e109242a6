#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attn {

/// Number of inserted, deleted, replaced or swapped neighbouring bytes that lead from one text to the other
/// (optimal string alignment distance).
std::size_t edit_distance(std::string_view from, std::string_view to);

/// The candidate that was probably meant: the nearest one if at most a third of its letters differ; else, for
/// paths with dots, the only one that ends in the same name ("learning_rate" for "training.learning_rate").
std::optional<std::string> closest_name(std::string_view wrong, std::span<const std::string> candidates);

/// " (did you mean 'x'?)", or nothing when no candidate is near.
std::string did_you_mean(std::string_view wrong, std::span<const std::string> candidates);

}  // namespace attn
