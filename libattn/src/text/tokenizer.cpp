#include "attn/text/tokenizer.h"

#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "attn/core/error.h"
#include "attn/text/lower_case.h"
#include "attn/text/utf8.h"

namespace attn {
namespace {

constexpr std::array<std::string_view, 3> tokenizer_names = {"word", "whitespace", "character"};

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

}  // namespace

Tokenizer Tokenizer::named(std::string_view name, TokenizerOptions options) {
  for (std::size_t i = 0; i < tokenizer_names.size(); ++i) {
    if (name == tokenizer_names[i]) return {static_cast<Kind>(i), options};
  }
  fail(ExitCode::config, "there is no tokenizer '{}'; choose one of {}", name,
       fmt::join(tokenizer_names, ", "));
}

std::vector<std::string> Tokenizer::names() {
  return {tokenizer_names.begin(), tokenizer_names.end()};
}

std::string_view Tokenizer::name() const noexcept {
  return tokenizer_names[static_cast<std::size_t>(kind_)];
}

std::vector<Token> Tokenizer::tokenize_with_spans(std::string_view text) const {
  switch (kind_) {
    case Kind::word:
      return tokenize_words(text);
    case Kind::whitespace:
      return tokenize_blank_separated(text);
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
  return fmt::format("{}", fmt::join(tokens.begin(), tokens.end(), kind_ == Kind::character ? "" : " "));
}

}  // namespace attn
