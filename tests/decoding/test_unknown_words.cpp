#include <memory>

#include "attn/decoding/translator.h"
#include "attn/decoding/unknown_words.h"
#include "decoding/models.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace {

using namespace attn;
using namespace attn::test;

constexpr std::int32_t unk = Vocabulary::unk;

// Two target tokens over three source tokens.
AlignmentMatrix some_weights() {
  return {2, 3, {0.1, 0.2, 0.7, 0.5, 0.5, 0.0}};
}

}  // namespace

TEST_CASE("an unknown word is replaced by the source word with the largest weight") {
  const std::string source = "ein Haus  Zürich";
  const auto source_tokens = Tokenizer::named("whitespace").tokenize_with_spans(source);
  std::vector<std::string> tokens = {"<unk>", "<unk>"};
  CHECK(replace_unknown(tokens, std::vector{unk, unk}, some_weights(), source, source_tokens, {}) == 2);
  CHECK(tokens == std::vector<std::string>{"Zürich", "ein"});  // of equal weights the first
  tokens = {"a", "<unk>"};
  CHECK(replace_unknown(tokens, std::vector{7, unk}, some_weights(), source, source_tokens, {}) == 1);
  CHECK(tokens == std::vector<std::string>{"a", "ein"});
}

TEST_CASE("a dictionary translates the source word of an unknown word") {
  const TemporaryFolder folder;
  const auto path = folder.write("words.tsv", "Haus\thouse\tnoun\n\nein\tone\nein\ta\n");
  const WordDictionary dictionary = WordDictionary::read(path);
  CHECK(dictionary.size() == 2);
  CHECK(dictionary.find("Haus") == "house");
  CHECK(dictionary.find("haus") == std::nullopt);
  const std::string source = "ein Haus Zürich";
  std::vector<std::string> tokens = {"<unk>", "<unk>"};
  replace_unknown(tokens, std::vector{unk, unk}, some_weights(), source,
                  Tokenizer::named("whitespace").tokenize_with_spans(source), dictionary);
  CHECK(tokens == std::vector<std::string>{"Zürich", "one"});

  for (const char* line : {"no tab\n", "\tno source\n"}) {
    const auto bad = folder.write("bad.tsv", std::string("a\tb\n") + line);
    const auto error = error_of([&] { WordDictionary::read(bad); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::input_data);
    CHECK(contains(error->what(), "bad.tsv:2:"));
  }
}

TEST_CASE("an unknown word without attention stays") {
  std::vector<std::string> tokens = {"<unk>"};
  CHECK(replace_unknown(tokens, std::vector{unk}, AlignmentMatrix{1, 0, {}}, "", {}, {}) == 0);
  const std::vector<Token> one = {{"x", 0, 1}};
  CHECK(replace_unknown(tokens, std::vector{unk}, AlignmentMatrix{1, 1, {0.0}}, "x", one, {}) == 0);
  CHECK(tokens.front() == "<unk>");
}

TEST_CASE("a piece that begins a word is replaced by one that does") {
  const std::string begin = "\xE2\x96\x81";
  std::vector<std::string> tokens = {begin + "a", "<unk>"};
  const std::vector<Token> source_tokens = {{begin + "Ulm", 0, 3}, {begin + "Bonn", 3, 8}};
  CHECK(replace_unknown(tokens, std::vector{9, unk}, AlignmentMatrix{2, 2, {1.0, 0.0, 0.1, 0.9}}, "Ulm Bonn",
                        source_tokens, {}) == 1);
  CHECK(tokens.back() == begin + "Bonn");
}

TEST_CASE("a translator that replaces unknown words writes words of the line") {
  TextProcessing text;
  const std::vector<std::string> words = {"a", "b", "c", "d", "e"};
  text.source_vocabulary = text.target_vocabulary = Vocabulary::from_tokens(words);
  const ModelConfig config = small_configs()[2];
  const auto model = make_small_model(config, Device::open("reference"));
  favour(*model, unk, 100.0);
  TranslatorOptions options;
  options.search.max_length = 3;
  const std::vector<std::string> lines = {"Zürich", "Q1", ""};
  CHECK(Translator(*model, config, text, options).translate(lines)[0].text() == "<unk> <unk> <unk>");
  options.unknown_words = std::make_shared<const WordDictionary>();
  const auto translations = Translator(*model, config, text, options).translate(lines);
  CHECK(translations[0].text() == "Zürich Zürich Zürich");
  CHECK(translations[1].text() == "Q1 Q1 Q1");
  CHECK(translations[1].best.front().replaced == 3);
  CHECK(translations[2].text().empty());
}
