#pragma once
#include <string>
#include <string_view>

namespace attn {

/// The lower-case form of one code point: Unicode 14's one-to-one mapping for every script that has case
/// (Latin with all accents, Greek, Cyrillic, Armenian, Georgian, Cherokee, Deseret and so on). It depends on
/// no locale. U+0130 (capital I with a dot), which has no one-to-one mapping, becomes a plain i here.
char32_t lower_case_code_point(char32_t code_point) noexcept;

/// Appends the lower-case form of `text[index]`, which is that of Python's str.lower in its context: a Greek
/// capital sigma at the end of a word becomes the final form, and U+0130 becomes i with a combining dot.
void append_lower_case(std::string& lowered, std::u32string_view text, std::size_t index);

/// The lower-case form of UTF-8 `text`, code point for code point as Python's str.lower gives it; invalid
/// bytes become U+FFFD.
std::string lower_case_utf8(std::string_view text);

}  // namespace attn
