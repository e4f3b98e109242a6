#include "evaluation/separation.h"

#include <utility>

namespace attn {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_stop_or_comma(char c) {
  return c == '.' || c == ',';
}

bool is_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= '!' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

}  // namespace

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

void replace_entities(std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> entities = {
      {{"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}}};
  for (const auto& [entity, character] : entities) replace_all(text, entity, character);
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

// Bytes do where mteval uses characters: all that it looks for is ASCII.
std::string separate_stops_and_dashes(const std::string& text) {
  const auto after_other = [](char a, char b) { return !is_digit(a) && is_stop_or_comma(b); };
  const auto before_other = [](char a, char b) { return is_stop_or_comma(a) && !is_digit(b); };
  const auto dash_after_digit = [](char a, char b) { return is_digit(a) && b == '-'; };
  std::string separated = separate_pairs(text, after_other, {.between = true, .after = true});
  separated = separate_pairs(separated, before_other, {.before = true, .between = true});
  return separate_pairs(separated, dash_after_digit, {.between = true, .after = true});
}

}  // namespace attn
