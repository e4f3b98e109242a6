#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attn/experiment/experiment_config.h"
#include "attn/text/corpus.h"
#include "attn/training/translation_system.h"

namespace attn {

/// A corpus as text and as ids.
struct PreparedCorpus {
  Corpus corpus;
  EncodedCorpus encoded = EncodedCorpus();

  bool empty() const { return corpus.pairs.empty(); }
};

/// The data of an experiment, ready to train on.
struct PreparedData {
  TextProcessing text;
  PreparedCorpus train, valid, test;  ///< valid and test may be empty
  std::vector<std::string>
      findings;        ///< what a person should know: skipped lines, replaced bytes, cropped sentences
  std::string sha256;  ///< of the encoded training pairs
};

/// Reads, tokenises and encodes. Trains the subwords that the configuration asks for and names no file of;
/// `seed` draws the sentences for it if it is not to be all. Throws what the readers throw, and
/// Error(input_data) for a corpus without pairs or a vocabulary that knows none of its tokens, and what
/// Tokenizer and SentencePieceModel throw.
PreparedData prepare_data(const DataConfig& config, std::uint64_t seed = 1);

/// Writes the vocabularies to `folder`, which is made if need be, and returns the files: source.tokens and
/// target.tokens, a token a line from id 4 on, backslash and control characters as \xHH; and the
/// SentencePiece models of tokenizers that have one, source.model and target.model. Throws Error (file).
std::vector<std::filesystem::path> write_vocabularies(const TextProcessing& text,
                                                      const std::filesystem::path& folder);

/// The reference that a translation is compared with: the text as the target tokenizer sees it, so that a
/// tokenizer which lower-cases is not blamed for lower case; with a SentencePiece model, whose output is as
/// people write, the text as it is.
std::string normalised_target(const TextProcessing& text, const std::string& target);

}  // namespace attn
