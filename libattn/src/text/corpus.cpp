#include "attn/text/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "attn/core/error.h"

namespace attn {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

std::vector<std::string_view> split_columns(std::string_view line) {
  std::vector<std::string_view> columns;
  while (true) {
    const std::size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

void check_columns(std::size_t found, const TsvOptions& options, const LineReader& reader) {
  const std::size_t needed = std::max(options.source_column, options.target_column);
  if (found < needed) {
    fail(ExitCode::input_data,
         "{}:{}: expected at least {} columns separated by TAB, found {}; correct the line, or choose other "
         "columns with data.source_column and data.target_column",
         reader.report().name, reader.line_number(), needed, found);
  }
  if (found > 2 && !options.allow_extra_columns) {
    fail(ExitCode::input_data,
         "{}:{}: expected 2 columns separated by TAB, found {}; set data.allow_extra_columns to true to use "
         "columns {} and {} and ignore the others",
         reader.report().name, reader.line_number(), found, options.source_column, options.target_column);
  }
}

std::size_t count_remaining(LineReader& reader) {
  while (reader.next()) {
  }
  return reader.line_number();
}

}  // namespace

PairReader::PairReader(const std::filesystem::path& path, const TsvOptions& options)
    : options_(options), source_(path), name_(fmt::format("'{}'", source_.report().name)) {
  if (options.source_column == 0 || options.target_column == 0 ||
      options.source_column == options.target_column) {
    fail(ExitCode::config,
         "source_column {} and target_column {} must be two different columns, counted from 1",
         options.source_column, options.target_column);
  }
}

PairReader::PairReader(const std::filesystem::path& source_path, const std::filesystem::path& target_path,
                       std::optional<std::size_t> limit)
    : source_(source_path), target_(target_path) {
  options_.limit = limit;
  name_ = fmt::format("'{}' with '{}'", source_.report().name, target_->report().name);
}

void PairReader::require_pairs() const {
  if (pairs_ > 0) return;
  const std::size_t lines = source_.line_number();
  if (lines == 0) fail(ExitCode::input_data, "{} is empty: it has no sentence pairs", name_);
  fail(ExitCode::input_data, "{} has no sentence pairs: {} blank and {} one-sided line{} in all", name_,
       blank_.count, one_sided_.count, lines == 1 ? "" : "s");
}

bool PairReader::has_text(const SentencePair& pair) {
  const bool source_blank = is_blank(pair.source), target_blank = is_blank(pair.target);
  if (source_blank && target_blank)
    blank_.add(pair.line);
  else if (source_blank || target_blank)
    one_sided_.add(pair.line);
  return !source_blank && !target_blank;
}

std::optional<SentencePair> PairReader::next_of_one_file() {
  const auto line = source_.next();
  if (!line) return std::nullopt;
  SentencePair pair{{}, {}, source_.line_number()};
  if (is_blank(*line)) return pair;
  const auto columns = split_columns(*line);
  check_columns(columns.size(), options_, source_);
  pair.source = columns[options_.source_column - 1];
  pair.target = columns[options_.target_column - 1];
  return pair;
}

std::optional<SentencePair> PairReader::next_of_two_files() {
  auto source = source_.next(), target = target_->next();
  if (!source && !target) return std::nullopt;
  if (!source || !target) {
    fail(ExitCode::input_data,
         "parallel files differ in length: '{}' has {} lines, '{}' has {}; line i of one must "
         "translate line i of the other",
         source_.report().name, count_remaining(source_), target_->report().name, count_remaining(*target_));
  }
  return SentencePair{std::move(*source), std::move(*target), source_.line_number()};
}

std::optional<SentencePair> PairReader::next() {
  const auto repaired_lines = [&] {
    return source_.report().lines_with_replacements +
           (target_ ? target_->report().lines_with_replacements : 0);
  };
  const std::size_t limit = options_.limit.value_or(std::numeric_limits<std::size_t>::max());
  while (source_.line_number() < limit) {
    const std::size_t before = repaired_lines();
    auto pair = target_ ? next_of_two_files() : next_of_one_file();
    if (!pair) break;
    if (!has_text(*pair)) continue;
    ++pairs_;
    repaired_ = repaired_lines() > before;
    return pair;
  }
  require_pairs();
  return std::nullopt;
}

std::vector<TextReport> PairReader::reports() const {
  std::vector<TextReport> reports{source_.report()};
  if (target_) reports.push_back(target_->report());
  return reports;
}

Corpus read_all(PairReader reader) {
  Corpus corpus;
  corpus.name = reader.name();
  while (auto pair = reader.next()) corpus.pairs.push_back(std::move(*pair));
  corpus.blank_lines = reader.blank_lines();
  corpus.one_sided_lines = reader.one_sided_lines();
  corpus.reports = reader.reports();
  return corpus;
}

Corpus read_tsv(const std::filesystem::path& path, const TsvOptions& options) {
  return read_all(PairReader(path, options));
}

Corpus read_parallel(const std::filesystem::path& source_path, const std::filesystem::path& target_path,
                     std::optional<std::size_t> limit) {
  if (source_path == "-" && target_path == "-") {
    fail(ExitCode::usage, "source and target cannot both be read from standard input");
  }
  return read_all(PairReader(source_path, target_path, limit));
}

}  // namespace attn
