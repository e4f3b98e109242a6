#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/decoding/ensemble.h"
#include "attn/decoding/search.h"

namespace attn::translate {

/// The part of the command line that is about what a translation must be like, how translations are compared,
/// and which models make them together.
struct SearchCommand {
  std::optional<double> length_penalty;
  std::string length_penalty_kind;  ///< gnmt, power, none, or empty
  double coverage_penalty = 0.0;
  std::int64_t min_length = 0, max_length = 0, no_repeat_ngram = 0;
  std::optional<double> max_length_ratio;
  std::string prefix;                 ///< --prefix: file or "-"
  std::vector<std::string> ensemble;  ///< checkpoints beside MODEL
  std::string ensemble_average = "probabilities";

  /// Whether any option is given that only a search or a draw heeds.
  bool constrains() const noexcept;
};

void declare(CLI::App& app, SearchCommand& command);

/// Puts the options into `search`. Throws Error(usage) for options that do not go together.
void apply(const SearchCommand& command, SearchOptions& search);

EnsembleAverage ensemble_average(const SearchCommand& command);

}  // namespace attn::translate
