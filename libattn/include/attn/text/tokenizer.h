#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A token and the bytes [begin, end) of the original text that it came from.
struct Token {
  std::string text;
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const Token&, const Token&) = default;
};

/// Settings of a tokenizer; each names the tokenizer that it applies to.
struct TokenizerOptions {
  bool keep_spaces =
      true;  ///< character: spaces are tokens too, so that every text can be put together again
};

/// Splits text into tokens and joins them again. A value type: copies are cheap and equal ones behave alike.
///
/// - `word`: that of the machine translation chapter of Dive into Deep Learning. U+00A0 and U+202F count as
///   spaces, text is lower-cased, each of , . ! ? begins a new token, and tokens are separated by spaces.
///   Other white space (U+2009, tab, ...) stays inside tokens. Unlike the book, doubled and outer spaces give
///   no empty tokens.
/// - `whitespace`: separated by ASCII blanks (space, tab, vertical tab, form feed, CR, LF); case is kept.
/// - `character`: one token a code point; detokenize(tokenize(x)) == x for every UTF-8 text x unless spaces
/// are dropped.
class Tokenizer {
 public:
  /// The tokenizer called `name`. Throws Error (config) that lists the names when there is none.
  static Tokenizer named(std::string_view name, TokenizerOptions options = {});

  /// The names that `named` accepts.
  static std::vector<std::string> names();

  /// The name that this tokenizer goes by.
  std::string_view name() const noexcept;

  const TokenizerOptions& options() const noexcept { return options_; }

  /// The tokens of UTF-8 `text`; invalid bytes are taken as U+FFFD.
  std::vector<std::string> tokenize(std::string_view text) const;

  /// The same tokens with the bytes of `text` that each came from.
  std::vector<Token> tokenize_with_spans(std::string_view text) const;

  /// Joins tokens to a text: with a space between them, or with nothing for `character`.
  std::string detokenize(std::span<const std::string> tokens) const;

 private:
  enum class Kind { word, whitespace, character };
  Tokenizer(Kind kind, TokenizerOptions options) : kind_(kind), options_(options) {}

  Kind kind_;
  TokenizerOptions options_;
};

}  // namespace attn
