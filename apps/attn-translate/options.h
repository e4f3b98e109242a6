#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "attn/decoding/translator.h"
#include "evaluation_options.h"

namespace attn::translate {

/// The command line of attn-translate.
struct Options {
  std::string model;  ///< empty where --evaluate needs none
  std::string input = "-", output = "-", score;
  std::optional<std::int64_t> beam, n_best;
  double length_penalty = SearchOptions{}.length_penalty;
  std::int64_t max_length = 0;
  std::size_t batch_tokens = TranslatorOptions{}.batch_tokens;
  std::optional<std::size_t> batch_size;
  bool sample = false;
  Sampling sampling;
  EvaluationOptions evaluation;
  bool scores = false, alignments = false, json = false;
  std::string backend = "eigen";
  int device = 0, threads = 0;
  bool quiet = false, verbose = false;

  /// More than one translation a line, in Moses' format.
  bool list() const noexcept { return n_best.has_value(); }
};

void declare(CLI::App& app, Options& options);

/// The translator's part of the options. Throws Error(usage) for options that do not go together.
TranslatorOptions translator_options(const Options& options);

}  // namespace attn::translate
