#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "alignment_options.h"
#include "attn/decoding/translator.h"
#include "evaluation_options.h"
#include "search_options.h"

namespace attn::translate {

/// The command line of attn-translate.
struct Options {
  std::string model;  ///< empty where --evaluate needs none
  std::string input = "-", output = "-", score;
  std::optional<std::int64_t> beam, n_best;
  std::size_t batch_tokens = TranslatorOptions{}.batch_tokens;
  std::optional<std::size_t> batch_size;
  bool sample = false;
  Sampling sampling;
  SearchCommand search;
  EvaluationOptions evaluation;
  AlignmentCommand alignments;
  bool scores = false, score_tokens = false, json = false;
  std::string backend = "eigen";
  int device = 0, threads = 0;
  std::optional<std::size_t> memory_limit;  ///< MiB
  std::optional<std::size_t> window;        ///< lines that are sorted and translated together
  bool resume = false, flush = false;
  bool replace_unknown = false;
  std::string dictionary;
  std::string summary;  ///< file, or "-" for standard error
  bool quiet = false, verbose = false;
  nlohmann::ordered_json given;  ///< options of the command line that change what is written, by name

  /// More than one translation a line, in Moses' format.
  bool list() const noexcept { return n_best.has_value(); }
};

void declare(CLI::App& app, Options& options);

/// What Options::given holds, from the parsed command line. An option is taken to change what is written
/// unless it is known not to.
nlohmann::ordered_json given_options(const CLI::App& app);

/// The translator's part of the options. Throws Error(usage) for options that do not go together.
TranslatorOptions translator_options(const Options& options);

}  // namespace attn::translate
