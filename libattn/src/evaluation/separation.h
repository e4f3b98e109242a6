#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

/// Replaces every `from`, from left to right, by `to`.
void replace_all(std::string& text, std::string_view from, std::string_view to);

/// Replaces &quot; &amp; &lt; and &gt; by what they stand for.
void replace_entities(std::string& text);

/// Puts spaces around mteval-v13a's symbols: ASCII punctuation but for the apostrophe, comma, hyphen and full
/// stop.
std::string separate_symbols(std::string_view text);

/// mteval-v13a's rules for full stops, commas and hyphens: separate, unless they are inside numbers or words.
std::string separate_stops_and_dashes(const std::string& text);

/// Where separate_pairs puts spaces.
struct PairSpaces {
  bool before = false, between = false, after = false;
};

/// Puts spaces around and between, from left to right without overlap, each two characters that `matches`.
template<typename Character, typename Matches>
std::basic_string<Character> separate_pairs(const std::basic_string<Character>& text, Matches matches,
                                            PairSpaces spaces) {
  constexpr Character space = ' ';
  std::basic_string<Character> separated;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && matches(text[i], text[i + 1])) {
      if (spaces.before) separated.push_back(space);
      separated.push_back(text[i]);
      if (spaces.between) separated.push_back(space);
      separated.push_back(text[++i]);
      if (spaces.after) separated.push_back(space);
    } else {
      separated.push_back(text[i]);
    }
  }
  return separated;
}

/// Puts spaces around each code point that `matches`.
template<typename Matches>
std::u32string separate_code_points(std::u32string_view text, Matches matches) {
  std::u32string separated;
  for (const char32_t c : text) {
    if (matches(c)) {
      separated += {U' ', c, U' '};
    } else {
      separated.push_back(c);
    }
  }
  return separated;
}

/// A range of code points, both ends in it.
struct CodePointRange {
  char32_t first;
  char32_t last;
};

template<std::size_t size>
bool is_in(char32_t c, const std::array<CodePointRange, size>& ranges) {
  for (const auto& [first, last] : ranges) {
    if (first <= c && c <= last) return true;
  }
  return false;
}

}  // namespace attn
