#include "evaluation/white_space.h"

#include "attn/text/utf8.h"

namespace attn {

std::vector<std::string> split_at_white_space(std::string_view text) {
  std::vector<std::string> parts;
  bool inside = false;
  for (std::size_t offset = 0; offset < text.size();) {
    const DecodedCodePoint decoded = decode_code_point(text, offset);
    const bool space = is_unicode_space(decoded.value);
    if (!space && !inside) parts.emplace_back();
    if (!space) parts.back().append(text.substr(offset, decoded.length));
    inside = !space;
    offset += decoded.length;
  }
  return parts;
}

std::string_view without_trailing_space(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t offset = 0; offset < text.size();) {
    const DecodedCodePoint decoded = decode_code_point(text, offset);
    offset += decoded.length;
    if (!is_unicode_space(decoded.value)) end = offset;
  }
  return text.substr(0, end);
}

}  // namespace attn
