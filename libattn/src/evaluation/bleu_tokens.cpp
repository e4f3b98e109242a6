#include <unicode/uchar.h>

#include <algorithm>

#include "attn/core/error.h"
#include "attn/evaluation/bleu.h"
#include "attn/text/utf8.h"
#include "evaluation/separation.h"
#include "evaluation/white_space.h"

namespace attn {
namespace {

// What sacrebleu takes for Chinese. Its list gives the ends of the two supplementary blocks in a form that
// Python reads as four digits and a letter: one of them makes a range of U+2001 to U+2A6D out of extension B,
// so that typographic quotes and dashes are separated, the other lies within other ranges.
constexpr std::array<CodePointRange, 21> chinese_ranges = {
    {{0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0x9FA6, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A},
     {0xFA70, 0xFAD9}, {0x2001, 0x2A6D}, {0xFF00, 0xFFEF}, {0x2E80, 0x2EFF}, {0x3000, 0x303F},
     {0x31C0, 0x31EF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3100, 0x312F}, {0x31A0, 0x31BF},
     {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0x2600, 0x26FF}, {0x2700, 0x27BF}, {0x3200, 0x32FF},
     {0x3300, 0x33FF}}};

bool is_in_categories(char32_t c, std::uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & mask) != 0;
}

bool is_number(char32_t c) {
  return is_in_categories(c, U_GC_N_MASK);
}

bool is_punctuation(char32_t c) {
  return is_in_categories(c, U_GC_P_MASK);
}

// sacrebleu's tokenizer_13a, pass for pass.
std::string separate_13a(std::string text) {
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_entities(text);
  return separate_stops_and_dashes(separate_symbols(" " + text + " "));
}

// mteval-v14 in sacrebleu's form: unlike 13a it neither knows entities nor puts spaces around the line, so
// that a full stop after a year that ends the line stays with it.
std::string separate_international(std::string_view text) {
  const auto after_other = [](char32_t a, char32_t b) { return !is_number(a) && is_punctuation(b); };
  const auto before_other = [](char32_t a, char32_t b) { return is_punctuation(a) && !is_number(b); };
  const auto is_symbol = [](char32_t c) { return is_in_categories(c, U_GC_S_MASK); };
  std::u32string separated = separate_pairs(decode_utf8(text), after_other, {.between = true, .after = true});
  separated = separate_pairs(separated, before_other, {.before = true, .between = true});
  return encode_utf8(separate_code_points(separated, is_symbol));
}

std::string separate_chinese(std::string_view text) {
  std::u32string line = decode_utf8(text);
  const std::size_t begin =
      static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_unicode_space) - line.begin());
  line = separate_code_points(std::u32string_view(line).substr(begin),
                              [](char32_t c) { return is_in(c, chinese_ranges); });
  return separate_stops_and_dashes(separate_symbols(encode_utf8(line)));
}

std::string separate_characters(std::string_view text) {
  return encode_utf8(separate_code_points(decode_utf8(text), [](char32_t) { return true; }));
}

}  // namespace

std::string_view name_of(BleuTokenizer tokenizer) {
  switch (tokenizer) {
    case BleuTokenizer::mteval_13a:
      return "13a";
    case BleuTokenizer::international:
      return "intl";
    case BleuTokenizer::character:
      return "char";
    case BleuTokenizer::chinese:
      return "zh";
    case BleuTokenizer::none:
      return "none";
  }
  fail(ExitCode::internal, "there is no BLEU tokenizer {}", static_cast<int>(tokenizer));
}

std::vector<std::string> bleu_tokens(std::string_view text, BleuTokenizer tokenizer) {
  const std::string_view line = without_trailing_space(text);
  switch (tokenizer) {
    case BleuTokenizer::mteval_13a:
      return split_at_white_space(separate_13a(std::string(line)));
    case BleuTokenizer::international:
      return split_at_white_space(separate_international(line));
    case BleuTokenizer::character:
      return split_at_white_space(separate_characters(line));
    case BleuTokenizer::chinese:
      return split_at_white_space(separate_chinese(line));
    case BleuTokenizer::none:
      break;
  }
  return split_at_white_space(line);
}

}  // namespace attn
