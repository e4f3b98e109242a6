#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/inspection/attention_archive.h"
#include "attn/io/hdf5.h"
#include "attn/text/text_processing.h"

namespace attn {

/// Bytes [first, second) of a text; (-1, -1) for a token that stands for no text.
using ByteSpan = std::pair<std::int32_t, std::int32_t>;
inline constexpr ByteSpan no_span{-1, -1};

/// One sentence as it goes into an archive.
struct ArchivedSentence {
  std::uint64_t line = 0;
  std::string source_text, target_text, reference;
  double score = 0.0;
  LineStatus status = LineStatus::ok;
  std::vector<std::int32_t> source_ids, target_ids;  ///< <eos> counted; empty for a line without tokens
  std::vector<ByteSpan> source_spans, target_spans;  ///< one for each id
  std::vector<std::vector<float>> blocks;            ///< [layers, heads, queries, keys] of each kind
};

/// What an archive will hold.
struct AttentionArchiveLayout {
  struct Kind {
    AttentionKind kind;
    std::vector<std::int32_t> layers, heads;
  };
  std::vector<Kind> kinds;
  bool half = false;        ///< weights in half precision
  bool forced = false;      ///< along given targets
  bool references = false;  ///< whether sentences carry references
};

/// Writes the body of an attention archive sentence by sentence, in memory that does not depend on their
/// number. The file's header and its completion are the caller's (hdf5::write_header,
/// hdf5::write_atomically). Throws Error(file).
class AttentionArchiveWriter {
 public:
  /// `file` must outlive the writer.
  AttentionArchiveWriter(hdf5::File& file, const TextProcessing& text, const AttentionArchiveLayout& layout);
  AttentionArchiveWriter(const AttentionArchiveWriter&) = delete;
  AttentionArchiveWriter& operator=(const AttentionArchiveWriter&) = delete;
  ~AttentionArchiveWriter();

  /// Throws Error(internal) for a sentence whose parts do not fit each other or the layout.
  void append(const ArchivedSentence& sentence);

  /// Writes what is buffered and the dimension scales; call it once, at the end.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attn
