#include <string>
#include <vector>

#include "attn/evaluation/bleu.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/golden_strings.h"

using namespace attn;
using test::contains;
using test::error_of;
using test::GoldenCase;

namespace {

using Strings = std::vector<std::string>;

void check_close(double found, double expected) {
  CHECK(found == Approx(expected).epsilon(1e-9).margin(1e-300));
}

void check_corpus_bleu(const GoldenCase& golden, const CorpusBleu& bleu, const std::string& prefix) {
  INFO(prefix);
  const auto first = [&](const char* name) { return golden.values(prefix + name).at(0); };
  check_close(bleu.score, first("score"));
  check_close(bleu.brevity_penalty, first("bp"));
  CHECK(static_cast<double>(bleu.hypothesis_length) == first("sys_len"));
  CHECK(static_cast<double>(bleu.reference_length) == first("ref_len"));
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(static_cast<double>(bleu.counts[i]) == golden.values(prefix + "counts").at(i));
    CHECK(static_cast<double>(bleu.totals[i]) == golden.values(prefix + "totals").at(i));
    check_close(bleu.precisions[i], golden.values(prefix + "precisions").at(i));
  }
}

}  // namespace

TEST_CASE("the book's BLEU agrees with the reference values") {
  const GoldenCase golden("bleu_d2l");
  const auto scores = golden.values("bleu");
  const auto precisions = golden.values("precisions");
  const auto orders = golden.values("k");
  REQUIRE(golden.number("num_pairs") == 15);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::string number = std::to_string(i);
    INFO("pair " << number);
    const BookBleu bleu = book_bleu(golden.text("pred_" + number), golden.text("label_" + number),
                                    static_cast<std::size_t>(orders[i]));
    check_close(bleu.score, scores[i]);
    for (std::size_t n = 0; n < 4; ++n) {
      const double expected = precisions[4 * i + n];
      REQUIRE((expected >= 0) == (n < bleu.precisions.size()));
      if (expected >= 0) check_close(bleu.precisions[n], expected);
    }
  }
}

TEST_CASE("the book's BLEU of an empty prediction is that of one empty token") {
  CHECK(book_bleu("", "va !").score == 0.0);
  CHECK(book_bleu("", "").score == 1.0);
  CHECK(error_of([] { book_bleu("a", "a", 0); }).has_value());
}

TEST_CASE("corpus BLEU agrees with the reference values of sacrebleu's definition") {
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
    check_corpus_bleu(golden, corpus_bleu(hypotheses, references, {.tokenizer = BleuTokenizer::mteval_13a}),
                      "bleu_13a_");
    check_corpus_bleu(golden, corpus_bleu(hypotheses, references, {.tokenizer = BleuTokenizer::none}),
                      "bleu_none_");
  }
}

TEST_CASE("corpus BLEU of sacrebleu's own example is the published one") {
  const Strings hypotheses = {"The dog bit the man.", "It wasn't surprising.",
                              "The man had just bitten him."};
  const std::vector<Strings> references = {{"The dog bit the man.", "The dog had bit the man."},
                                           {"It was not unexpected.", "No one was surprised."},
                                           {"The man bit him first.", "The man had bitten the dog."}};
  CHECK(corpus_bleu(hypotheses, references).score == Approx(48.530827).epsilon(1e-7));
}

TEST_CASE("the signature of corpus BLEU names the settings and this implementation") {
  const Strings hypotheses = {"a b"};
  const std::vector<Strings> two = {{"a b", "a c"}};
  CHECK(contains(corpus_bleu(hypotheses, two).signature,
                 "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|impl:attn|"));
  CHECK(contains(corpus_bleu(hypotheses, hypotheses, {.tokenizer = BleuTokenizer::none}).signature,
                 "nrefs:1|"));
  CHECK(contains(corpus_bleu(hypotheses, hypotheses, {.tokenizer = BleuTokenizer::none}).signature,
                 "|tok:none|"));
  const Strings three = {"a", "b"};
  const std::vector<Strings> varying = {{"a"}, {"b", "c"}};
  CHECK(contains(corpus_bleu(three, varying).signature, "nrefs:var|"));
}

TEST_CASE("the 13a tokenizer separates as mteval does") {
  const auto tokens = [](const char* text) { return bleu_tokens(text, BleuTokenizer::mteval_13a); };
  CHECK(tokens("Hello, world!") == Strings{"Hello", ",", "world", "!"});
  CHECK(tokens("3.5 and 1,000, or 7.") == Strings{"3.5", "and", "1,000", ",", "or", "7", "."});
  CHECK(tokens("1990-95 well-known") == Strings{"1990", "-", "95", "well-known"});
  CHECK(tokens("&quot;A&amp;B&quot; &lt;c&gt;") == Strings{"\"", "A", "&", "B", "\"", "<", "c", ">"});
  CHECK(tokens("it's <skipped>fine") == Strings{"it's", "fine"});
  CHECK(tokens("wait...") == Strings{"wait", ".", ".", "."});
  CHECK(tokens("l'\xC3\xA9t\xC3\xA9.") == Strings{"l'\xC3\xA9t\xC3\xA9", "."});
  CHECK(tokens("a\xC2\xA0"
               "b") == Strings{"a", "b"});
  CHECK(tokens("").empty());
}

TEST_CASE("corpus BLEU refuses unequal counts, nothing at all and segments without reference") {
  const Strings none;
  const Strings one = {"a"};
  const Strings two = {"a", "b"};
  const auto unequal = error_of([&] { corpus_bleu(two, one); });
  REQUIRE(unequal);
  CHECK(unequal->code() == ExitCode::input_data);
  CHECK(contains(unequal->what(), "2 hypotheses"));
  CHECK(contains(unequal->what(), "1 references"));
  CHECK(error_of([&] { corpus_bleu(none, none); }));
  const std::vector<Strings> lacking = {{"a"}, {}};
  const auto error = error_of([&] { corpus_bleu(two, lacking); });
  REQUIRE(error);
  CHECK(contains(error->what(), "segment 2"));
}

TEST_CASE("corpus BLEU of empty hypotheses is 0") {
  const Strings empty = {"", ""};
  const Strings references = {"a b c d", "e"};
  const CorpusBleu bleu = corpus_bleu(empty, references);
  CHECK(bleu.score == 0.0);
  CHECK(bleu.brevity_penalty == 0.0);
  CHECK(bleu.reference_length == 5);
}
