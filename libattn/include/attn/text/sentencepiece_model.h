#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/text/token.h"
#include "attn/text/vocabulary.h"

namespace attn {

/// How a SentencePiece model is trained.
struct SentencePieceOptions {
  enum class Algorithm { unigram, bpe };
  Algorithm algorithm = Algorithm::unigram;
  /// Entries of the Vocabulary that comes of it, its special tokens included.
  std::size_t vocabulary_size = 8000;
  double character_coverage = 0.9995;  ///< share of the characters of the text that get a piece, 0.98 to 1
  bool byte_fallback = false;          ///< other characters become pieces <0x00> to <0xFF>, never <unk>
  std::vector<std::string> user_symbols = {};  ///< texts that always are one piece
  /// "identity" leaves the text as it is, to the byte; SentencePiece's nmt_nfkc, nfkc, nmt_nfkc_cf and
  /// nfkc_cf (cf: case folding) also drop doubled spaces.
  std::string normalizer = "identity";
};

/// A model of the SentencePiece library (Kudo and Richardson, 2018, https://arxiv.org/abs/1808.06226):
/// unigram language model (Kudo, 2018) or byte pair encoding. Copies share what they hold; all members may be
/// called from several threads.
class SentencePieceModel {
 public:
  /// Trains on `sentences`; the same sentences and options give the same bytes on every machine with the same
  /// version of the library. `description` names the text in messages. Throws Error (config) with the number
  /// to choose when the text allows no vocabulary of this size, or one of it is too small for the characters.
  static SentencePieceModel train(std::span<const std::string> sentences, const SentencePieceOptions& options,
                                  std::string_view description);

  /// The model of a `.model` file's bytes. `name` stands for it in messages. Throws Error (input_data) for
  /// anything else, damaged models among it.
  static SentencePieceModel from_bytes(std::string bytes, const std::string& name);

  /// Reads a `.model` file. Throws Error: file when it cannot be read, else as from_bytes.
  static SentencePieceModel read(const std::filesystem::path& path);

  /// The `.model` file.
  const std::string& bytes() const noexcept;

  /// The name of the normaliser, as "identity" or "nmt_nfkc".
  const std::string& normalizer() const noexcept;

  /// Its pieces in their order, from id 4 on; unknown and control symbols are left out, since Vocabulary has
  /// its own.
  Vocabulary vocabulary() const;

  /// The pieces of UTF-8 `text` and the bytes of it that each came from, spaces included: a piece that begins
  /// with U+2581 has the space before it, the one at the beginning of a text none. All byte pieces of a
  /// character have the span of the character. Invalid bytes are taken as U+FFFD.
  std::vector<Token> encode(std::string_view text) const;

  /// The text of pieces, and the bytes that each became. With the normaliser "identity" and no piece unknown,
  /// the inverse of encode (U+2581 in the text becomes a space). The byte piece of a line feed becomes a
  /// space, so that a text stays one line.
  JoinedText decode(std::span<const std::string> pieces) const;

 private:
  struct State;
  explicit SentencePieceModel(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace attn
