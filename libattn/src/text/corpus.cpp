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

void add_pair(Corpus& corpus, std::string source, std::string target, std::size_t line) {
  const bool source_blank = is_blank(source);
  const bool target_blank = is_blank(target);
  if (source_blank && target_blank) {
    ++corpus.blank_lines;
  } else if (source_blank || target_blank) {
    ++corpus.one_sided_lines;
  } else {
    corpus.pairs.push_back({std::move(source), std::move(target), line});
  }
}

void require_pairs(const Corpus& corpus, std::size_t lines) {
  if (!corpus.pairs.empty()) return;
  if (lines == 0) fail(ExitCode::input_data, "{} is empty: it has no sentence pairs", corpus.name);
  fail(ExitCode::input_data, "{} has no sentence pairs: {} blank and {} one-sided line{} in all", corpus.name,
       corpus.blank_lines, corpus.one_sided_lines, lines == 1 ? "" : "s");
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
         "columns "
         "with source_column and target_column",
         reader.report().name, reader.line_number(), needed, found);
  }
  if (found > 2 && !options.allow_extra_columns) {
    fail(ExitCode::input_data,
         "{}:{}: expected 2 columns separated by TAB, found {}; set allow_extra_columns to true to ignore "
         "the others",
         reader.report().name, reader.line_number(), found);
  }
}

std::size_t count_remaining(LineReader& reader) {
  while (reader.next()) {
  }
  return reader.line_number();
}

}  // namespace

Corpus read_tsv(const std::filesystem::path& path, const TsvOptions& options) {
  if (options.source_column == 0 || options.target_column == 0 ||
      options.source_column == options.target_column) {
    fail(ExitCode::config,
         "source_column {} and target_column {} must be two different columns, counted from 1",
         options.source_column, options.target_column);
  }
  const std::size_t limit = options.limit.value_or(std::numeric_limits<std::size_t>::max());
  LineReader reader(path);
  Corpus corpus;
  corpus.name = fmt::format("'{}'", reader.report().name);
  while (reader.line_number() < limit) {
    const auto line = reader.next();
    if (!line) break;
    if (is_blank(*line)) {
      ++corpus.blank_lines;
      continue;
    }
    const auto columns = split_columns(*line);
    check_columns(columns.size(), options, reader);
    add_pair(corpus, std::string(columns[options.source_column - 1]),
             std::string(columns[options.target_column - 1]), reader.line_number());
  }
  require_pairs(corpus, reader.line_number());
  corpus.reports = {reader.report()};
  return corpus;
}

Corpus read_parallel(const std::filesystem::path& source_path, const std::filesystem::path& target_path,
                     std::optional<std::size_t> limit) {
  if (source_path == "-" && target_path == "-") {
    fail(ExitCode::usage, "source and target cannot both be read from standard input");
  }
  LineReader source(source_path);
  LineReader target(target_path);
  Corpus corpus;
  corpus.name = fmt::format("'{}' with '{}'", source.report().name, target.report().name);
  while (source.line_number() < limit.value_or(std::numeric_limits<std::size_t>::max())) {
    auto source_line = source.next();
    auto target_line = target.next();
    if (!source_line && !target_line) break;
    if (!source_line || !target_line) {
      fail(ExitCode::input_data,
           "parallel files differ in length: '{}' has {} lines, '{}' has {}; line i of one must "
           "translate line i of the other",
           source.report().name, count_remaining(source), target.report().name, count_remaining(target));
    }
    add_pair(corpus, std::move(*source_line), std::move(*target_line), source.line_number());
  }
  require_pairs(corpus, source.line_number());
  corpus.reports = {source.report(), target.report()};
  return corpus;
}

}  // namespace attn
