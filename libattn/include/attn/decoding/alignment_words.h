#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "attn/decoding/alignment.h"
#include "attn/text/token.h"

namespace attn {

/// The bytes [begin, end) of a text.
struct TextSpan {
  std::size_t begin = 0, end = 0;
  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

/// The words of a text: what lies between white space (is_unicode_space). A text that is written without
/// spaces, such as Chinese, is one word.
std::vector<TextSpan> words_of(std::string_view text);

/// The words [first, last) that a token belongs to, by number.
struct WordRange {
  std::size_t first = 0, last = 0;
  std::size_t count() const noexcept { return last - first; }
  friend bool operator==(const WordRange&, const WordRange&) = default;
};

/// For each token of a text the words whose bytes it has, mostly one. A token that is nothing but white
/// space (SentencePiece's U+2581 alone) belongs to the word that begins where it ends, if there is one, else
/// to none.
std::vector<WordRange> words_of_tokens(std::span<const TextSpan> words, std::span<const Token> tokens);

/// A text and its tokens.
struct TokenizedText {
  std::string_view text;
  std::span<const Token> tokens;
};

/// Weights between words from weights between tokens: a word pair has the sum over the tokens of the source
/// word and the mean over those of the target word, so that each row still is a distribution (as Clark et
/// al., 2019, https://aclanthology.org/W19-4828, section 4.1). A source token of several words gives each an
/// equal part. There is a row and a column for every word; words without tokens (of a part that was cropped
/// away) have zeros. `source.tokens` and `target.tokens` are those of the columns and rows, in order;
/// further ones are ignored. Throws Error(internal) if there are too few.
AlignmentMatrix word_weights(const AlignmentMatrix& weights, const TokenizedText& source,
                             const TokenizedText& target);

}  // namespace attn
