#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/nn/context.h"

namespace attn {

/// What the attention archive says of a line (docs/file-formats.md). A line without tokens has blocks of
/// length zero.
enum class LineStatus : std::uint8_t {
  ok = 0,
  empty = 1,    ///< blank: no tokens, no maps
  cropped = 2,  ///< longer than the model takes: tokens and maps are those of its beginning
  skipped = 3   ///< blank on one side only: no tokens, no maps
};

/// Reads attention archives (format "attn.attention", docs/file-formats.md): the attention weights of a
/// corpus, with sentences and tokens. Sentences are counted from 0 in the order of the input lines; what is
/// read of one sentence depends on no other, and nothing but the vocabularies and the table of lengths stays
/// in memory. Every function throws Error(file) for damage that its reading meets, Error(input_data) for what
/// is not as specified or for a sentence or kind that there is not.
class AttentionArchive {
 public:
  static constexpr std::string_view format = "attn.attention";
  static constexpr int format_version = 1;

  /// Opens an archive. Throws Error(file) when it is missing, damaged or locked, Error(input_data) when it is
  /// of another format, of a newer version, or was not written to its end.
  static AttentionArchive open(const std::filesystem::path& path);

  AttentionArchive(AttentionArchive&&) noexcept;
  AttentionArchive& operator=(AttentionArchive&&) noexcept;
  AttentionArchive(const AttentionArchive&) = delete;
  AttentionArchive& operator=(const AttentionArchive&) = delete;
  ~AttentionArchive();

  /// The name that the archive was opened by.
  const std::string& file_name() const;
  /// Where the maps come from; empty where the archive does not say.
  struct Origin {
    std::string command_line, backend, device, checkpoint_sha256, created_utc;
  };
  Origin origin() const;

  /// Number of sentences, blank lines included.
  std::size_t sentences() const;

  struct Sentence {
    std::uint64_t line = 0;  ///< number of the input line, from 1
    std::string source_text, target_text;
    std::optional<std::string> reference;
    std::int32_t source_length = 0;  ///< tokens, <eos> counted
    std::int32_t target_length = 0;  ///< predicted tokens, <eos> counted where it was predicted
    double score = 0.0;              ///< of the search, or log-probability of a given target; NaN without one
    LineStatus status = LineStatus::ok;
  };
  Sentence sentence(std::size_t i) const;

  struct Token {
    std::int32_t id = 0;
    std::string text;  ///< as in the vocabulary; "<unk>", "<bos>", ... for special tokens
    /// Bytes [begin, end) of the sentence's text that the token came from; -1 for special tokens that stand
    /// for no text. An unknown token has the bytes of the word that it stands for.
    std::int64_t begin = -1, end = -1;
    bool has_span() const noexcept { return begin >= 0; }
  };
  /// Length source_length.
  std::vector<Token> source_tokens(std::size_t i) const;
  /// What the decoder predicted (or was made to), row by row; length target_length.
  std::vector<Token> target_tokens(std::size_t i) const;
  /// What the decoder was fed: <bos>, then the target tokens but for the last; length target_length.
  std::vector<Token> decoder_input_tokens(std::size_t i) const;

  /// The kinds of attention that the archive holds, in the order of AttentionKind.
  std::vector<AttentionKind> kinds() const;
  bool has(AttentionKind kind) const;

  struct KindInfo {
    AttentionKind kind = AttentionKind::cross;
    std::vector<std::int32_t> layers;      ///< which layers of the model are here, from 0: L entries
    std::vector<std::int32_t> heads;       ///< which heads, from 0: H entries
    bool causal = false;                   ///< query q sees only keys up to q
    std::string score;                     ///< "scaled_dot" or "additive"
    std::string query_tokens, key_tokens;  ///< groups that hold the tokens of the axes, as "/tokens/source"
    std::string query_row;  ///< how row q belongs to query token q: "consumes" it or "predicts" it
    std::string stage;      ///< "post_softmax_pre_dropout"
    bool forced = false;    ///< along a given target, not one that the model found
    std::string precision;  ///< "f32" or "f16"

    /// Whether the weight of this cell is 0 by construction.
    bool masked(std::size_t query, std::size_t key) const noexcept { return causal && key > query; }
  };
  /// Throws Error(input_data), naming the kinds that there are, when this is not among them.
  const KindInfo& info(AttentionKind kind) const;

  /// The tokens that label the axes of block(kind, i), as info(kind) says.
  std::vector<Token> query_tokens(AttentionKind kind, std::size_t i) const;
  std::vector<Token> key_tokens(AttentionKind kind, std::size_t i) const;

  /// The weights of one sentence: [layers, heads, queries, keys], row-major; rows sum to 1, or are all 0
  /// where every key is masked. Of a sentence without tokens, queries and keys are 0.
  struct Block {
    std::size_t layers = 0, heads = 0, queries = 0, keys = 0;
    std::vector<float> weights;

    float at(std::size_t layer, std::size_t head, std::size_t query, std::size_t key) const noexcept {
      return weights[((layer * heads + head) * queries + query) * keys + key];
    }
    /// The map [queries, keys] of a layer and head (places in KindInfo::layers and heads).
    std::span<const float> map(std::size_t layer, std::size_t head) const noexcept {
      return std::span(weights).subspan((layer * heads + head) * queries * keys, queries * keys);
    }
  };
  Block block(AttentionKind kind, std::size_t i) const;

  /// [layers, heads]: the entropy of a row in nats, averaged over the rows; NaN for a sentence without
  /// tokens.
  std::vector<float> entropy(AttentionKind kind, std::size_t i) const;

 private:
  struct Contents;
  explicit AttentionArchive(std::unique_ptr<Contents> contents);

  std::unique_ptr<Contents> contents_;
};

/// The kind of this name ("encoder_self", ...), or nothing.
std::optional<AttentionKind> attention_kind(std::string_view name);

}  // namespace attn
