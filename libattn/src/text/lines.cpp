#include "attn/text/lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "attn/text/utf8.h"
#include "text/byte_source.h"

namespace attn {
namespace {

constexpr std::size_t chunk_bytes = 1 << 16;
constexpr std::size_t reported_lines = 10;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

}  // namespace

std::optional<std::string> TextReport::warning() const {
  if (replaced == 0) return std::nullopt;
  const bool more = lines_with_replacements > replacement_lines.size();
  return fmt::format("{}: {} place{} in {} line{} not UTF-8 and became U+FFFD (line{} {}{})", name, replaced,
                     replaced == 1 ? "" : "s", lines_with_replacements,
                     lines_with_replacements == 1 ? " is" : "s are", lines_with_replacements == 1 ? "" : "s",
                     fmt::join(replacement_lines, ", "), more ? ", ..." : "");
}

LineReader::LineReader(const std::filesystem::path& path) {
  report_.name = path == "-" ? "standard input" : path.string();
  source_ = unpack_if_gzip(open_file_source(path, report_.name), report_.name);
}

LineReader::LineReader(std::istream& stream, std::string name) {
  report_.name = std::move(name);
  source_ = unpack_if_gzip(open_stream_source(stream), report_.name);
}

LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

bool LineReader::fill() {
  if (at_end_) return false;
  buffer_.erase(0, position_);
  position_ = 0;
  const std::size_t kept = buffer_.size();
  buffer_.resize(kept + chunk_bytes);
  const std::size_t count = source_->read(std::span<char>(buffer_).subspan(kept));
  buffer_.resize(kept + count);
  at_end_ = count == 0;
  return !at_end_;
}

std::optional<std::string> LineReader::next() {
  std::size_t searched = position_;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(position_, end - position_);
      position_ = end + 1;
      return finish_line(std::move(line), true);
    }
    const std::size_t unfinished = buffer_.size() - position_;
    if (!fill()) break;
    searched = unfinished;
  }
  if (position_ == buffer_.size()) return std::nullopt;
  std::string line = buffer_.substr(position_);
  position_ = buffer_.size();
  // A byte-order mark alone is not a line.
  if (report_.lines == 0 && line == byte_order_mark) {
    report_.byte_order_mark = true;
    return std::nullopt;
  }
  return finish_line(std::move(line), false);
}

std::string LineReader::finish_line(std::string line, bool terminated) {
  ++report_.lines;
  if (report_.lines == 1 && line.starts_with(byte_order_mark)) {
    line.erase(0, byte_order_mark.size());
    report_.byte_order_mark = true;
  }
  if (line.ends_with('\r')) {
    line.pop_back();
    if (terminated) ++report_.carriage_returns;
  }
  if (is_valid_utf8(line)) return line;
  RepairedText repaired = repair_utf8(line);
  report_.replaced += repaired.replaced_count;
  ++report_.lines_with_replacements;
  if (report_.replacement_lines.size() < reported_lines) report_.replacement_lines.push_back(report_.lines);
  return std::move(repaired.text);
}

TextLines read_lines(const std::filesystem::path& path) {
  LineReader reader(path);
  TextLines text;
  while (auto line = reader.next()) text.lines.push_back(std::move(*line));
  text.report = reader.report();
  return text;
}

}  // namespace attn
