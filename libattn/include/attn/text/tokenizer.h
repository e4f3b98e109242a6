#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/text/bpe_codes.h"
#include "attn/text/sentencepiece_model.h"
#include "attn/text/token.h"

namespace attn {

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
/// - `bpe`: text whose words are split already, "low@@ er" for "lower", as subword-nmt writes it; separated
/// as
///   with `whitespace`. With codes (applying) it splits words itself.
/// - `sentencepiece`: pieces of a SentencePiece model.
class Tokenizer {
 public:
  /// The tokenizer called `name`. Throws Error (config) that lists the names when there is none, and for
  /// `sentencepiece`, which needs a model.
  static Tokenizer named(std::string_view name, TokenizerOptions options = {});

  /// `sentencepiece` with this model.
  static Tokenizer with_model(SentencePieceModel model);

  /// `bpe` that splits the words of plain text by these codes.
  static Tokenizer applying(BpeCodes codes);

  /// The tokenizer called `name` with what resource() gave, which may be empty. `origin` names the file in
  /// messages. Throws Error: as `named`, and input_data for a resource that is damaged.
  static Tokenizer restored(std::string_view name, TokenizerOptions options, std::string resource,
                            const std::string& origin);

  /// The names that `named` accepts.
  static std::vector<std::string> names();

  /// Whether `name` is `sentencepiece` or one of names().
  static bool exists(std::string_view name);

  /// The name that this tokenizer goes by.
  std::string_view name() const noexcept;

  const TokenizerOptions& options() const noexcept { return options_; }

  /// The SentencePiece model, if it has one.
  const std::optional<SentencePieceModel>& model() const noexcept { return model_; }

  /// The bytes of its model or codes, which it cannot be restored without; empty for the others.
  std::string_view resource() const noexcept;

  /// What is done to text before it is split: "lower-case", "none", or the normaliser of the model.
  std::string_view normalizer() const noexcept;

  /// Whether a text can be put together again from its tokens as people write it.
  bool restores_text() const noexcept { return kind_ == Kind::sentencepiece || kind_ == Kind::bpe; }

  /// The tokens of UTF-8 `text`; invalid bytes are taken as U+FFFD.
  std::vector<std::string> tokenize(std::string_view text) const;

  /// The same tokens with the bytes of `text` that each came from.
  std::vector<Token> tokenize_with_spans(std::string_view text) const;

  /// Joins tokens to a text: with a space between them, or with nothing for `character`; words that were
  /// split are whole again.
  std::string detokenize(std::span<const std::string> tokens) const;

  /// The same with the bytes of the text that each token became.
  JoinedText detokenize_with_spans(std::span<const std::string> tokens) const;

 private:
  enum class Kind { word, whitespace, character, bpe, sentencepiece };
  Tokenizer(Kind kind, TokenizerOptions options) : kind_(kind), options_(options) {}

  Kind kind_;
  TokenizerOptions options_;
  std::optional<SentencePieceModel> model_;  ///< of `sentencepiece`
  std::optional<BpeCodes> codes_;            ///< of `bpe` for plain text
};

}  // namespace attn
