#include "attn/decoding/alignment_words.h"
#include "attn/text/text_processing.h"
#include "attn/text/utf8.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;
using Ranges = std::vector<WordRange>;

std::vector<std::string> word_texts(const std::string& text) {
  std::vector<std::string> texts;
  for (const TextSpan& word : words_of(text)) texts.push_back(text.substr(word.begin, word.end - word.begin));
  return texts;
}

Ranges ranges_of(const std::string& text, const std::vector<Token>& tokens) {
  return words_of_tokens(words_of(text), tokens);
}

// A model with byte fallback that has seen few words, so that it must split others.
SentencePieceModel small_model() {
  SentencePieceOptions options;
  options.vocabulary_size = 274;
  options.byte_fallback = true;
  options.character_coverage = 0.98;
  std::vector<std::string> sentences;
  for (int i = 0; i < 20; ++i) {
    sentences.emplace_back("the cat sees the dog");
    sentences.emplace_back("a dog and a cat see");
  }
  return SentencePieceModel::train(sentences, options, "the corpus");
}

}  // namespace

TEST_CASE("words are what lies between white space of any kind and length") {
  using Texts = std::vector<std::string>;
  CHECK(word_texts("  two   words. ") == Texts{"two", "words."});
  CHECK(word_texts("a\u00A0b\tc\u2003d") == Texts{"a", "b", "c", "d"});
  CHECK(word_texts("我不喝茶 好") == Texts{"我不喝茶", "好"});
  CHECK(word_texts(" \u3000 ").empty());
  CHECK(word_texts("").empty());
}

TEST_CASE("each token belongs to the word whose bytes it has") {
  const std::string text = "low  lower.";
  // Pieces that take the space before them along; the space alone belongs to the word after it.
  const std::vector<Token> pieces = {{"\u2581low", 0, 3}, {"\u2581", 3, 4}, {"\u2581", 4, 5},
                                     {"low", 5, 8},       {"er", 8, 10},    {".", 10, 11}};
  CHECK(ranges_of(text, pieces) == Ranges{{0, 1}, {1, 1}, {1, 2}, {1, 2}, {1, 2}, {1, 2}});
  // At the beginning of a text the piece for a space has no bytes.
  CHECK(ranges_of("cat", {{"\u2581", 0, 0}, {"cat", 0, 3}}) == Ranges{{0, 1}, {0, 1}});
  // A token of several words, and one after the last word.
  CHECK(ranges_of("New York !", {{"New York", 0, 8}, {" ", 8, 9}, {"!", 9, 10}, {"", 10, 10}}) ==
        Ranges{{0, 2}, {2, 3}, {2, 3}, {3, 3}});
}

TEST_CASE("a word pair has the sum over its source tokens and the mean over its target tokens") {
  const std::string source = "lower  cat", target = "niedrigere Katze";
  const std::vector<Token> source_tokens = {{"low@@", 0, 3}, {"er", 3, 5}, {"cat", 7, 10}};
  const std::vector<Token> target_tokens = {
      {"nied@@", 0, 4}, {"rig@@", 4, 7}, {"ere", 7, 10}, {"Katze", 11, 16}};
  const AlignmentMatrix tokens{4, 3, {0.5, 0.3, 0.1, 0.2, 0.2, 0.3, 0.1, 0.5, 0.2, 0.1, 0.0, 0.8}};
  const AlignmentMatrix words = word_weights(tokens, {source, source_tokens}, {target, target_tokens});
  REQUIRE(words.targets == 2);
  REQUIRE(words.sources == 2);
  CHECK(words.row(0)[0] == Approx((0.8 + 0.4 + 0.6) / 3));
  CHECK(words.row(0)[1] == Approx((0.1 + 0.3 + 0.2) / 3));
  CHECK(words.row(1)[0] == Approx(0.1));
  CHECK(words.row(1)[1] == Approx(0.8));
}

TEST_CASE("words without tokens have no weight and no link") {
  const std::string source = "a b c", target = "x y z";
  const std::vector<Token> source_tokens = {{"a", 0, 1}, {"b", 2, 3}, {"c", 4, 5}};
  const std::vector<Token> target_tokens = {{"x", 0, 1}, {"y", 2, 3}, {"z", 4, 5}};
  // Cropped to two tokens on both sides.
  const AlignmentMatrix words =
      word_weights({2, 2, {0.9, 0.1, 0.2, 0.7}}, {source, source_tokens}, {target, target_tokens});
  CHECK(words.targets == 3);
  CHECK(words.sources == 3);
  CHECK(hard_links(words) == std::vector<AlignmentLink>{{0, 0}, {1, 1}});
  CHECK(threshold_links(words, 0.0).size() == 9);
  const auto error = error_of([&] {
    word_weights({4, 2, std::vector<double>(8)}, {source, source_tokens}, {target, target_tokens});
  });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::internal);
}

TEST_CASE("weights of a token that covers several words are shared among them") {
  const std::string source = "New York", target = "a b";
  const std::vector<Token> source_tokens = {{"New York", 0, 8}}, target_tokens = {{"a b", 0, 3}};
  const AlignmentMatrix words = word_weights({1, 1, {0.8}}, {source, source_tokens}, {target, target_tokens});
  CHECK(words == AlignmentMatrix{2, 2, {0.4, 0.4, 0.4, 0.4}});
}

TEST_CASE("every tokenizer's tokens cover all words, in texts and in what is put together again") {
  const SentencePieceModel model = small_model();
  const std::vector<Tokenizer> tokenizers = {
      Tokenizer::named("word"),
      Tokenizer::named("whitespace"),
      Tokenizer::named("character"),
      Tokenizer::with_model(model),
      Tokenizer::applying(BpeCodes::from_bytes("#version: 0.2\nt h\nth e</w>\n", "codes")),
  };
  for (const Tokenizer& tokenizer : tokenizers) {
    for (const std::string text : {"the cat sees the dog", "  the   dog.  and ", "我不喝茶 the cat",
                                   "zebra \u20AC!", "the\u00A0cat, a dog", "\U0001F600 cat"}) {
      const auto tokens = tokenizer.tokenize_with_spans(text);
      std::vector<std::string> texts;
      for (const Token& token : tokens) texts.push_back(token.text);
      const JoinedText joined = tokenizer.detokenize_with_spans(texts);
      // Equal weights: the words of a side then have the share of their tokens, and none is left out.
      AlignmentMatrix weights{joined.tokens.size(), tokens.size(), {}};
      weights.weights.assign(weights.targets * weights.sources, 1.0 / static_cast<double>(weights.sources));
      const AlignmentMatrix words = word_weights(weights, {text, tokens}, {joined.text, joined.tokens});
      CAPTURE(tokenizer.name(), text, joined.text);
      CHECK(words.sources == word_texts(text).size());
      CHECK(words.targets == word_texts(joined.text).size());
      CHECK(hard_links(words).size() == words.targets);
      for (std::size_t t = 0; t < words.targets; ++t) {
        double total = 0.0;
        for (const double weight : words.row(t)) {
          CHECK(weight > 0.0);
          total += weight;
        }
        CHECK(total <= 1.0 + 1e-9);
      }
    }
  }
}

TEST_CASE("the byte pieces of a character belong to its word") {
  const SentencePieceModel model = small_model();
  const std::string text = "the \u20AC5 cat";
  const auto tokens = model.encode(text);
  REQUIRE(tokens.size() >= 5);
  std::vector<std::size_t> counts(3);
  for (const WordRange& range : ranges_of(text, tokens)) {
    REQUIRE(range.count() == 1);
    ++counts[range.first];
  }
  CHECK(counts[1] >= 4);  // three bytes of the sign and one of the digit
}
