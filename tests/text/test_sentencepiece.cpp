#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "attn/core/error.h"
#include "attn/text/sentencepiece_model.h"
#include "attn/text/shuffle.h"
#include "attn/text/tokenizer.h"
#include "support/catch.h"
#include "support/error_of.h"

using namespace attn;
using namespace std::string_literals;
using test::contains;
using test::error_of;

namespace {

using Strings = std::vector<std::string>;
using Algorithm = SentencePieceOptions::Algorithm;

// The English side of the bundled corpus, or as much of it.
const Strings& sentences() {
  static const Strings lines = [] {
    Strings result;
    std::ifstream file(ATTN_SOURCE_DIR "/datasets/small-world/train.tsv");
    for (std::string line; result.size() < 1000 && std::getline(file, line);)
      result.push_back(line.substr(0, line.find('\t')));
    return result;
  }();
  return lines;
}

SentencePieceModel model_of(SentencePieceOptions options) {
  if (options.vocabulary_size == 8000) options.vocabulary_size = options.byte_fallback ? 360 : 120;
  options.character_coverage = 1.0;
  return SentencePieceModel::train(sentences(), options, "the corpus");
}

Strings texts_of(const std::vector<Token>& tokens) {
  Strings texts;
  for (const Token& token : tokens) texts.push_back(token.text);
  return texts;
}

std::string joined(const Strings& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

std::size_t number_after(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  REQUIRE(at != std::string::npos);
  return std::stoul(text.substr(at + words.size()));
}

}  // namespace

TEST_CASE("a subword vocabulary has the size asked for, special tokens first") {
  for (const Algorithm algorithm : {Algorithm::unigram, Algorithm::bpe}) {
    const SentencePieceModel model = model_of({.algorithm = algorithm});
    const Vocabulary vocabulary = model.vocabulary();
    CHECK(vocabulary.size() == 120);
    CHECK(vocabulary.id("<unk>") == Vocabulary::unk);
    const auto pieces = texts_of(model.encode("She likes the book."));
    CHECK(joined(pieces) == "▁She▁likes▁the▁book.");
    for (const std::string& piece : pieces) CHECK(vocabulary.id(piece) >= Vocabulary::special_count);
  }
}

TEST_CASE("training subwords twice gives the same bytes, and another algorithm others") {
  CHECK(model_of({}).bytes() == model_of({}).bytes());
  CHECK(model_of({}).bytes() != model_of({.algorithm = Algorithm::bpe}).bytes());
}

TEST_CASE("with the identity normaliser and byte fallback every text comes back to the byte") {
  const SentencePieceModel model = model_of({.byte_fallback = true});
  CHECK(model.normalizer() == "identity");
  for (const std::string& text :
       {"She likes  the book. "s, " ﬁ ﬂ \u2028 x\u0001\u0085"s, "a\0b"s, "tab\there"s, "猫☃☃😀"s,
        "e\u0301 \u00e9 \u00a0\u202f"s, "<unk> <s> <0x41> </s>"s, "  "s, ""s}) {
    const auto pieces = texts_of(model.encode(text));
    CHECK(model.decode(pieces).text == text);
    for (const std::string& piece : pieces) CHECK(model.vocabulary().id(piece) != Vocabulary::unk);
  }
}

TEST_CASE("an NFKC normaliser is recorded and changes ligatures") {
  const SentencePieceModel model = model_of({.byte_fallback = true, .normalizer = "nmt_nfkc"});
  CHECK(model.normalizer() == "nmt_nfkc");
  CHECK(model.decode(texts_of(model.encode("ﬁne  day"))).text == "fine day");
  CHECK(Tokenizer::with_model(model).normalizer() == "nmt_nfkc");
}

TEST_CASE("the spans of pieces are bytes of the original text") {
  SECTION("they follow each other without gaps, the space with the piece after it") {
    const SentencePieceModel model = model_of({});
    const std::string text = "The cat sees the ☃ dog";
    std::size_t position = 0;
    for (const Token& token : model.encode(text)) {
      CHECK(token.begin == position);
      position = token.end;
    }
    CHECK(position == text.size());
  }
  SECTION("they point behind a ligature that the normaliser made longer") {
    const SentencePieceModel model = model_of({.byte_fallback = true, .normalizer = "nmt_nfkc"});
    const std::string text = "ﬁ   girl";
    for (const Token& token : model.encode(text)) {
      if (token.text == "▁girl") CHECK(text.substr(token.begin, token.end - token.begin) == "   girl");
    }
    CHECK(model.encode(text).back().end == text.size());
  }
  SECTION("all byte pieces of a character have its bytes") {
    const SentencePieceModel model = model_of({.byte_fallback = true});
    const auto tokens = model.encode("a☃b");
    std::size_t found = 0;
    for (const Token& token : tokens) {
      if (!token.text.starts_with("<0x")) continue;
      CHECK(token.begin == 1);
      CHECK(token.end == 4);
      ++found;
    }
    CHECK(found == 3);
  }
}

TEST_CASE("a text from pieces tells the bytes of each") {
  const SentencePieceModel model = model_of({.byte_fallback = true});
  const Strings pieces{"▁", "T", "▁", "<0xE2>", "<0x98>", "<0x83>", "▁", "s"};
  const JoinedText text = model.decode(pieces);
  CHECK(text.text == "T ☃ s");
  Strings parts;
  for (const Token& token : text.tokens)
    parts.push_back(text.text.substr(token.begin, token.end - token.begin));
  CHECK(parts == Strings{"", "T", " ", "☃", "☃", "☃", " ", "s"});
  CHECK(texts_of(text.tokens) == pieces);
}

TEST_CASE("a text from pieces is one line, whatever bytes a model chose") {
  const SentencePieceModel model = model_of({.byte_fallback = true});
  CHECK(model.decode(Strings{"▁", "s", "<0x0A>", "<0xFF>", "s"}).text == "s \uFFFDs");
}

TEST_CASE("without byte fallback unknown characters are unknown and read <unk> in a translation") {
  const SentencePieceModel model = model_of({});
  const Vocabulary vocabulary = model.vocabulary();
  const auto ids = vocabulary.encode(texts_of(model.encode("The ☃ girl")));
  CHECK(std::count(ids.begin(), ids.end(), Vocabulary::unk) == 1);
  CHECK(model.decode(vocabulary.decode(ids)).text == "The <unk> girl");
}

TEST_CASE("user symbols stay whole, those with commas and quotes among them") {
  const SentencePieceModel model =
      model_of({.byte_fallback = true, .user_symbols = {"<num>", "a,b", "\"q\""}});
  const auto pieces = texts_of(model.encode("x<num>a,b\"q\""));
  for (const char* symbol : {"<num>", "a,b", "\"q\""})
    CHECK(std::find(pieces.begin(), pieces.end(), symbol) != pieces.end());
}

TEST_CASE("a subword vocabulary larger than the text allows is an error with a size that does") {
  for (const Algorithm algorithm : {Algorithm::unigram, Algorithm::bpe}) {
    const auto error = error_of([&] { model_of({.algorithm = algorithm, .vocabulary_size = 9000}); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::config);
    CHECK(contains(error->what(), "a subword vocabulary of 9000 entries is larger than the corpus allows"));
    const std::size_t size = number_after(error->what(), "subwords.vocabulary_size to ");
    CHECK(model_of({.algorithm = algorithm, .vocabulary_size = size}).vocabulary().size() == size);
  }
}

TEST_CASE("a subword vocabulary too small for the characters is an error that says what they need") {
  const auto error = error_of([] { model_of({.vocabulary_size = 20}); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
  CHECK(contains(error->what(), "too small for the characters of the corpus"));
  const std::size_t size = number_after(error->what(), "subwords.vocabulary_size to ");
  CHECK(model_of({.algorithm = Algorithm::bpe, .vocabulary_size = size}).vocabulary().size() == size);
  CHECK_THROWS(model_of({.algorithm = Algorithm::bpe, .vocabulary_size = size - 1}));
}

TEST_CASE("subwords cannot be trained on no text") {
  const auto error = error_of([] { SentencePieceModel::train(Strings{"", ""}, {}, "the corpus"); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), "the corpus has no text"));
}

TEST_CASE("a model survives its bytes, a damaged one is an error that names the file") {
  const SentencePieceModel model = model_of({});
  const std::string& bytes = model.bytes();
  const SentencePieceModel again = SentencePieceModel::from_bytes(bytes, "m.model");
  CHECK(again.vocabulary() == model.vocabulary());
  CHECK(texts_of(again.encode("The girls dance.")) == texts_of(model.encode("The girls dance.")));
  for (const std::string& damaged :
       {""s, "not a model"s, bytes.substr(0, bytes.size() / 2), bytes.substr(7)}) {
    const auto error = error_of([&] { SentencePieceModel::from_bytes(damaged, "m.model"); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::input_data);
    CHECK(contains(error->what(), "m.model is"));
  }
  const auto missing = error_of([] { SentencePieceModel::read("/nowhere/m.model"); });
  REQUIRE(missing);
  CHECK(missing->code() == ExitCode::file);
  CHECK(contains(missing->what(), "/nowhere/m.model"));
}

TEST_CASE("whatever a damaged model holds, it is refused or it works") {
  const std::string bytes = model_of({}).bytes();
  SplitMix64 generator(1);
  std::size_t refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = bytes;
    damaged[generator.below(bytes.size())] = static_cast<char>(generator.below(256));
    try {
      const SentencePieceModel model = SentencePieceModel::from_bytes(damaged, "m.model");
      model.vocabulary();
      model.decode(texts_of(model.encode("The ﬁrst ☃ girl")));
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
  CHECK(refused < 300);
}

TEST_CASE("the sentencepiece tokenizer is restored from its resource") {
  const Tokenizer tokenizer = Tokenizer::with_model(model_of({}));
  const Tokenizer again =
      Tokenizer::restored("sentencepiece", {}, std::string(tokenizer.resource()), "the checkpoint");
  CHECK(again.name() == "sentencepiece");
  const std::string text = "My horse is tired.";
  CHECK(again.tokenize_with_spans(text) == tokenizer.tokenize_with_spans(text));
  CHECK(again.detokenize(again.tokenize(text)) == text);
  const auto error = error_of([] { Tokenizer::named("sentencepiece"); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
  CHECK(contains(error->what(), "needs a model"));
}
