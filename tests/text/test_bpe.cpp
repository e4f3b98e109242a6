#include <string>
#include <vector>

#include "attn/text/bpe_codes.h"
#include "attn/text/tokenizer.h"
#include "support/catch.h"
#include "support/error_of.h"

using namespace attn;
using namespace std::string_literals;
using test::contains;
using test::error_of;

namespace {

using Strings = std::vector<std::string>;

Strings split(const std::string& codes, const std::string& word) {
  Strings parts;
  for (const Token& token : BpeCodes::from_bytes(codes, "codes").split(word)) parts.push_back(token.text);
  return parts;
}

}  // namespace

TEST_CASE("merges apply best first, and the end of a word counts") {
  const std::string codes = "#version: 0.2\nl o\nlo w</w>\ne r</w>\nlo w\n";
  CHECK(split(codes, "low") == Strings{"low"});
  CHECK(split(codes, "lower") == Strings{"low@@", "er"});
  CHECK(split(codes, "slow") == Strings{"s@@", "low"});
  CHECK(split(codes, "xé猫") == Strings{"x@@", "é@@", "猫"});
  CHECK(split(codes, "a") == Strings{"a"});
}

TEST_CASE("overlapping pairs merge from the left") {
  CHECK(split("#version: 0.2\nx x\n", "xxxy") == Strings{"xx@@", "x@@", "y"});
  CHECK(split("#version: 0.2\nx x\n", "xxx") == Strings{"xx@@", "x"});
}

TEST_CASE("codes without a version have the end of a word as a symbol of its own") {
  CHECK(split("l o\nlo w\nlow </w>\n", "low") == Strings{"low"});
  CHECK(split("w </w>\nl o\n", "low") == Strings{"lo@@", "w"});
  CHECK(split("#version: 0.1\nl o\n", "low") == Strings{"lo@@", "w"});
  CHECK(split("l o\n", "l") == Strings{"l"});
}

TEST_CASE("of a pair that stands twice, the first counts") {
  CHECK(split("#version: 0.2\na b\nb c</w>\na b\n", "abc") == Strings{"ab@@", "c"});
}

TEST_CASE("codes that are none are an error with the line") {
  for (const auto& [codes, words] : {std::pair{"#version: 0.3\na b\n"s, "codes:1: version '0.3'"s},
                                     {"#version: 0.2\na b\nabc\n"s, "codes:3"s},
                                     {"a b c\n"s, "codes:1"s},
                                     {"a b\n\nc d\n"s, "codes:2"s},
                                     {"#version: 0.2\n"s, "no merges"s}}) {
    const auto error = error_of([&, text = codes] { BpeCodes::from_bytes(text, "codes"); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::input_data);
    CHECK(contains(error->what(), words));
  }
  const auto missing = error_of([] { BpeCodes::read("/nowhere/codes"); });
  REQUIRE(missing);
  CHECK(missing->code() == ExitCode::file);
}

TEST_CASE("the bpe tokenizer takes split text and joins it again") {
  const Tokenizer tokenizer = Tokenizer::named("bpe");
  const std::string text = "the low@@ est pri@@ c@@ es";
  CHECK(tokenizer.tokenize(text) == Strings{"the", "low@@", "est", "pri@@", "c@@", "es"});
  CHECK(tokenizer.detokenize(tokenizer.tokenize(text)) == "the lowest prices");
  CHECK(tokenizer.detokenize(Strings{"low@@"}) == "low");
  CHECK(tokenizer.detokenize(Strings{}).empty());
  const std::vector<Token> expected = {{"the", 0, 3}, {"low@@", 4, 7}, {"est", 7, 10}};
  CHECK(tokenizer.detokenize_with_spans(Strings{"the", "low@@", "est"}).tokens == expected);
}

TEST_CASE("the bpe tokenizer with codes splits plain text, with spans, and is restored from its resource") {
  const std::string codes = "#version: 0.2\nl o\nlo w</w>\ne r</w>\nlo w\n";
  const Tokenizer tokenizer = Tokenizer::applying(BpeCodes::from_bytes(codes, "codes"));
  const std::vector<Token> expected = {{"low", 1, 4}, {"low@@", 6, 9}, {"er", 9, 11}};
  CHECK(tokenizer.tokenize_with_spans(" low  lower") == expected);
  CHECK(tokenizer.detokenize(tokenizer.tokenize(" low  lower")) == "low lower");
  CHECK(tokenizer.resource() == codes);
  const Tokenizer again = Tokenizer::restored("bpe", {}, codes, "the checkpoint");
  CHECK(again.tokenize_with_spans(" low  lower") == expected);
}
