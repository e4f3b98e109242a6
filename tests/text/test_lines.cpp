#include <unistd.h>

#include <array>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "attn/text/lines.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

using namespace attn;
using namespace std::string_literals;
using test::contains;
using test::error_of;
using test::gzip;
using test::TemporaryFolder;

namespace {

using Strings = std::vector<std::string>;

TextLines lines_of(std::string_view bytes) {
  const TemporaryFolder folder;
  return read_lines(folder.write("text.txt", bytes));
}

/// Standard input read from a pipe while this object lives.
class PipedStandardInput {
 public:
  PipedStandardInput() : saved_(dup(STDIN_FILENO)) {
    if (pipe(ends_.data()) != 0) throw std::runtime_error("cannot make a pipe");
    dup2(ends_[0], STDIN_FILENO);
  }
  PipedStandardInput(const PipedStandardInput&) = delete;
  PipedStandardInput& operator=(const PipedStandardInput&) = delete;
  ~PipedStandardInput() {
    dup2(saved_, STDIN_FILENO);
    close(saved_);
    close(ends_[0]);
    finish();
  }
  void write(std::string_view bytes) const {
    if (::write(ends_[1], bytes.data(), bytes.size()) < 0)
      throw std::runtime_error("cannot write to the pipe");
  }
  void finish() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int saved_;
  std::array<int, 2> ends_ = {-1, -1};
};

}  // namespace

TEST_CASE("only a line feed ends a line, and the last line needs none") {
  CHECK(lines_of("a\nb\n").lines == Strings{"a", "b"});
  CHECK(lines_of("a\n\nb").lines == Strings{"a", "", "b"});
  CHECK(lines_of("").lines.empty());
  CHECK(lines_of("\n").lines == Strings{""});
  CHECK(lines_of("a\rb\vc\fd\n").lines == Strings{"a\rb\vc\fd"});
}

TEST_CASE("one carriage return before the line feed is removed") {
  const TextLines text = lines_of("a\r\nb\r\r\n\r\nlast\r");
  CHECK(text.lines == Strings{"a", "b\r", "", "last"});
  CHECK(text.report.carriage_returns == 3);
}

TEST_CASE("a byte-order mark is removed at the start only") {
  const TextLines text = lines_of("\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n");
  CHECK(text.lines == Strings{"one", "\xEF\xBB\xBFtwo"});
  CHECK(text.report.byte_order_mark);
  CHECK(lines_of("\xEF\xBB\xBF").lines.empty());
  CHECK(lines_of("\xEF\xBB\xBF\n").lines == Strings{""});
}

TEST_CASE("NUL, NEL and U+2028 are ordinary characters") {
  const std::string line = "a\0b\xC2\x85"s + "c\xE2\x80\xA8" + "d\xE2\x80\xA9" + "e\x1C" + "f";
  const TextLines text = lines_of(line + "\n");
  CHECK(text.lines == Strings{line});
  CHECK(text.report.replaced == 0);
}

TEST_CASE("invalid UTF-8 is replaced and counted with its line numbers") {
  std::string bytes = "good\n";
  for (int i = 0; i < 12; ++i) bytes += "bad \xFF\xFE\n";
  const TextLines text = lines_of(bytes);
  CHECK(text.lines[1] == "bad \xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(text.report.replaced == 24);
  CHECK(text.report.lines_with_replacements == 12);
  CHECK(text.report.replacement_lines == std::vector<std::size_t>{2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  REQUIRE(text.report.warning());
  CHECK(contains(*text.report.warning(), "24 places in 12 lines"));
  CHECK(contains(*text.report.warning(), "lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ..."));
  CHECK_FALSE(lines_of("good\n").report.warning());
}

TEST_CASE("lines longer than any buffer come whole") {
  const std::string first(300'000, 'x');
  const std::string second(65'536, 'y');
  CHECK(lines_of(first + "\n" + second + "\nz").lines == Strings{first, second, "z"});
}

TEST_CASE("gzip is recognised by its first bytes whatever the name") {
  const TemporaryFolder folder;
  CHECK(read_lines(folder.write("text.txt", gzip("a\nb\n"))).lines == Strings{"a", "b"});
  CHECK(read_lines(folder.write("plain.gz", "a\nb\n")).lines == Strings{"a", "b"});
  CHECK(read_lines(folder.write("short.gz", "\x1F")).lines == Strings{"\x1F"});
}

TEST_CASE("gzip members that follow each other are one stream") {
  const TemporaryFolder folder;
  const std::string members = gzip("a\nb") + gzip("") + gzip("c\nd\n");
  CHECK(read_lines(folder.write("text.gz", members)).lines == Strings{"a", "bc", "d"});
  CHECK(read_lines(folder.write("padded.gz", members + "\0\0\0"s)).lines == Strings{"a", "bc", "d"});
}

TEST_CASE("gzip data larger than the buffers comes whole") {
  const TemporaryFolder folder;
  Strings expected;
  std::string text;
  for (int i = 0; i < 100'000; ++i) expected.push_back("line " + std::to_string(i * 7919 % 100'003));
  for (const auto& line : expected) text += line + "\n";
  CHECK(read_lines(folder.write("text.gz", gzip(text))).lines == expected);
}

TEST_CASE("a truncated gzip file is an error that names the file, wherever it is cut") {
  const TemporaryFolder folder;
  const std::string whole = gzip("some text that is long enough\nto be cut\n");
  for (std::size_t length = 2; length < whole.size(); ++length) {
    const auto path = folder.write("cut.gz", whole.substr(0, length));
    const auto error = error_of([&] { read_lines(path); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::file);
    CHECK(contains(error->what(), path.string()));
    CHECK(contains(error->what(), "cut off"));
  }
}

TEST_CASE("a damaged gzip file is an error that names the file") {
  const TemporaryFolder folder;
  std::string damaged = gzip("some text\n");
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);
  for (const std::string& bytes : {damaged, gzip("a\n") + "garbage", "\x1F\x8B garbage"s}) {
    const auto path = folder.write("damaged.gz", bytes);
    const auto error = error_of([&] { read_lines(path); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::file);
    CHECK(contains(error->what(), path.string()));
  }
}

TEST_CASE("a missing file and a directory are errors that say so") {
  const TemporaryFolder folder;
  const auto missing = error_of([&] { LineReader reader(folder.path() / "none.txt"); });
  REQUIRE(missing);
  CHECK(missing->code() == ExitCode::file);
  CHECK(contains(missing->what(), "none.txt"));
  CHECK(contains(missing->what(), "no such file"));
  const auto directory = error_of([&] { LineReader reader(folder.path()); });
  REQUIRE(directory);
  CHECK(directory->code() == ExitCode::file);
  CHECK(contains(directory->what(), folder.path().string()));
  CHECK(contains(directory->what(), "directory"));
}

TEST_CASE("standard input from a pipe gives each line as soon as it has arrived") {
  PipedStandardInput input;
  input.write("first\nsec");
  LineReader reader("-");
  CHECK(reader.next() == "first");
  CHECK(reader.line_number() == 1);
  CHECK(reader.report().name == "standard input");
  input.write("ond\n\nlast");
  CHECK(reader.next() == "second");
  CHECK(reader.next() == "");
  input.finish();
  CHECK(reader.next() == "last");
  CHECK(reader.next() == std::nullopt);
  CHECK(reader.next() == std::nullopt);
}

TEST_CASE("a stream is read like a file, gzip too") {
  std::istringstream plain("a\r\nb");
  LineReader reader(plain, "a stream");
  CHECK(reader.next() == "a");
  CHECK(reader.next() == "b");
  CHECK(reader.next() == std::nullopt);
  std::istringstream packed(gzip("a\nb\n"));
  LineReader unpacking(packed, "a packed stream");
  CHECK(unpacking.next() == "a");
  CHECK(unpacking.next() == "b");
  CHECK(unpacking.next() == std::nullopt);
}
