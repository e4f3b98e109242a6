#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "attn/decoding/alignment.h"
#include "attn/evaluation/alignment_error_rate.h"

namespace attn::translate {

/// The part of the command line that is about word alignments.
struct AlignmentCommand {
  std::string kind;    ///< --alignments: hard, soft, threshold, or empty
  std::string output;  ///< --alignments-output
  std::string unit;    ///< --alignment-unit: token, word, or empty
  std::optional<double> threshold;
  std::optional<std::int64_t> layer, head;
  bool shifted = false;
  AlignmentFiles files;  ///< --evaluate-alignments and what belongs to it

  /// Whether translations are to be aligned.
  bool wanted() const noexcept { return !kind.empty() || !output.empty(); }
  /// Whether links stand behind each translation, not in a file of their own.
  bool appended() const noexcept { return wanted() && output.empty(); }
  /// Whether links that exist already are to be scored.
  bool evaluates() const noexcept { return !files.hypothesis.empty(); }
};

void declare(CLI::App& app, AlignmentCommand& command);

/// Throws Error(usage) for options that do not go together.
void check(const AlignmentCommand& command);

/// What translations are to be aligned by; nothing if they are not.
std::optional<AlignmentOptions> alignment_options(const AlignmentCommand& command);

/// The report of --evaluate-alignments: a line of text, or a JSON object. Throws as evaluate_alignments.
std::string alignment_report(const AlignmentFiles& files, bool json);

}  // namespace attn::translate
