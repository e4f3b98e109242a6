#include "attn/text/utf8.h"

namespace attn {
namespace {

struct LeadByte {
  std::size_t continuation_bytes = 0;  ///< 0 where the byte cannot begin a sequence
  unsigned second_low = 0x80;          ///< range of the second byte: it excludes overlong forms,
  unsigned second_high = 0xBF;         ///< surrogates and values above U+10FFFF
  char32_t bits = 0;
};

LeadByte classify_lead_byte(unsigned byte) noexcept {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF, byte & 0x1FU};
  if (byte >= 0xE0 && byte <= 0xEF) {
    return {2, byte == 0xE0 ? 0xA0U : 0x80U, byte == 0xED ? 0x9FU : 0xBFU, byte & 0x0FU};
  }
  if (byte >= 0xF0 && byte <= 0xF4) {
    return {3, byte == 0xF0 ? 0x90U : 0x80U, byte == 0xF4 ? 0x8FU : 0xBFU, byte & 0x07U};
  }
  return {};
}

}  // namespace

DecodedCodePoint decode_code_point(std::string_view text, std::size_t offset) noexcept {
  const auto lead_byte = static_cast<unsigned char>(text[offset]);
  if (lead_byte < 0x80) return {lead_byte, 1, true};
  const LeadByte lead = classify_lead_byte(lead_byte);
  if (lead.continuation_bytes == 0) return {replacement_character, 1, false};
  char32_t value = lead.bits;
  for (std::size_t i = 1; i <= lead.continuation_bytes; ++i) {
    if (offset + i >= text.size()) return {replacement_character, i, false};
    const auto byte = static_cast<unsigned char>(text[offset + i]);
    const unsigned low = i == 1 ? lead.second_low : 0x80U;
    const unsigned high = i == 1 ? lead.second_high : 0xBFU;
    if (byte < low || byte > high) return {replacement_character, i, false};
    value = value << 6 | (byte & 0x3FU);
  }
  return {value, lead.continuation_bytes + 1, true};
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string code_points;
  code_points.reserve(text.size());
  for (std::size_t offset = 0; offset < text.size();) {
    const DecodedCodePoint decoded = decode_code_point(text, offset);
    code_points.push_back(decoded.value);
    offset += decoded.length;
  }
  return code_points;
}

void append_utf8(std::string& text, char32_t code_point) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF))
    code_point = replacement_character;
  const auto continuation = [&](unsigned shift) {
    text.push_back(static_cast<char>(0x80U | (code_point >> shift & 0x3FU)));
  };
  if (code_point < 0x80) {
    text.push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    text.push_back(static_cast<char>(0xC0U | code_point >> 6));
    continuation(0);
  } else if (code_point < 0x10000) {
    text.push_back(static_cast<char>(0xE0U | code_point >> 12));
    continuation(6);
    continuation(0);
  } else {
    text.push_back(static_cast<char>(0xF0U | code_point >> 18));
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

std::string encode_utf8(std::u32string_view code_points) {
  std::string text;
  text.reserve(code_points.size());
  for (const char32_t code_point : code_points) append_utf8(text, code_point);
  return text;
}

bool is_valid_utf8(std::string_view text) noexcept {
  for (std::size_t offset = 0; offset < text.size();) {
    const DecodedCodePoint decoded = decode_code_point(text, offset);
    if (!decoded.valid) return false;
    offset += decoded.length;
  }
  return true;
}

RepairedText repair_utf8(std::string_view text) {
  RepairedText repaired;
  repaired.text.reserve(text.size());
  for (std::size_t offset = 0; offset < text.size();) {
    const DecodedCodePoint decoded = decode_code_point(text, offset);
    if (decoded.valid) {
      repaired.text.append(text.substr(offset, decoded.length));
    } else {
      append_utf8(repaired.text, replacement_character);
      ++repaired.replaced_count;
    }
    offset += decoded.length;
  }
  return repaired;
}

bool is_unicode_space(char32_t code_point) noexcept {
  return (code_point >= 0x09 && code_point <= 0x0D) || (code_point >= 0x1C && code_point <= 0x20) ||
         code_point == 0x85 || code_point == 0xA0 || code_point == 0x1680 ||
         (code_point >= 0x2000 && code_point <= 0x200A) || code_point == 0x2028 || code_point == 0x2029 ||
         code_point == 0x202F || code_point == 0x205F || code_point == 0x3000;
}

bool is_blank(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const DecodedCodePoint point = decode_code_point(text, offset);
    if (!is_unicode_space(point.value)) return false;
    offset += point.length;
  }
  return true;
}

}  // namespace attn
