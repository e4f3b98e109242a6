#include "attn/evaluation/bootstrap.h"
#include "attn/evaluation/ter.h"
#include "support/catch.h"
#include "support/error_of.h"

using namespace attn;
using test::error_of;
using Strings = std::vector<std::string>;

TEST_CASE("TER counts insertions, deletions, substitutions and shifts, each once") {
  CHECK(translation_edits(U"abcd", U"abcd").edits == 0);
  CHECK(translation_edits(U"abd", U"abcd").edits == 1);
  CHECK(translation_edits(U"abxcd", U"abcd").edits == 1);
  CHECK(translation_edits(U"abxd", U"abcd").edits == 1);
  const TranslationEdits shifted = translation_edits(U"efabcd", U"abcdef");
  CHECK(shifted.edits == 1);
  CHECK(shifted.shifts == 1);
}

TEST_CASE("TER shifts at most ten words at once") {
  CHECK(translation_edits(U"klmnopqrstuvwxyzabcdefghij", U"abcdefghijklmnopqrstuvwxyz").edits == 1);
  CHECK(translation_edits(U"lmnopqrstuvwxyzabcdefghijk", U"abcdefghijklmnopqrstuvwxyz").edits == 2);
}

TEST_CASE("TER against an empty reference counts the words and is 100 where there are any") {
  CHECK(translation_edits(U"abc", U"").edits == 3);
  CHECK(translation_edits(U"", U"abc").edits == 3);
  const Strings empty = {""};
  const Strings words = {"a b c"};
  CHECK(ter(words, empty).score == 100.0);
  CHECK(ter(empty, empty).score == 0.0);
  CHECK(ter(empty, words).score == 100.0);
}

TEST_CASE("TER takes the closest reference and the average length of the references") {
  const Strings hypotheses = {"a b c d"};
  const std::vector<Strings> references = {{"a b c", "x y z w v"}};
  const Ter found = ter(hypotheses, references);
  CHECK(found.edits == 1);
  CHECK(found.reference_length == 4.0);
  CHECK(found.score == 25.0);
}

TEST_CASE("a bootstrap refuses one sample, no segments and systems of different length") {
  const auto metric = ter_metric();
  const SegmentStatistics two{2, {1, 4, 2, 4}};
  const SegmentStatistics one{2, {1, 4}};
  const SegmentStatistics none{2, {}};
  CHECK(error_of([&] { confidence_interval(*metric, two, {1, 0}); })->code() == ExitCode::usage);
  CHECK(error_of([&] { confidence_interval(*metric, none); })->code() == ExitCode::input_data);
  CHECK(error_of([&] { paired_bootstrap(*metric, one, two); })->code() == ExitCode::input_data);
}

TEST_CASE("one segment has an interval of no width") {
  const auto metric = ter_metric();
  const Confidence found = confidence_interval(*metric, {2, {1, 4}});
  CHECK(found.mean == 25.0);
  CHECK(found.half_width == 0.0);
}
