#include "attn/text/tokenizer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "attn/core/error.h"
#include "attn/text/lower_case.h"
#include "attn/text/utf8.h"

namespace attn {
namespace {

constexpr std::string_view with_a_model = "sentencepiece";
constexpr std::array<std::string_view, 5> tokenizer_names = {"word", "whitespace", "character", "bpe",
                                                             with_a_model};
constexpr std::string_view part_mark = "@@";  // ends all parts of a word but the last

/// The code points of a text and where each begins.
struct DecodedText {
  std::u32string code_points;
  std::vector<std::size_t> offsets;  ///< one more than code points: the last is the length of the text
};

DecodedText decode_with_offsets(std::string_view text) {
  DecodedText decoded;
  for (std::size_t offset = 0; offset < text.size();) {
    const DecodedCodePoint code_point = decode_code_point(text, offset);
    decoded.code_points.push_back(code_point.value);
    decoded.offsets.push_back(offset);
    offset += code_point.length;
  }
  decoded.offsets.push_back(text.size());
  return decoded;
}

bool is_book_space(char32_t c) {
  return c == ' ' || c == 0xA0 || c == 0x202F;
}

bool is_book_punctuation(char32_t c) {
  return c == ',' || c == '.' || c == '!' || c == '?';
}

bool is_ascii_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::vector<Token> tokenize_words(std::string_view text) {
  const DecodedText decoded = decode_with_offsets(text);
  // Lower-casing looks at neighbours, so it sees the text as the book's does: with the spaces already
  // replaced.
  std::u32string spaced = decoded.code_points;
  for (char32_t& c : spaced) c = is_book_space(c) ? U' ' : c;
  std::vector<Token> tokens;
  bool inside = false;
  for (std::size_t i = 0; i < spaced.size(); ++i) {
    if (spaced[i] == ' ') {
      inside = false;
      continue;
    }
    if (!inside || is_book_punctuation(spaced[i])) tokens.push_back({{}, decoded.offsets[i], 0});
    inside = true;
    append_lower_case(tokens.back().text, spaced, i);
    tokens.back().end = decoded.offsets[i + 1];
  }
  return tokens;
}

std::vector<Token> tokenize_blank_separated(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t begin = 0; begin < text.size();) {
    if (is_ascii_blank(text[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < text.size() && !is_ascii_blank(text[end])) ++end;
    tokens.push_back({repair_utf8(text.substr(begin, end - begin)).text, begin, end});
    begin = end;
  }
  return tokens;
}

std::vector<Token> tokenize_characters(std::string_view text, bool keep_spaces) {
  std::vector<Token> tokens;
  for (std::size_t offset = 0; offset < text.size();) {
    const DecodedCodePoint decoded = decode_code_point(text, offset);
    if (keep_spaces || !is_unicode_space(decoded.value)) {
      Token token{{}, offset, offset + decoded.length};
      append_utf8(token.text, decoded.value);
      tokens.push_back(std::move(token));
    }
    offset += decoded.length;
  }
  return tokens;
}

std::vector<Token> apply_codes(const BpeCodes& codes, std::string_view text) {
  std::vector<Token> parts;
  for (const Token& word : tokenize_blank_separated(text)) {
    for (Token& part : codes.split(text.substr(word.begin, word.end - word.begin))) {
      part.begin += word.begin;
      part.end += word.begin;
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

JoinedText join(std::span<const std::string> tokens, std::string_view separator) {
  JoinedText joined;
  for (const std::string& token : tokens) {
    if (!joined.tokens.empty()) joined.text += separator;
    const std::size_t begin = joined.text.size();
    joined.text += token;
    joined.tokens.push_back({token, begin, joined.text.size()});
  }
  return joined;
}

JoinedText join_parts(std::span<const std::string> tokens) {
  JoinedText joined;
  bool inside_word = true;  // also at the beginning: no space
  for (const std::string& token : tokens) {
    if (!inside_word) joined.text += ' ';
    inside_word = token.ends_with(part_mark);
    const std::size_t begin = joined.text.size();
    joined.text.append(token, 0, token.size() - (inside_word ? part_mark.size() : 0));
    joined.tokens.push_back({token, begin, joined.text.size()});
  }
  return joined;
}

}  // namespace

Tokenizer Tokenizer::named(std::string_view name, TokenizerOptions options) {
  if (name == with_a_model)
    fail(ExitCode::config, "the tokenizer '{}' needs a model of the SentencePiece library", name);
  for (std::size_t i = 0; i < tokenizer_names.size(); ++i) {
    if (name == tokenizer_names[i]) return {static_cast<Kind>(i), options};
  }
  fail(ExitCode::config, "there is no tokenizer '{}'; choose one of {}", name,
       fmt::join(tokenizer_names, ", "));
}

Tokenizer Tokenizer::with_model(SentencePieceModel model) {
  Tokenizer tokenizer(Kind::sentencepiece, {});
  tokenizer.model_ = std::move(model);
  return tokenizer;
}

Tokenizer Tokenizer::applying(BpeCodes codes) {
  Tokenizer tokenizer(Kind::bpe, {});
  tokenizer.codes_ = std::move(codes);
  return tokenizer;
}

Tokenizer Tokenizer::restored(std::string_view name, TokenizerOptions options, std::string resource,
                              const std::string& origin) {
  if (name == with_a_model) return with_model(SentencePieceModel::from_bytes(std::move(resource), origin));
  Tokenizer tokenizer = named(name, options);
  if (!resource.empty() && tokenizer.kind_ == Kind::bpe)
    tokenizer.codes_ = BpeCodes::from_bytes(std::move(resource), origin);
  return tokenizer;
}

std::vector<std::string> Tokenizer::names() {
  std::vector<std::string> names;
  for (const std::string_view name : tokenizer_names) {
    if (name != with_a_model) names.emplace_back(name);
  }
  return names;
}

bool Tokenizer::exists(std::string_view name) {
  return std::find(tokenizer_names.begin(), tokenizer_names.end(), name) != tokenizer_names.end();
}

std::string_view Tokenizer::name() const noexcept {
  return tokenizer_names[static_cast<std::size_t>(kind_)];
}

std::string_view Tokenizer::resource() const noexcept {
  if (model_) return model_->bytes();
  return codes_ ? std::string_view(codes_->bytes()) : std::string_view();
}

std::string_view Tokenizer::normalizer() const noexcept {
  if (model_) return model_->normalizer();
  return kind_ == Kind::word ? "lower-case" : "none";
}

std::vector<Token> Tokenizer::tokenize_with_spans(std::string_view text) const {
  switch (kind_) {
    case Kind::word:
      return tokenize_words(text);
    case Kind::whitespace:
      return tokenize_blank_separated(text);
    case Kind::bpe:
      return codes_ ? apply_codes(*codes_, text) : tokenize_blank_separated(text);
    case Kind::sentencepiece:
      return model_->encode(text);
    case Kind::character:
      break;
  }
  return tokenize_characters(text, options_.keep_spaces);
}

std::vector<std::string> Tokenizer::tokenize(std::string_view text) const {
  std::vector<std::string> texts;
  for (Token& token : tokenize_with_spans(text)) texts.push_back(std::move(token.text));
  return texts;
}

std::string Tokenizer::detokenize(std::span<const std::string> tokens) const {
  return detokenize_with_spans(tokens).text;
}

JoinedText Tokenizer::detokenize_with_spans(std::span<const std::string> tokens) const {
  if (model_) return model_->decode(tokens);
  if (kind_ == Kind::bpe) return join_parts(tokens);
  return join(tokens, kind_ == Kind::character ? "" : " ");
}

}  // namespace attn
