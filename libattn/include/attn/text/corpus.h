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
  std::size_t blank_lines = 0;      ///< skipped: nothing on either side
  std::size_t one_sided_lines = 0;  ///< skipped: text on one side only
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
