#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attn {

/// How much of a text a vocabulary knows.
struct Coverage {
  std::size_t tokens = 0;
  std::size_t unknown = 0;
  double known_fraction() const noexcept {
    return tokens == 0 ? 0.0 : static_cast<double>(tokens - unknown) / static_cast<double>(tokens);
  }
};

/// How often each token occurs in a text, in the order of first appearance.
class TokenCounts {
 public:
  TokenCounts() = default;
  TokenCounts(TokenCounts&&) = default;
  TokenCounts& operator=(TokenCounts&&) = default;

  void add(std::span<const std::string> tokens);
  /// Adds the counts of a text that follows this one.
  void add(const TokenCounts& later);

 private:
  friend class Vocabulary;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct Count {
    const std::string* token;  ///< a key of positions_
    std::size_t count;
  };
  void add(const std::string& token, std::size_t count);

  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> positions_;
  std::vector<Count> counts_;
};

/// Tokens and their ids. Ids 0 to 3 are the special tokens; the others follow by falling frequency, ties by
/// first appearance. No text maps to a special token: a literal "<eos>" or "<pad>" in a text is an ordinary
/// token (with its own entry when frequent enough), so special tokens are reached only by id.
class Vocabulary {
 public:
  static constexpr std::int32_t unk = 0;  ///< stands for tokens that are not in the vocabulary
  static constexpr std::int32_t pad = 1;
  static constexpr std::int32_t bos = 2;
  static constexpr std::int32_t eos = 3;
  static constexpr std::int32_t special_count = 4;

  /// Only the special tokens.
  Vocabulary() = default;

  /// Counts the tokens of `sentences` and keeps those that occur `min_frequency` times or more, the most
  /// frequent ones until there are `max_size` entries, special tokens included. Throws Error (config) for
  /// max_size < 5.
  static Vocabulary build(std::span<const std::vector<std::string>> sentences, std::size_t min_frequency = 1,
                          std::optional<std::size_t> max_size = std::nullopt);

  /// The same from counts.
  static Vocabulary build(const TokenCounts& counts, std::size_t min_frequency = 1,
                          std::optional<std::size_t> max_size = std::nullopt);

  /// The vocabulary whose ids from 4 on are `tokens`. Throws Error (input_data) for an empty or repeated
  /// token.
  static Vocabulary from_tokens(std::span<const std::string> tokens);

  /// The inverse of to_escaped_tokens. Throws Error (input_data) for a malformed escape, an empty or repeated
  /// token.
  static Vocabulary from_escaped_tokens(std::span<const std::string> escaped);

  /// The ordinary tokens in the order of their ids from 4 on.
  std::span<const std::string> ordinary_tokens() const noexcept { return tokens_; }

  /// The ordinary tokens with backslash, control characters and NUL written as \xHH: safe in lines and C
  /// strings.
  std::vector<std::string> to_escaped_tokens() const;

  /// Entries, special tokens included.
  std::size_t size() const noexcept { return tokens_.size() + special_count; }

  /// The id of `token`, or unk.
  std::int32_t id(std::string_view token) const;

  /// The token of `id`; "<unk>", "<pad>", "<bos>", "<eos>" for the special ones. Throws Error (internal)
  /// outside the vocabulary.
  const std::string& token(std::int32_t id) const;

  /// Whether `id` is one of the four special tokens.
  static bool is_special(std::int32_t id) noexcept { return id >= 0 && id < special_count; }

  /// The id of each token, nothing added.
  std::vector<std::int32_t> encode(std::span<const std::string> tokens) const;

  /// The tokens up to the first eos, without pad and bos; unk reads "<unk>".
  std::vector<std::string> decode(std::span<const std::int32_t> ids) const;

  /// How many tokens of `sentences` there are and how many of them are unknown.
  Coverage coverage(std::span<const std::vector<std::string>> sentences) const;

  /// SHA-256 over the ordinary tokens, 64 hexadecimal digits: equal exactly when all ids mean the same.
  std::string fingerprint() const;

  friend bool operator==(const Vocabulary& a, const Vocabulary& b) { return a.tokens_ == b.tokens_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  void append(std::string token);

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
};

/// Throws Error (input_data) when `vocabulary` knows no token at all of `sentences`, which would train on
/// nothing but <unk>. `description` names the text, and `min_frequency` what the vocabulary was built with.
void require_coverage(const Vocabulary& vocabulary, std::span<const std::vector<std::string>> sentences,
                      std::string_view description, std::size_t min_frequency);

/// The same for a text whose coverage by `vocabulary` is known.
void require_coverage(const Vocabulary& vocabulary, const Coverage& coverage, std::string_view description,
                      std::size_t min_frequency);

}  // namespace attn
