#include "attn/decoding/unknown_words.h"

#include <algorithm>

#include "attn/core/error.h"
#include "attn/text/lines.h"
#include "attn/text/vocabulary.h"

namespace attn {
namespace {

// What SentencePiece writes for the space before a word.
constexpr std::string_view word_begin = "\xE2\x96\x81";

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// As a token that joins with its neighbours as the source token did.
std::string replacement(std::string_view source, const Token& token, const WordDictionary& dictionary) {
  const std::string_view written = without_spaces(source.substr(token.begin, token.end - token.begin));
  std::string word = dictionary.find(written).value_or(std::string(written));
  if (token.text.starts_with(word_begin)) word.insert(0, word_begin);
  return word;
}

}  // namespace

WordDictionary WordDictionary::read(const std::filesystem::path& path) {
  WordDictionary dictionary;
  LineReader reader(path);
  while (const std::optional<std::string> line = reader.next()) {
    if (line->empty()) continue;
    const std::size_t tab = line->find('\t');
    if (tab == std::string::npos || tab == 0) {
      fail(ExitCode::input_data, "{}:{}: a line of a dictionary is SOURCE<TAB>TARGET; this one has no {}",
           path.string(), reader.line_number(), tab == 0 ? "source" : "tab");
    }
    dictionary.words_.emplace(line->substr(0, tab),
                              line->substr(tab + 1, line->find('\t', tab + 1) - tab - 1));
  }
  return dictionary;
}

std::optional<std::string> WordDictionary::find(std::string_view source) const {
  const auto found = words_.find(source);
  if (found == words_.end()) return std::nullopt;
  return found->second;
}

std::size_t replace_unknown(std::vector<std::string>& tokens, std::span<const std::int32_t> ids,
                            const AlignmentMatrix& weights, std::string_view source,
                            std::span<const Token> source_tokens, const WordDictionary& dictionary) {
  std::size_t replaced = 0;
  for (std::size_t t = 0; t < std::min({tokens.size(), ids.size(), weights.targets}); ++t) {
    if (ids[t] != Vocabulary::unk) continue;
    const std::span<const double> row = weights.row(t).first(std::min(weights.sources, source_tokens.size()));
    const auto largest = std::max_element(row.begin(), row.end());
    if (largest == row.end() || *largest <= 0.0) continue;
    tokens[t] =
        replacement(source, source_tokens[static_cast<std::size_t>(largest - row.begin())], dictionary);
    ++replaced;
  }
  return replaced;
}

}  // namespace attn
