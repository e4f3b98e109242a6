#include <cstdint>
#include <string>
#include <vector>

#include "attn/text/vocabulary.h"
#include "support/catch.h"
#include "support/error_of.h"

using namespace attn;
using namespace std::string_literals;
using test::contains;
using test::error_of;

namespace {

using Strings = std::vector<std::string>;
using Ids = std::vector<std::int32_t>;

Strings ordinary(const Vocabulary& vocabulary) {
  return {vocabulary.ordinary_tokens().begin(), vocabulary.ordinary_tokens().end()};
}

}  // namespace

TEST_CASE("a vocabulary has the special tokens first, then falling frequency, ties by first appearance") {
  const std::vector<Strings> sentences = {{"b", "a", "c"}, {"c", "a"}, {"d", "c"}};
  const Vocabulary vocabulary = Vocabulary::build(sentences);
  CHECK(ordinary(vocabulary) == Strings{"c", "a", "b", "d"});
  CHECK(vocabulary.size() == 8);
  CHECK(vocabulary.token(0) == "<unk>");
  CHECK(vocabulary.token(1) == "<pad>");
  CHECK(vocabulary.token(2) == "<bos>");
  CHECK(vocabulary.token(3) == "<eos>");
  CHECK(vocabulary.id("c") == 4);
  CHECK(vocabulary.id("nothing") == Vocabulary::unk);
  CHECK(vocabulary.encode(Strings{"a", "z", "d"}) == Ids{5, 0, 7});
}

TEST_CASE("rare tokens are left out, and the size can be bounded") {
  const std::vector<Strings> sentences = {{"b", "a", "c", "c", "a", "d"}};
  CHECK(ordinary(Vocabulary::build(sentences, 2)) == Strings{"a", "c"});
  CHECK(ordinary(Vocabulary::build(sentences, 1, 7)) == Strings{"a", "c", "b"});
  const auto error = error_of([&] { Vocabulary::build(sentences, 1, 4); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
}

TEST_CASE("a literal special name in text is ordinary text") {
  const std::vector<Strings> sentences = {{"<eos>", "</s>", "<eos>", "<pad>"}};
  const Vocabulary vocabulary = Vocabulary::build(sentences, 2);
  CHECK(vocabulary.id("<eos>") == 4);
  CHECK(vocabulary.id("</s>") == Vocabulary::unk);
  CHECK(vocabulary.id("<pad>") == Vocabulary::unk);
  CHECK(vocabulary.id("<bos>") == Vocabulary::unk);
  CHECK(vocabulary.decode(Ids{4, 3, 4}) == Strings{"<eos>"});
}

TEST_CASE("decoding ends at the first end-of-sentence and leaves out padding") {
  const Vocabulary vocabulary = Vocabulary::from_tokens(Strings{"a", "b"});
  CHECK(vocabulary.decode(Ids{2, 4, 0, 1, 5, 3, 4}) == Strings{"a", "<unk>", "b"});
  const auto error = error_of([&] { vocabulary.token(6); });
  REQUIRE(error);
  CHECK(contains(error->what(), "6 entries"));
  CHECK(error_of([&] { vocabulary.token(-1); }));
}

TEST_CASE("coverage counts unknown tokens, and a vocabulary that covers nothing is refused") {
  const std::vector<Strings> sentences = {{"a", "b"}, {"c"}};
  const Vocabulary some = Vocabulary::from_tokens(Strings{"a"});
  CHECK(some.coverage(sentences).tokens == 3);
  CHECK(some.coverage(sentences).unknown == 2);
  CHECK(some.coverage(sentences).known_fraction() == Approx(1.0 / 3.0));
  CHECK_FALSE(error_of([&] { require_coverage(some, sentences, "the source side", 1); }));

  const Vocabulary none = Vocabulary::build(sentences, 2);
  CHECK(none.size() == 4);
  const auto error = error_of([&] { require_coverage(none, sentences, "the source side", 2); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), "none of the 3 tokens of the source side"));
  CHECK(contains(error->what(), "minimum frequency 2"));
}

TEST_CASE("a vocabulary survives being written, whatever its tokens contain") {
  const Strings tokens = {"a", "\n", "\\", "x\0y"s, "\t", "\\x41", "é", "\x7F", "<eos>"};
  const Vocabulary vocabulary = Vocabulary::from_tokens(tokens);
  const Strings escaped = vocabulary.to_escaped_tokens();
  for (const std::string& token : escaped) {
    CHECK(token.find_first_of("\n\r\t\0"s) == std::string::npos);
  }
  const Vocabulary restored = Vocabulary::from_escaped_tokens(escaped);
  CHECK(restored == vocabulary);
  CHECK(restored.fingerprint() == vocabulary.fingerprint());
  CHECK(ordinary(restored) == tokens);
}

TEST_CASE("malformed, repeated and empty entries are refused") {
  for (const std::string& bad : {"a\\"s, "\\y41"s, "\\x4"s, "\\x4g"s, "\\x"s, ""s}) {
    const auto error = error_of([&] { Vocabulary::from_escaped_tokens(Strings{bad}); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::input_data);
  }
  const auto repeated = error_of([] { Vocabulary::from_tokens(Strings{"a", "b", "a"}); });
  REQUIRE(repeated);
  CHECK(contains(repeated->what(), "entry 6 repeats 'a', which is entry 4"));
}

TEST_CASE("fingerprints tell vocabularies apart") {
  const auto print = [](const Strings& tokens) { return Vocabulary::from_tokens(tokens).fingerprint(); };
  CHECK(print({"a", "b"}).size() == 64);
  CHECK(print({"a", "b"}) != print({"b", "a"}));
  CHECK(print({"ab"}) != print({"a", "b"}));
  CHECK(print({}) == Vocabulary().fingerprint());
}
