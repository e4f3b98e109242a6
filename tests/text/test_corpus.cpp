#include <string>
#include <vector>

#include "attn/text/corpus.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

using namespace attn;
using test::contains;
using test::error_of;
using test::gzip;
using test::TemporaryFolder;

TEST_CASE(
    "a TSV file gives pairs with their line numbers; blank and one-sided lines are skipped and counted") {
  const TemporaryFolder folder;
  const Corpus corpus = read_tsv(folder.write("pairs.tsv", "Go.\tVa !\r\n\n \t \nonly\t\nHi.\tSalut !"));
  REQUIRE(corpus.pairs.size() == 2);
  CHECK(corpus.pairs[0].source == "Go.");
  CHECK(corpus.pairs[0].target == "Va !");
  CHECK(corpus.pairs[0].line == 1);
  CHECK(corpus.pairs[1].line == 5);
  CHECK(corpus.blank_lines.count == 2);
  CHECK(corpus.one_sided_lines.count == 1);
  REQUIRE(corpus.reports.size() == 1);
  CHECK(corpus.reports[0].carriage_returns == 1);
}

TEST_CASE("extra columns are an error with file and line unless allowed") {
  const TemporaryFolder folder;
  const auto path = folder.write("pairs.tsv", "a\tb\nc\td\tby someone\n");
  const auto error = error_of([&] { read_tsv(path); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), path.string() + ":2: "));
  CHECK(contains(error->what(), "found 3"));
  CHECK(contains(error->what(), "allow_extra_columns"));
  CHECK(read_tsv(path, {.allow_extra_columns = true}).pairs.size() == 2);
}

TEST_CASE("a line that lacks a column is an error with file and line") {
  const TemporaryFolder folder;
  const auto path = folder.write("pairs.tsv", "a\tb\nno tab here\n");
  const auto error = error_of([&] { read_tsv(path); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), path.string() + ":2: "));
  CHECK(contains(error->what(), "at least 2 columns"));
  CHECK(contains(error->what(), "found 1"));
  CHECK(error_of([&] { read_tsv(path, {.source_column = 3, .allow_extra_columns = true}); }));
}

TEST_CASE("columns can be chosen and swapped") {
  const TemporaryFolder folder;
  const auto path = folder.write("pairs.tsv", "id\ten\tfr\n");
  const Corpus corpus = read_tsv(path, {.source_column = 3, .target_column = 2, .allow_extra_columns = true});
  REQUIRE(corpus.pairs.size() == 1);
  CHECK(corpus.pairs[0].source == "fr");
  CHECK(corpus.pairs[0].target == "en");
  for (const TsvOptions& impossible : {TsvOptions{.source_column = 0}, TsvOptions{.target_column = 1}}) {
    const auto error = error_of([&] { read_tsv(path, impossible); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::config);
  }
}

TEST_CASE("a limit reads only the first lines, and what follows is not looked at") {
  const TemporaryFolder folder;
  const auto path = folder.write("pairs.tsv", "a\tb\nc\td\nbroken\n");
  CHECK(read_tsv(path, {.limit = 2}).pairs.size() == 2);
  CHECK(read_tsv(path, {.limit = 1}).pairs.size() == 1);
}

TEST_CASE("a corpus without pairs is an error that says what was found") {
  const TemporaryFolder folder;
  const auto empty = error_of([&] { read_tsv(folder.write("empty.tsv", "")); });
  REQUIRE(empty);
  CHECK(empty->code() == ExitCode::input_data);
  CHECK(contains(empty->what(), "empty.tsv' is empty"));
  const auto blank = error_of([&] { read_tsv(folder.write("blank.tsv", "\n\na\t\n")); });
  REQUIRE(blank);
  CHECK(contains(blank->what(), "2 blank and 1 one-sided"));
  const auto parallel = error_of([&] { read_parallel(folder.write("a", ""), folder.write("b", "")); });
  REQUIRE(parallel);
  CHECK(parallel->code() == ExitCode::input_data);
}

TEST_CASE("a corpus of one line is a corpus") {
  const TemporaryFolder folder;
  CHECK(read_tsv(folder.write("one.tsv", "a\tb")).pairs.size() == 1);
}

TEST_CASE("parallel files give line i of both, gzip or not") {
  const TemporaryFolder folder;
  const Corpus corpus = read_parallel(folder.write("a.gz", gzip("one\n\nthree\tx\n") + gzip("four\n")),
                                      folder.write("b", "un\n\ntrois\n\n"));
  REQUIRE(corpus.pairs.size() == 2);
  CHECK(corpus.pairs[1].source == "three\tx");
  CHECK(corpus.pairs[1].target == "trois");
  CHECK(corpus.pairs[1].line == 3);
  CHECK(corpus.blank_lines.count == 1);
  CHECK(corpus.one_sided_lines.count == 1);
  CHECK(corpus.reports.size() == 2);
}

TEST_CASE("parallel files of unequal length are an error with both counts") {
  const TemporaryFolder folder;
  const auto longer = folder.write("long.en", "1\n2\n3\n4\n5");
  const auto shorter = folder.write("short.fr", "1\n2\n");
  for (const bool swapped : {false, true}) {
    const auto error =
        error_of([&] { swapped ? read_parallel(shorter, longer) : read_parallel(longer, shorter); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::input_data);
    CHECK(contains(error->what(), "long.en' has 5"));
    CHECK(contains(error->what(), "short.fr' has 2"));
  }
  CHECK(read_parallel(longer, shorter, 2).pairs.size() == 2);
}

TEST_CASE("NEL and U+2028 do not end a line of a corpus") {
  const TemporaryFolder folder;
  const Corpus corpus = read_tsv(folder.write("pairs.tsv",
                                              "a\xC2\x85"
                                              "b\xE2\x80\xA8\tc\n"));
  REQUIRE(corpus.pairs.size() == 1);
  CHECK(corpus.pairs[0].target == "c");
}

TEST_CASE("a directory or a missing file instead of a corpus is a file error") {
  const TemporaryFolder folder;
  const auto directory = error_of([&] { read_tsv(folder.path()); });
  REQUIRE(directory);
  CHECK(directory->code() == ExitCode::file);
  const auto missing = error_of([&] { read_parallel(folder.path() / "x", folder.path() / "y"); });
  REQUIRE(missing);
  CHECK(missing->code() == ExitCode::file);
}
