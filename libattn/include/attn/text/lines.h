#pragma once
#include <cstddef>
#include <filesystem>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// In how many lines something was found, and the first of them.
struct LineList {
  static constexpr std::size_t most = 10;  ///< lines that are kept

  std::size_t count = 0;
  std::vector<std::size_t> first;  ///< counted from 1, in the order in which they were added

  void add(std::size_t line) {
    ++count;
    if (first.size() < most) first.push_back(line);
  }
};

/// What a reader met in a text, for the log: nothing in it stops the work.
struct TextReport {
  std::string name;                            ///< file name, or "standard input"
  std::size_t lines = 0;                       ///< lines read so far
  std::size_t replaced = 0;                    ///< places that were not UTF-8 and became U+FFFD
  std::size_t lines_with_replacements = 0;     ///< lines that hold such places
  std::vector<std::size_t> replacement_lines;  ///< the first ten of those lines, counted from 1
  std::size_t carriage_returns = 0;            ///< lines that ended in "\r\n"
  bool byte_order_mark = false;                ///< whether the text began with one

  /// One sentence about invalid UTF-8 with its line numbers, or nothing when the text was clean.
  std::optional<std::string> warning() const;
};

class ByteSource;

/// Reads a text line by line. Only '\n' ends a line; one '\r' before it and a byte-order mark at the start
/// are removed; NUL, NEL and U+2028 are ordinary characters; what is not UTF-8 becomes U+FFFD and is counted.
/// The last line needs no '\n'. Gzip is recognised by its first bytes, whatever the name, and may have
/// several members. A line is handed out as soon as its end has arrived, also from a pipe.
class LineReader {
 public:
  /// Opens `path`; "-" is standard input. Throws Error (file) when it does not exist, is a directory or
  /// cannot be read.
  explicit LineReader(const std::filesystem::path& path);

  /// Reads from `stream`, which must outlive the reader; `name` stands for it in messages.
  LineReader(std::istream& stream, std::string name);

  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  /// The next line, or nothing at the end. Throws Error (file) when reading fails or gzip data is cut or
  /// damaged.
  std::optional<std::string> next();

  /// The number of the line that next() returned last, counted from 1; 0 before the first.
  std::size_t line_number() const noexcept { return report_.lines; }

  /// What has been met so far.
  const TextReport& report() const noexcept { return report_; }

 private:
  bool fill();
  std::string finish_line(std::string line, bool terminated);

  std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  std::size_t position_ = 0;
  bool at_end_ = false;
  TextReport report_;
};

/// All lines of a file, as LineReader reads them.
struct TextLines {
  std::vector<std::string> lines;
  TextReport report;
};

/// Reads the whole of `path` ("-" is standard input). Throws as LineReader does.
TextLines read_lines(const std::filesystem::path& path);

}  // namespace attn
