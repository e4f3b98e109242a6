#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "attn/evaluation/alignment_error_rate.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;
using Links = std::set<WordLinks::Link>;

const AlignmentFormat reference_format{0, true};

// Files in a folder of their own, gone at the end.
class Folder {
 public:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("attn-alignments-" + std::to_string(::getpid()));
};

std::string message_of(const AlignmentFiles& files) {
  const auto error = error_of([&] { evaluate_alignments(files); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  return error->what();
}

}  // namespace

TEST_CASE("sure and possible links of a line are told apart by their mark") {
  const WordLinks links = parse_links(" 0-0 3p1\t2?2  12-10 3p1 2-2", "ref:1", reference_format);
  CHECK(links.sure == Links{{0, 0}, {12, 10}, {2, 2}});
  CHECK(links.possible == Links{{0, 0}, {3, 1}, {2, 2}, {12, 10}});
  CHECK(parse_links("", "ref:1", reference_format) == WordLinks{});
  CHECK(parse_links("1-2 1p1", "ref:1", {1, true}).possible == Links{{0, 1}, {0, 0}});
}

TEST_CASE("what is no link is an error that names file, line and text") {
  for (const char* text : {"1", "1-", "-1", "a-b", "1-2-3", "1--2", "1:2", "-1-2", "1-2:0.5", "1x2",
                           "99999999999-1", "1.5-2", "+1-2", "0x1-2", "p"}) {
    const auto error = error_of([&] { parse_links(std::string("0-0 ") + text, "f:7", reference_format); });
    CAPTURE(text);
    REQUIRE(error);
    CHECK(error->code() == ExitCode::input_data);
    CHECK(contains(error->what(), "f:7: '" + std::string(text) + "' is no link"));
  }
  CHECK(error_of([] { parse_links("1p2", "f:1", {0, false}); }));
  const auto zero = error_of([] { parse_links("0-1", "f:1", {1, true}); });
  REQUIRE(zero);
  CHECK(contains(zero->what(), "counted from 1"));
}

TEST_CASE("alignment error rate, precision and recall are Och and Ney's") {
  // By hand: A = 4 links, S = 3, P = 5; A and S = 2, A and P = 3.
  const WordLinks hypothesis = parse_links("0-0 1-1 2-3 4-4", "h", {0, false});
  const WordLinks reference = parse_links("0-0 1-1 3-3 2p3 2p2", "r", reference_format);
  const AlignmentCounts counts = compare_links(hypothesis, reference);
  CHECK(counts.links == 4);
  CHECK(counts.sure == 3);
  CHECK(counts.possible == 5);
  CHECK(counts.links_in_sure == 2);
  CHECK(counts.links_in_possible == 3);
  CHECK(counts.precision() == Approx(3.0 / 4));
  CHECK(counts.recall() == Approx(2.0 / 3));
  CHECK(counts.error_rate() == Approx(1.0 - 5.0 / 7));
}

TEST_CASE("alignment error rates of perfect, empty and wrong links") {
  const WordLinks some = parse_links("0-0 1-1", "h", {0, false});
  const WordLinks others = parse_links("0-1", "h", {0, false});
  CHECK(compare_links(some, some).error_rate() == 0.0);
  CHECK(compare_links({}, {}).error_rate() == 0.0);
  const AlignmentCounts none = compare_links({}, some);
  CHECK(none.error_rate() == 1.0);
  CHECK(none.precision() == 1.0);
  CHECK(none.recall() == 0.0);
  const AlignmentCounts wrong = compare_links(others, some);
  CHECK(wrong.error_rate() == 1.0);
  CHECK(wrong.precision() == 0.0);
}

TEST_CASE("files of links are compared line by line and summed up") {
  const Folder folder;
  AlignmentFiles files{folder.write("hyp", "0-0 1-1 2-3 4-4\n\n0-0\n"),
                       folder.write("ref", "0-0 1-1 3-3 2p3 2p2\n\n0-0 1-1"), "", "", 0};
  const AlignmentEvaluation evaluation = evaluate_alignments(files);
  CHECK(evaluation.sentences == 3);
  // By hand: A = 5, S = 5, A and S = 3, A and P = 4.
  CHECK(evaluation.counts.precision() == Approx(4.0 / 5));
  CHECK(evaluation.counts.recall() == Approx(3.0 / 5));
  CHECK(evaluation.counts.error_rate() == Approx(1.0 - 7.0 / 10));
  files.reference = folder.write("ref1", "1-1 2-2 4-4 3p4 3p3\n\n1-1 2-2");
  files.reference_first = 1;
  CHECK(evaluate_alignments(files).counts.error_rate() == Approx(1.0 - 7.0 / 10));
}

TEST_CASE("errors in files of links name the file and the line") {
  const Folder folder;
  AlignmentFiles files{folder.write("hyp", "0-0\n1-1 x\n"), folder.write("ref", "0-0\n1-1\n"), "", "", 0};
  CHECK(contains(message_of(files), files.hypothesis + ":2: 'x' is no link"));
  files.hypothesis = folder.write("short", "0-0\n");
  const std::string counts = message_of(files);
  CHECK(contains(counts, "short has 1 lines"));
  CHECK(contains(counts, "ref has 2;"));
  files.hypothesis = folder.write("good", "0-0\n2-1\n");
  CHECK(evaluate_alignments(files).sentences == 2);
  files.source = folder.write("source", "a b\na  b \n");
  CHECK(contains(message_of(files), files.hypothesis + ":2: the link '2-1' names word 2 of a source"));
  files.source = folder.write("source", "a b\na b c\n");
  files.target = folder.write("target", "a\n\n");
  CHECK(contains(message_of(files), "target sentence without words"));
  files.target = folder.write("target", "a\n");
  CHECK(contains(message_of(files), "target has 1 lines"));
  files.target.clear();
  files.source = folder.write("none", "");
  CHECK(contains(message_of(files), "none has 0 lines"));
  const auto missing = error_of([&] { evaluate_alignments({"nowhere", files.reference, "", "", 0}); });
  REQUIRE(missing);
  CHECK(missing->code() == ExitCode::file);
}
