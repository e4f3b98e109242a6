#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/decoding/alignment.h"
#include "attn/text/token.h"

namespace attn {

/// Translations of single words, for those that a model does not know.
class WordDictionary {
 public:
  /// Translates nothing.
  WordDictionary() = default;

  /// Reads lines "source<TAB>target"; of several for a source the first counts, blank lines and what follows
  /// a second tab do not. Throws Error(file) if the file cannot be read, Error(input_data) with its number
  /// for a line without a tab or without a source.
  static WordDictionary read(const std::filesystem::path& path);

  /// The translation of a word as it is written, or nothing.
  std::optional<std::string> find(std::string_view source) const;
  std::size_t size() const noexcept { return words_.size(); }

 private:
  std::map<std::string, std::string, std::less<>> words_;
};

/// Replaces each <unk> among the tokens of a translation by the source token with the largest attention
/// weight (Luong et al., 2015, "Addressing the Rare Word Problem"; Jean et al., 2015): by its translation in
/// `dictionary`, otherwise by the text that it came from. `ids` [target tokens] are those of `tokens`;
/// `weights` has at least as many rows; `source_tokens` are those of `source` with their bytes. An <unk>
/// without any attention stays. The number of tokens replaced.
std::size_t replace_unknown(std::vector<std::string>& tokens, std::span<const std::int32_t> ids,
                            const AlignmentMatrix& weights, std::string_view source,
                            std::span<const Token> source_tokens, const WordDictionary& dictionary);

}  // namespace attn
