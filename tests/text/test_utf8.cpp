#include <string>
#include <utility>
#include <vector>

#include "attn/core/sha256.h"
#include "attn/text/lower_case.h"
#include "attn/text/utf8.h"
#include "support/catch.h"

using namespace attn;

namespace {

bool is_surrogate(char32_t c) {
  return c >= 0xD800 && c <= 0xDFFF;
}

}  // namespace

TEST_CASE("every code point survives encoding and decoding") {
  std::size_t wrong = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (is_surrogate(c)) continue;
    std::string text;
    append_utf8(text, c);
    const DecodedCodePoint decoded = decode_code_point(text, 0);
    if (!decoded.valid || decoded.value != c || decoded.length != text.size()) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("surrogates and values beyond Unicode are encoded as the replacement character") {
  CHECK(encode_utf8(std::u32string{0xD800}) == "\xEF\xBF\xBD");
  CHECK(encode_utf8(std::u32string{0x110000}) == "\xEF\xBF\xBD");
}

TEST_CASE("invalid bytes are replaced once for each maximal part of a sequence") {
  const std::string r = "\xEF\xBF\xBD";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a\xFF"
       "b",
       "a" + r + "b"},                                          // a byte that begins nothing
      {"\xC0\x80", r + r},                                      // overlong
      {"\xE0\x80\x80", r + r + r},                              // overlong
      {"\xED\xA0\x80", r + r + r},                              // surrogate
      {"\xF4\x90\x80\x80", r + r + r + r},                      // above U+10FFFF
      {"\xF0\x9F\x98", r},                                      // cut at the end
      {"\xE2\x82x", r + "x"},                                   // cut by another character
      {"\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64",  // the example of Unicode, table 3-8
       "a" + r + r + r + "b" + r + "c" + r + r + "d"}};
  for (const auto& [bytes, expected] : cases) {
    const RepairedText repaired = repair_utf8(bytes);
    CHECK(repaired.text == expected);
    CHECK_FALSE(is_valid_utf8(bytes));
    CHECK(is_valid_utf8(repaired.text));
    std::size_t replacements = 0;
    for (const char32_t c : decode_utf8(bytes)) replacements += c == replacement_character ? 1 : 0;
    CHECK(repaired.replaced_count == replacements);
  }
}

TEST_CASE("a replacement character in the text is not counted as invalid") {
  const RepairedText repaired = repair_utf8("\xEF\xBF\xBD ok");
  CHECK(repaired.text == "\xEF\xBF\xBD ok");
  CHECK(repaired.replaced_count == 0);
}

TEST_CASE("lower case agrees with Python's str.lower for every code point") {
  // SHA-256 of the UTF-8 of chr(c).lower() for all c but surrogates, in order, with Unicode 14.
  Sha256 hash;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (!is_surrogate(c)) hash.update(lower_case_utf8(encode_utf8(std::u32string{c})));
  }
  CHECK(hash.hex_digest() == "958a7ea6410864d6bdee95e35373a838cd50f39ae4208f30d5fe14da0a0faff2");
}

TEST_CASE("accented capitals become small letters") {
  CHECK(lower_case_utf8("ÉCOLE ŒUVRE Ÿ ÇA ÅÄÖ ẞ") == "école œuvre ÿ ça åäö ß");
  CHECK(lower_case_utf8("ПРИВЕТ ЁЖ") == "привет ёж");
}

TEST_CASE("a capital sigma becomes final at the end of a word only") {
  CHECK(lower_case_utf8("ΟΔΥΣΣΕΥΣ ΣΑΣ.") == "οδυσσευς σας.");
  CHECK(lower_case_utf8("Σ") == "σ");
  CHECK(lower_case_utf8("ΑΣ'Α ΑΣ' Α") == "ασ'α ας' α");
}

TEST_CASE("white space is what Python's str.isspace says") {
  std::vector<char32_t> spaces;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (is_unicode_space(c)) spaces.push_back(c);
  }
  CHECK(spaces == std::vector<char32_t>{0x9,    0xA,    0xB,    0xC,    0xD,    0x1C,   0x1D,   0x1E,
                                        0x1F,   0x20,   0x85,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002,
                                        0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A,
                                        0x2028, 0x2029, 0x202F, 0x205F, 0x3000});
}
