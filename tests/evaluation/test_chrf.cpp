#include <string>
#include <vector>

#include "attn/evaluation/chrf.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/golden_strings.h"

using namespace attn;
using test::contains;
using test::error_of;
using test::GoldenCase;

namespace {

using Strings = std::vector<std::string>;

void check_chrf(const GoldenCase& golden, const Chrf& chrf, const std::string& score,
                const std::string& statistics) {
  INFO(score);
  CHECK(chrf.score == Approx(golden.values(score).at(0)).epsilon(1e-9).margin(1e-300));
  const auto expected = golden.values(statistics);
  REQUIRE(expected.size() == 3 * chrf.statistics.size());
  for (std::size_t n = 0; n < chrf.statistics.size(); ++n) {
    CHECK(static_cast<double>(chrf.statistics[n].hypothesis) == expected[3 * n]);
    CHECK(static_cast<double>(chrf.statistics[n].reference) == expected[3 * n + 1]);
    CHECK(static_cast<double>(chrf.statistics[n].matches) == expected[3 * n + 2]);
  }
}

}  // namespace

TEST_CASE("chrF2 and chrF2++ agree with the reference values of sacrebleu's definition") {
  for (const char* name : {"accents", "hand", "identical", "no_match", "readme", "short", "smoothed"}) {
    INFO(name);
    const GoldenCase golden(std::string("sacrebleu_") + name);
    Strings hypotheses;
    std::vector<Strings> references;
    for (std::size_t i = 0; i < golden.number("num_segments"); ++i) {
      hypotheses.push_back(golden.text("hyp_" + std::to_string(i)));
      references.emplace_back();
      for (std::size_t j = 0; j < golden.number("num_refs"); ++j) {
        references.back().push_back(golden.text("ref_" + std::to_string(i) + "_" + std::to_string(j)));
      }
    }
    check_chrf(golden, chrf(hypotheses, references), "chrf2", "char_stats");
    check_chrf(golden, chrf(hypotheses, references, {.word_order = 2}), "chrf2pp", "char_word_stats");
  }
}

TEST_CASE("chrF counts code points and ignores white space") {
  const Strings hypothesis = {"\xE7\x8C\xAB \xE5\x90\x83\xE9\xB1\xBC"};
  const Strings reference = {"\xE7\x8C\xAB\xE5\x90\x83\xE9\xB1\xBC"};
  const Chrf score = chrf(hypothesis, reference);
  CHECK(score.score == Approx(100.0));
  CHECK(score.statistics[0].hypothesis == 3);
  CHECK(contains(score.signature, "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|impl:attn|"));
}

TEST_CASE("chrF refuses unequal counts and scores empty hypotheses 0") {
  const Strings one = {"a"};
  const Strings two = {"a", "b"};
  CHECK(error_of([&] { chrf(two, one); }));
  const Strings empty = {""};
  CHECK(chrf(empty, one).score == 0.0);
}
