#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

/// What stands for bytes that are not UTF-8.
inline constexpr char32_t replacement_character = 0xFFFD;

/// One code point of a text and the bytes that it came from.
struct DecodedCodePoint {
  char32_t value = 0;      ///< U+FFFD where the bytes are not UTF-8
  std::size_t length = 0;  ///< bytes consumed, at least 1
  bool valid = true;       ///< false where U+FFFD stands for bytes that are not UTF-8
};

/// Decodes the code point that begins at byte `offset` (which must be inside `text`). Invalid input yields
/// U+FFFD for each maximal part of a sequence that could have been well-formed (Unicode chapter 3.9, WHATWG
/// Encoding).
DecodedCodePoint decode_code_point(std::string_view text, std::size_t offset) noexcept;

/// All code points of `text`; invalid bytes become U+FFFD as in decode_code_point.
std::u32string decode_utf8(std::string_view text);

/// Appends the UTF-8 form of `code_point`; surrogates and values above U+10FFFF are written as U+FFFD.
void append_utf8(std::string& text, char32_t code_point);

/// The UTF-8 form of `code_points`.
std::string encode_utf8(std::u32string_view code_points);

/// Whether every byte of `text` belongs to a well-formed UTF-8 sequence.
bool is_valid_utf8(std::string_view text) noexcept;

/// A text made well-formed, and how often U+FFFD had to stand in.
struct RepairedText {
  std::string text;
  std::size_t replaced_count = 0;
};

/// Replaces what is not UTF-8 by U+FFFD, one for each maximal part (see decode_code_point).
RepairedText repair_utf8(std::string_view text);

/// What Python's str.isspace calls white space: ASCII blanks, U+001C to U+001F, NEL, no-break and typographic
/// spaces, line and paragraph separators.
bool is_unicode_space(char32_t code_point) noexcept;

/// Whether a UTF-8 text is empty or nothing but white space (is_unicode_space).
bool is_blank(std::string_view text);

}  // namespace attn
