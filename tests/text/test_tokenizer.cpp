#include <string>
#include <string_view>
#include <vector>

#include "attn/text/tokenizer.h"
#include "support/catch.h"
#include "support/error_of.h"

using namespace attn;
using test::contains;
using test::error_of;

namespace {

using Strings = std::vector<std::string>;

Strings words(std::string_view text) {
  return Tokenizer::named("word").tokenize(text);
}

constexpr std::string_view no_break_space = "\xC2\xA0";
constexpr std::string_view narrow_no_break_space = "\xE2\x80\xAF";
constexpr std::string_view thin_space = "\xE2\x80\x89";

}  // namespace

TEST_CASE("the word tokenizer lower-cases and separates punctuation as the book does") {
  CHECK(words("Go.") == Strings{"go", "."});
  CHECK(words("Ça alors !") == Strings{"ça", "alors", "!"});
  CHECK(words("J'ai gagné.") == Strings{"j'ai", "gagné", "."});
  CHECK(words("Va, maintenant.") == Strings{"va", ",", "maintenant", "."});
  CHECK(words("Wait... what?!") == Strings{"wait", ".", ".", ".", "what", "?", "!"});
  CHECK(words("a.b 3.5") == Strings{"a", ".b", "3", ".5"});
  CHECK(words("!a") == Strings{"!a"});
  CHECK(words("yes: no; \"maybe\"") == Strings{"yes:", "no;", "\"maybe\""});
}

TEST_CASE("no-break spaces separate words, thin spaces stay inside them") {
  CHECK(words("Va" + std::string(narrow_no_break_space) + "!") == Strings{"va", "!"});
  CHECK(words("Qui" + std::string(no_break_space) + "?") == Strings{"qui", "?"});
  const std::string with_thin_space = "bien" + std::string(thin_space);
  CHECK(words(with_thin_space + "!") == Strings{with_thin_space, "!"});
}

TEST_CASE("the word tokenizer gives no empty tokens") {
  CHECK(words("") == Strings{});
  CHECK(words("   ") == Strings{});
  CHECK(words("  a  b  ") == Strings{"a", "b"});
}

TEST_CASE("NUL, tab and U+2028 are ordinary characters of words") {
  using namespace std::string_literals;
  CHECK(words("a\0B c\td\xE2\x80\xA8"
              "e"s) == Strings{"a\0b"s,
                               "c\td\xE2\x80\xA8"
                               "e"});
}

TEST_CASE("the whitespace tokenizer splits at ASCII blanks and keeps case") {
  const Tokenizer tokenizer = Tokenizer::named("whitespace");
  CHECK(tokenizer.tokenize(" Hello,  World!\t3.5\r") == Strings{"Hello,", "World!", "3.5"});
  std::string joined = "A";
  joined.append(no_break_space).append("B");
  CHECK(tokenizer.tokenize(joined) == Strings{joined});
  CHECK(tokenizer.detokenize(Strings{"Hello,", "World!"}) == "Hello, World!");
}

TEST_CASE("the character tokenizer round-trips Chinese and spaced text") {
  const Tokenizer tokenizer = Tokenizer::named("character");
  CHECK(tokenizer.tokenize("猫吃鱼") == Strings{"猫", "吃", "鱼"});
  for (const char* text : {"猫吃鱼", "你好 世界。", " a  b ", "", "😀é"}) {
    CHECK(tokenizer.detokenize(tokenizer.tokenize(text)) == text);
  }
}

TEST_CASE("the character tokenizer drops spaces when asked") {
  const Tokenizer tokenizer = Tokenizer::named("character", {.keep_spaces = false});
  CHECK(tokenizer.tokenize("猫 吃\xE3\x80\x80鱼") == Strings{"猫", "吃", "鱼"});
}

TEST_CASE("spans point at the bytes that each token came from") {
  const std::string text = "É vu" + std::string(narrow_no_break_space) + "!";
  const std::vector<Token> expected = {{"é", 0, 2}, {"vu", 3, 5}, {"!", 8, 9}};
  CHECK(Tokenizer::named("word").tokenize_with_spans(text) == expected);
  const std::vector<Token> glued = {{"go", 0, 2}, {".", 2, 3}};
  CHECK(Tokenizer::named("word").tokenize_with_spans("Go.") == glued);
  const std::vector<Token> blanks = {{"a", 1, 2}, {"bc", 3, 5}};
  CHECK(Tokenizer::named("whitespace").tokenize_with_spans(" a bc ") == blanks);
  const std::vector<Token> characters = {{"猫", 0, 3}, {"a", 3, 4}};
  CHECK(Tokenizer::named("character").tokenize_with_spans("猫a") == characters);
}

TEST_CASE("every tokenizer turns invalid bytes into replacement characters") {
  for (const std::string& name : Tokenizer::names()) {
    const auto tokens = Tokenizer::named(name).tokenize_with_spans("\xFF");
    REQUIRE(tokens.size() == 1);
    CHECK(tokens[0] == Token{"\xEF\xBF\xBD", 0, 1});
  }
}

TEST_CASE("an unknown tokenizer is an error that lists those that exist") {
  const auto error = error_of([] { Tokenizer::named("words"); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
  CHECK(contains(error->what(), "'words'"));
  CHECK(contains(error->what(), "word, whitespace, character"));
  for (const std::string& name : Tokenizer::names()) CHECK(Tokenizer::named(name).name() == name);
}
