#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attn/text/lines.h"

namespace attn {

/// Two sentences that translate each other, and the line that they came from, counted from 1.
struct SentencePair {
  std::string source;
  std::string target;
  std::size_t line = 0;
};

/// Sentence pairs as read from files.
struct Corpus {
  std::string name;                 ///< the file, or both files, for messages
  std::vector<SentencePair> pairs;  ///< in file order
  LineList blank_lines;             ///< skipped: nothing on either side
  LineList one_sided_lines;         ///< skipped: text on one side only
  std::vector<TextReport> reports;  ///< one for each file read
};

/// How to read a file of TAB-separated columns.
struct TsvOptions {
  std::size_t source_column = 1;                    ///< counted from 1
  std::size_t target_column = 2;                    ///< counted from 1
  bool allow_extra_columns = false;                 ///< whether lines may have columns beyond these two
  std::optional<std::size_t> limit = std::nullopt;  ///< read only the first so many lines (Dive into Deep
                                                    ///< Learning's num_examples = 600 reads 601)
};

/// Reads sentence pairs one after another, so that a corpus need not fit into memory. Skips what read_tsv and
/// read_parallel skip, and throws what they throw: the lack of pairs, and files of different length, when the
/// end is reached.
class PairReader {
 public:
  explicit PairReader(const std::filesystem::path& path, const TsvOptions& options = {});
  PairReader(const std::filesystem::path& source_path, const std::filesystem::path& target_path,
             std::optional<std::size_t> limit = std::nullopt);

  /// The next pair, or nothing at the end.
  std::optional<SentencePair> next();

  /// Whether the line of the last pair held bytes that were not UTF-8.
  bool last_was_repaired() const noexcept { return repaired_; }

  const std::string& name() const noexcept { return name_; }
  const LineList& blank_lines() const noexcept { return blank_; }
  const LineList& one_sided_lines() const noexcept { return one_sided_; }
  std::vector<TextReport> reports() const;

 private:
  std::optional<SentencePair> next_of_one_file();
  std::optional<SentencePair> next_of_two_files();
  bool has_text(const SentencePair& pair);
  void require_pairs() const;

  TsvOptions options_;
  LineReader source_;
  std::optional<LineReader> target_;
  std::string name_;
  LineList blank_, one_sided_;
  std::size_t pairs_ = 0;
  bool repaired_ = false;
};

/// All pairs of a reader.
Corpus read_all(PairReader reader);

/// Reads sentence pairs from one file, gzip or not, "-" for standard input. Lines that are blank, or blank on
/// one side, are skipped and counted. Throws Error: file for what LineReader reports; input_data, with file
/// and line, for a line that lacks a column or has extra ones, and for a corpus without any pair; config for
/// impossible columns.
Corpus read_tsv(const std::filesystem::path& path, const TsvOptions& options = {});

/// Reads line i of both files as a pair. Skips as read_tsv does. Throws Error: file for what LineReader
/// reports; input_data when the files have different numbers of lines (both are named) or there is no pair.
/// `limit` reads only the first so many lines of each.
Corpus read_parallel(const std::filesystem::path& source_path, const std::filesystem::path& target_path,
                     std::optional<std::size_t> limit = std::nullopt);

}  // namespace attn
