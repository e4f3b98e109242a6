#pragma once
#include <memory>
#include <optional>
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

/// References, and perhaps the translations of a baseline, that translations are scored against. All texts
/// are read line by line, and only the counts that the scores need are kept: their sums, or those of every
/// segment (some tens of numbers) where bootstrap samples are drawn from them.
class Evaluation {
 public:
  /// Opens the files. Throws Error(file) where one cannot be read, Error(input_data) where one has another
  /// number of lines than the first reference, as far as that can be known beforehand.
  Evaluation(const EvaluationOptions& options, const cli::Messages& messages);

  /// Throws Error(input_data), with both counts, unless there are as many translations as references, as far
  /// as that can be known beforehand.
  void check_count(const std::string& name, std::size_t translations) const;
  /// Takes the translation of the next segment.
  void add(const std::string& translation);
  /// The report on all translations, which it calls `name`: lines of text, or one JSON object; to be asked
  /// for once. Throws Error(input_data), with both counts, where a text has another number of lines than
  /// `source`, from which the translations come.
  std::string report(const std::string& source, const std::string& name, bool json);
  /// Lines of the files that were not UTF-8.
  std::size_t bad_lines() const noexcept { return bad_lines_; }

 private:
  /// The counts of one system for one metric.
  struct Collected {
    std::vector<double> totals;
    SegmentStatistics statistics;  ///< empty unless they are needed
  };
  struct Measure {
    std::unique_ptr<const Metric> metric;
    Collected system, baseline;
  };

  void collect(Collected& collected, const Metric& metric, const std::string& translation,
               const std::vector<std::string>& references) const;
  void check_counts(const std::string& source);
  Scores scores(const Measure& measure) const;

  const EvaluationOptions& options_;
  const cli::Messages& messages_;
  std::vector<Measure> measures_;
  std::vector<std::string> paths_;   ///< the references, then the baseline if there is one
  std::vector<LineReader> readers_;  ///< of these
  std::string counted_path_;         ///< a text whose lines were counted beforehand, or empty
  std::size_t counted_lines_ = 0, translations_ = 0, bad_lines_ = 0;
  bool ended_ = false;  ///< there are more translations than lines of another text
};

}  // namespace attn::translate
