#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attn/experiment/experiment_config.h"
#include "attn/experiment/lint.h"
#include "attn/text/corpus.h"
#include "attn/training/translation_system.h"

namespace attn {

/// A corpus as text and as ids.
struct PreparedCorpus {
  Corpus corpus;  ///< without pairs where they stay on disk (data.streaming)
  EncodedCorpus encoded = EncodedCorpus();

  bool empty() const { return encoded.size() == 0; }
};

/// The data of an experiment, ready to train on.
struct PreparedData {
  TextProcessing text;
  PreparedCorpus train, valid, test;  ///< valid and test may be empty
  LintReport lint;                    ///< what a person should know; without findings with data.lint: off
  std::string sha256;                 ///< of the encoded training pairs
};

/// Reads, tokenises and encodes. Trains the subwords that the configuration asks for and names no file of;
/// `seed` draws the sentences for it if it is not to be all. With data.streaming, which needs data.cache, the
/// training pairs are encoded into a file there, or found there if a former run did so; the ids and all that
/// follows from them are the same. `position_limit` is the number of rows of a learned position table, 0
/// without one. Throws what the readers throw, what Tokenizer and SentencePieceModel throw, and
/// Error(input_data) for a corpus without pairs, one whose pairs are all left out as too long, one beyond the
/// position table (naming the line), a vocabulary that knows none of its tokens, and, with data.lint: error,
/// for serious findings.
PreparedData prepare_data(const DataConfig& config, std::uint64_t seed = 1, std::int64_t position_limit = 0);

/// The same for an experiment, whose model may have a position table, and whose folder of runs has the cache
/// unless data.cache says where it is.
PreparedData prepare_data(const ExperimentConfig& config);

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
