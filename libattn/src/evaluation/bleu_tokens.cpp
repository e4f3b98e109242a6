#include <array>
#include <utility>

#include "attn/evaluation/bleu.h"
#include "attn/text/utf8.h"
#include "evaluation/ngrams.h"

namespace attn {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_period_or_comma(char c) {
  return c == '.' || c == ',';
}

// mteval-v13a's symbols: ASCII punctuation but for the apostrophe, comma, hyphen and full stop.
bool is_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= '!' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string separate_symbols(std::string_view text) {
  std::string separated;
  for (const char c : text) {
    if (is_symbol(c)) {
      separated += {' ', c, ' '};
    } else {
      separated.push_back(c);
    }
  }
  return separated;
}

/// Replaces, from left to right without overlap, each two bytes that `matches` by `before` first `between`
/// second `after`.
template<typename Matches>
std::string separate_pairs(std::string_view text, Matches matches, std::array<std::string_view, 3> blanks) {
  std::string separated;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && matches(text[i], text[i + 1])) {
      separated.append(blanks[0])
          .append(1, text[i])
          .append(blanks[1])
          .append(1, text[i + 1])
          .append(blanks[2]);
      ++i;
    } else {
      separated.push_back(text[i]);
    }
  }
  return separated;
}

// sacrebleu's tokenizer_13a, pass for pass. Bytes do where it uses characters: all that it looks for is
// ASCII.
std::string separate_13a(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n\v\f") + 1);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> entities = {
      {{"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}}};
  for (const auto& [entity, character] : entities) replace_all(text, entity, character);
  text = separate_symbols(" " + text + " ");
  text = separate_pairs(text, [](char a, char b) { return !is_digit(a) && is_period_or_comma(b); },
                        {"", " ", " "});
  text = separate_pairs(text, [](char a, char b) { return is_period_or_comma(a) && !is_digit(b); },
                        {" ", " ", ""});
  return separate_pairs(text, [](char a, char b) { return is_digit(a) && b == '-'; }, {"", " ", " "});
}

}  // namespace

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

std::vector<std::string> bleu_tokens(std::string_view text, BleuTokenizer tokenizer) {
  if (tokenizer == BleuTokenizer::none) return split_at_white_space(text);
  return split_at_white_space(separate_13a(std::string(text)));
}

}  // namespace attn
