#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/cli/messages.h"
#include "attn/evaluation/bootstrap.h"
#include "attn/text/lines.h"
#include "evaluation_options.h"

namespace attn::translate {

/// The scores of one metric.
struct Scores {
  std::string name, signature, details;
  double score = 0.0;
  std::optional<Confidence> confidence;
  std::optional<double> baseline_score;
  std::optional<Confidence> baseline_confidence;
  std::optional<double> p_value;
};

/// References, and perhaps the translations of a baseline, that translations are scored against.
class Evaluation {
 public:
  /// Reads the files. Throws Error(file) where one cannot be read, Error(input_data) where one has another
  /// number of lines than the first reference.
  Evaluation(const EvaluationOptions& options, const cli::Messages& messages);

  /// Throws Error(input_data), with both counts, unless there are as many translations as references.
  void check_count(const std::string& name, std::size_t translations) const;
  /// The report on translations, which messages and the report call `name`: lines of text, or one JSON
  /// object. Throws as check_count.
  std::string report(const std::string& name, std::span<const std::string> translations, bool json) const;
  /// Lines of the files that were not UTF-8.
  std::size_t bad_lines() const noexcept { return bad_lines_; }
  /// Reads a file as the references are read, with a warning where it is not UTF-8.
  std::vector<std::string> read(const std::string& path);

 private:
  Scores scores(const Metric& metric, std::span<const std::string> translations) const;

  const EvaluationOptions& options_;
  const cli::Messages& messages_;
  std::vector<std::vector<std::string>> references_;  ///< [segments][references]
  std::vector<std::string> baseline_;
  std::size_t bad_lines_ = 0;
};

}  // namespace attn::translate
