#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Something about a corpus that a person should know.
struct LintFinding {
  std::string data;   ///< training, validation or test
  std::string check;  ///< a name for programs, as "one-sided"
  std::string text;   ///< a few words for people, with what is done about it
  std::size_t count = 0, of = 0;
  std::vector<std::size_t> lines;  ///< the first of them, counted from 1, rising
  std::string detail;              ///< what else is worth seeing, as the most frequent unknown tokens
  bool serious = false;            ///< it probably spoils the training or what is measured
};

/// A corpus that was looked at.
struct LintCorpus {
  std::string data;  ///< training, validation or test
  std::string name;  ///< of its files
  std::size_t pairs = 0;
  std::size_t source_tokens = 0, source_unknown = 0, target_tokens = 0, target_unknown = 0;
};

/// What was found in the data of an experiment before its first step.
struct LintReport {
  std::vector<LintCorpus> corpora;
  std::vector<LintFinding> findings;  ///< by corpus

  bool has_serious() const;
};

/// An aligned table of the findings under a line that sums up; one line when there is nothing to say. Without
/// a line break at the end.
std::string lint_text(const LintReport& report);

/// The report as JSON, without a line break at the end.
std::string lint_json(const LintReport& report, int indent = -1);

/// The inverse of lint_json. Throws Error(input_data) for anything else.
LintReport lint_from_json(std::string_view json);

}  // namespace attn
