#include <filesystem>
#include <string>

#include "attn/experiment/data.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

using namespace attn;
using test::contains;
using test::error_of;
using test::TemporaryFolder;

namespace {

const LintFinding* find(const LintReport& report, const std::string& check,
                        const std::string& data = "training") {
  for (const LintFinding& finding : report.findings) {
    if (finding.check == check && finding.data == data) return &finding;
  }
  return nullptr;
}

using Lines = std::vector<std::size_t>;

/// Files of pairs with words as tokens.
struct Files {
  TemporaryFolder folder;
  DataConfig config;

  explicit Files(const std::string& train) {
    config.source_tokenizer = config.target_tokenizer = "whitespace";
    config.train.pairs = folder.write("train.tsv", train);
  }
  LintReport lint() const { return prepare_data(config).lint; }
};

// Different pairs without findings.
std::string clean_pairs(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "house " + std::to_string(i) + "\tmaison " + std::to_string(i) + "\n";
  return text;
}

}  // namespace

TEST_CASE("a clean corpus has no findings, and that is said in one line") {
  const LintReport report = Files(clean_pairs(30)).lint();
  CHECK(report.findings.empty());
  CHECK(lint_text(report) == "data: nothing found in 30 training pairs");
}

TEST_CASE("blank and one-sided lines are found with their numbers") {
  const LintReport report = Files("a\tb\n\n \nc\t\n\td\ne\tf\n").lint();
  REQUIRE(find(report, "blank"));
  CHECK(find(report, "blank")->lines == Lines{2, 3});
  CHECK_FALSE(find(report, "blank")->serious);
  REQUIRE(find(report, "one-sided"));
  CHECK(find(report, "one-sided")->lines == Lines{4, 5});
  CHECK(find(report, "one-sided")->of == 6);
  CHECK(find(report, "one-sided")->serious);
}

TEST_CASE("sentences that are cropped, and sides of unlike length, are found") {
  Files files(clean_pairs(2) + "one two three four five\tun\na\t1 2 3 4 5 6 7 8 9\n");
  files.config.max_length = 4;
  const LintReport report = files.lint();
  REQUIRE(find(report, "too-long"));
  CHECK(find(report, "too-long")->lines == Lines{3});
  CHECK(contains(find(report, "too-long")->text, "source of more than data.max_length 4"));
  REQUIRE(find(report, "length-ratio"));
  CHECK(find(report, "length-ratio")->lines == Lines{4});
  files.config.lint_ratio = 5;
  CHECK(find(files.lint(), "length-ratio") == nullptr);
}

TEST_CASE("a text that was damaged before is told from one that is damaged here") {
  const LintReport report = Files("a\tb\nc \xEF\xBF\xBD\td\ne \xFF\tf\ng\x01\th\ni\xC2\x85\tj\n").lint();
  REQUIRE(find(report, "encoding"));
  CHECK(find(report, "encoding")->lines == Lines{3});
  CHECK(find(report, "encoding")->serious);
  REQUIRE(find(report, "replacement-character"));
  CHECK(find(report, "replacement-character")->lines == Lines{2});
  REQUIRE(find(report, "control-characters"));
  CHECK(find(report, "control-characters")->lines == Lines{4, 5});
}

TEST_CASE("letters of any script are no control characters") {
  CHECK(
      find(Files("\xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x98\x80\t\xC3\xA9t\xC3\xA9\xC2\xA0\xE2\x80\x99\n").lint(),
           "control-characters") == nullptr);
}

TEST_CASE("copies, duplicates and sources with several targets are found") {
  const LintReport report =
      Files("go\tva\nsame\tsame\nrun\tcours\ngo\tva \ngo\tvas\nrun\tcours\nrun\tcours\n").lint();
  REQUIRE(find(report, "equal"));
  CHECK(find(report, "equal")->lines == Lines{2});
  REQUIRE(find(report, "duplicate"));
  CHECK(find(report, "duplicate")->lines == Lines{4, 6, 7});
  REQUIRE(find(report, "several-targets"));
  CHECK(find(report, "several-targets")->count == 1);
  CHECK(find(report, "several-targets")->lines == Lines{1});
}

TEST_CASE("held-out pairs that are training pairs are serious, and their sources are found") {
  Files files("a b\tc\nd\te\nf\tg\n");
  files.config.valid.pairs = files.folder.write("valid.tsv", "d\tx\na b\tc\n");
  files.config.test.pairs = files.folder.write("test.tsv", "a\tz\n\n f \tg\n");
  const LintReport report = files.lint();
  REQUIRE(find(report, "overlap", "validation"));
  CHECK(find(report, "overlap", "validation")->lines == Lines{2});
  CHECK(find(report, "overlap", "validation")->serious);
  CHECK(find(report, "overlap-source", "validation")->lines == Lines{1});
  CHECK(find(report, "overlap", "test")->lines == Lines{3});
  CHECK(find(report, "overlap-source", "test") == nullptr);
}

TEST_CASE("unknown tokens are counted on each side, the most frequent ones named") {
  Files files("a a\tb\na c\tb b\nd d d\tb\n");
  files.config.min_frequency = 2;
  files.config.valid.pairs = files.folder.write("valid.tsv", "a x x y\tb z\n");
  const LintReport report = files.lint();
  REQUIRE(find(report, "unknown-source"));
  CHECK(find(report, "unknown-source")->count == 1);
  CHECK(find(report, "unknown-source")->of == 7);
  CHECK(find(report, "unknown-source")->detail == "c 1");
  CHECK(find(report, "unknown-source", "validation")->detail == "x 2, y 1");
  CHECK(find(report, "unknown-target", "validation")->count == 1);
}

TEST_CASE("columns that hold no sentences are suspicious") {
  std::string numbers, language, pairs_on_one_side;
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    numbers += n + "\tword " + n + "\n";
    language += "word " + n + "\tfra\n";
    pairs_on_one_side += "word " + n + "\tmot " + n + "\n";
  }
  REQUIRE(find(Files(numbers).lint(), "columns"));
  CHECK(contains(find(Files(numbers).lint(), "columns")->text, "no letters in the source"));
  REQUIRE(find(Files(language).lint(), "columns"));
  CHECK(contains(find(Files(language).lint(), "columns")->text, "target as in the line before"));
  Files parallel("");
  parallel.config.train = {};
  parallel.config.train.source = parallel.folder.write("source", pairs_on_one_side);
  parallel.config.train.target = parallel.folder.write("target", pairs_on_one_side);
  const LintReport report = parallel.lint();
  REQUIRE(find(report, "tab"));
  CHECK(find(report, "tab")->serious);
  CHECK(find(report, "equal")->serious);
}

TEST_CASE("of many lines the first ten are kept, in order") {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "same\tpair\n";
  const LintReport report = Files(text).lint();
  REQUIRE(find(report, "duplicate"));
  CHECK(find(report, "duplicate")->count == 2999);
  CHECK(find(report, "duplicate")->lines == Lines{2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST_CASE("data.lint says whether findings are looked for, and whether serious ones stop") {
  Files files("a\tb\nc\t\n");
  files.config.lint = DataConfig::Lint::off;
  CHECK(files.lint().findings.empty());
  files.config.lint = DataConfig::Lint::error;
  const auto error = error_of([&] { files.lint(); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), "data.lint: error"));
  CHECK(contains(error->what(), "text on one side only"));
  Files harmless("a\tb\na\tb\n");
  harmless.config.lint = DataConfig::Lint::error;
  CHECK(find(harmless.lint(), "duplicate"));
}

TEST_CASE("findings are an aligned table, and JSON that can be read again") {
  Files files("go\tva\ngo\tva\nrun\t\n");
  files.config.valid.pairs = files.folder.write("valid.tsv", "go\tva\n");
  const LintReport report = files.lint();
  const std::string text = lint_text(report);
  CHECK(contains(text, "data: 3 findings in 2 training and 1 validation pairs; ! is serious\n"));
  CHECK(contains(text, "! training    text on one side only: left out        1   33.3 %  line 3\n"));
  CHECK(contains(text, "  training    pair that stands further up, too       1   50.0 %  line 2\n"));
  CHECK(contains(text, "! validation  pair that is a training pair, too      1  100.0 %  line 1"));
  const LintReport again = lint_from_json(lint_json(report));
  CHECK(lint_text(again) == text);
  CHECK(lint_json(again) == lint_json(report));
  CHECK(error_of([] { lint_from_json("{}"); }));
}
