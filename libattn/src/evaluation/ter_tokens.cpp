#include "attn/evaluation/ter.h"
#include "attn/text/lower_case.h"
#include "attn/text/utf8.h"
#include "evaluation/separation.h"
#include "evaluation/white_space.h"

namespace attn {
namespace {

// Chinese characters, strokes, radicals, compatibility forms and enclosed letters, each a word of its own;
// the last range is as wide as sacrebleu has it. Its rules for runs of kana match only at the very beginning
// of a line, where normalisation has put a space, so that they never apply.
constexpr std::array<CodePointRange, 8> asian_characters = {{{0x4E00, 0x9FFF},
                                                             {0x3400, 0x4DBF},
                                                             {0x31C0, 0x31EF},
                                                             {0x2E80, 0x2EFF},
                                                             {0x3300, 0x33FF},
                                                             {0xF900, 0xFAFF},
                                                             {0xFE30, 0xFE4F},
                                                             {0x3200, 0x3F22}}};
// CJK punctuation, then full-width forms of ASCII's.
constexpr std::array<CodePointRange, 11> asian_punctuation = {{{0x3001, 0x3002},
                                                               {0x3008, 0x3011},
                                                               {0x3014, 0x301F},
                                                               {0xFF61, 0xFF65},
                                                               {0x30FB, 0x30FB},
                                                               {0xFF0E, 0xFF0E},
                                                               {0xFF0C, 0xFF0C},
                                                               {0xFF1F, 0xFF1F},
                                                               {0xFF1A, 0xFF1B},
                                                               {0xFF01, 0xFF02},
                                                               {0xFF08, 0xFF09}}};

bool is_asian_punctuation(char32_t c) {
  return is_in(c, asian_punctuation);
}

std::string normalise(std::string text) {
  replace_all(text, "\n-", "");
  replace_all(text, "\n", " ");
  replace_entities(text);
  text = separate_symbols(" " + text + " ");
  replace_all(text, "'s ", " 's ");
  return separate_stops_and_dashes(text);
}

std::string separate_asian(std::string_view text) {
  return encode_utf8(separate_code_points(
      decode_utf8(text), [](char32_t c) { return is_in(c, asian_characters) || is_asian_punctuation(c); }));
}

std::string without_asian_punctuation(std::string_view text) {
  std::u32string kept = decode_utf8(text);
  std::erase_if(kept, is_asian_punctuation);
  return encode_utf8(kept);
}

}  // namespace

std::vector<std::string> ter_tokens(std::string_view text, const TerOptions& options) {
  std::string line(without_trailing_space(text));
  if (!options.case_sensitive) line = lower_case_utf8(line);
  if (options.normalized) {
    line = normalise(std::move(line));
    if (options.asian_support) line = separate_asian(line);
  }
  if (options.no_punctuation) {
    std::erase_if(line, [](char c) { return std::string_view(".,?:;!\"()").find(c) != std::string::npos; });
    if (options.asian_support) line = without_asian_punctuation(line);
  }
  return split_at_white_space(line);
}

}  // namespace attn
