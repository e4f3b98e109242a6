#include "words.h"

#include <algorithm>

#include "attn/text/utf8.h"

namespace attn::dump {
namespace {

using Token = AttentionArchive::Token;

bool between(char32_t code_point, char32_t first, char32_t last) {
  return code_point >= first && code_point <= last;
}

bool is_punctuation(char32_t code_point) {
  if (code_point < 0x80) {
    return !between(code_point, '0', '9') && !between(code_point, 'A', 'Z') && !between(code_point, 'a', 'z');
  }
  return between(code_point, 0xA1, 0xBF) || between(code_point, 0x2010, 0x206F) ||
         between(code_point, 0xFF01, 0xFF0F) || between(code_point, 0xFF1A, 0xFF20);
}

/// Han, kana, and their punctuation: scripts that are written without spaces between words.
bool is_without_spaces(char32_t code_point) {
  return between(code_point, 0x2E80, 0x30FF) || between(code_point, 0x3400, 0x9FFF) ||
         between(code_point, 0xF900, 0xFAFF) || between(code_point, 0x20000, 0x3FFFF);
}

bool joins(char32_t code_point) {
  return !is_punctuation(code_point) && !is_without_spaces(code_point);
}

/// Whether no white space begins the second token, ends the first, or lies between them.
bool same_word(const Token& first, const Token& second, std::string_view text) {
  if (!first.has_span() || !second.has_span()) return false;
  if (second.begin < first.end) return true;
  if (second.end > static_cast<std::int64_t>(text.size()) || first.begin >= first.end) return false;
  const auto begin = static_cast<std::size_t>(first.begin), end = static_cast<std::size_t>(second.end);
  char32_t before = ' ', after = ' ';
  for (std::size_t at = begin; at < end;) {
    const DecodedCodePoint character = decode_code_point(text, at);
    const auto place = static_cast<std::int64_t>(at);
    if (place < first.end) before = character.value;
    if (place >= first.end && place < second.begin && is_unicode_space(character.value)) return false;
    if (place >= second.begin) {
      after = character.value;
      break;
    }
    at += character.length;
  }
  return !is_unicode_space(before) && !is_unicode_space(after) && joins(before) && joins(after);
}

}  // namespace

std::vector<int> word_numbers(const std::vector<Token>& tokens, std::string_view text) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i == 0) {
      numbers.push_back(0);
    } else {
      numbers.push_back(numbers.back() + (same_word(tokens[i - 1], tokens[i], text) ? 0 : 1));
    }
  }
  return numbers;
}

}  // namespace attn::dump
