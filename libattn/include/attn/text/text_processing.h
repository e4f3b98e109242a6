#pragma once
#include <cstddef>
#include <optional>

#include "attn/text/tokenizer.h"
#include "attn/text/vocabulary.h"

namespace attn {

/// How text becomes ids for a model, and ids become text.
struct TextProcessing {
  Tokenizer source_tokenizer = Tokenizer::named("word");
  Tokenizer target_tokenizer = Tokenizer::named("word");
  Vocabulary source_vocabulary, target_vocabulary;
  /// Every source is cut or padded to exactly so many tokens, <eos> counted, as in the book; absent: as long
  /// as it is.
  std::optional<std::size_t> steps;
  /// Without `steps`: longer sources are cropped to this, <eos> counted and kept.
  std::optional<std::size_t> max_length;
};

}  // namespace attn
