#pragma once
// Collects findings about a corpus while it is read and encoded.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attn/experiment/experiment_config.h"
#include "attn/experiment/lint.h"
#include "attn/text/corpus.h"
#include "attn/text/text_processing.h"

namespace attn {

/// A pair by hashes of its texts without outer blanks, 16 bytes.
struct PairKey {
  std::uint64_t source = 0;
  std::uint32_t target = 0;
  std::uint32_t line = 0;
};

/// A line list that takes lines in any order and keeps the first.
class FirstLines {
 public:
  void add(std::size_t line);
  std::size_t count() const noexcept { return count_; }
  std::vector<std::size_t> lines() const;

 private:
  std::size_t count_ = 0;
  std::vector<std::size_t> kept_;
};

/// What is found in one corpus. Give it each pair as text, then the reader, then each pair as tokens; then
/// ask for the findings.
class CorpusLint {
 public:
  /// `data` is training, validation or test.
  CorpusLint(std::string data, const DataConfig& config);

  /// A pair as it was read; `repaired`: bytes that were not UTF-8 were replaced in its line.
  void read(const SentencePair& pair, bool repaired);

  /// What the reader skipped and replaced.
  void finished_reading(const PairReader& reader);

  /// So many pairs will be given as tokens.
  void expect(std::size_t pairs) { keys_.reserve(pairs); }

  /// The same pair in tokens before they are cropped, and their ids.
  void tokenised(const SentencePair& pair, std::span<const std::string> source,
                 std::span<const std::string> target, std::span<const std::int32_t> source_ids,
                 std::span<const std::int32_t> target_ids);

  /// A training pair that is left out because one side is too long.
  void skipped(std::size_t line) { skipped_.add(line); }

  /// Adds its findings to a report. `source` and `target` are what was counted in encoding.
  void report(const EncodedSide& source, const EncodedSide& target, LintReport& report);

  /// Adds that pairs and sources of this corpus are among those of the training corpus, after both have
  /// reported.
  void report_overlap(const CorpusLint& training, LintReport& report) const;

 private:
  enum Side { source_side, target_side, sides };
  struct Text {
    std::uint64_t hash = 0;
    bool has_letter = false, has_control = false, has_tab = false, has_replacement = false;
  };
  using Unknown = std::unordered_map<std::string, std::size_t>;

  static Text examine(std::string_view text);
  void report_lines(LintReport& report) const;
  void report_encoding(LintReport& report) const;
  void report_columns(LintReport& report) const;
  void report_lengths(const EncodedSide& source, const EncodedSide& target, LintReport& report) const;
  void report_repetitions(LintReport& report);
  void report_unknown(Side side, const EncodedSide& counts, LintReport& report) const;
  void add(LintReport& report, const char* check, std::string text, const LineList& lines,
           bool serious = false) const;

  std::string data_;
  const DataConfig& config_;
  std::string name_;
  std::vector<PairKey> keys_;
  std::vector<TextReport> files_;
  std::size_t pairs_ = 0, last_source_ = 0, last_target_ = 0;
  LineList blank_, one_sided_, replacement_, control_, tab_, same_, without_tokens_, ratio_, skipped_;
  LineList no_letters_[sides], repeated_[sides];
  Unknown unknown_[sides];
};

}  // namespace attn
