#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "attn/decoding/search.h"
#include "attn/inspection/attention_maps.h"
#include "attn/training/translation_system.h"

namespace attn {

/// How the attention of a corpus is dumped.
struct AttentionDumpOptions {
  AttentionSelection selection = {};
  SearchOptions search = {};           ///< of translations; n_best must be 1
  std::size_t batch_tokens = 2048;     ///< most source positions a batch, the hypotheses of the beam counted
  bool half = false;                   ///< store weights in half precision
  bool forced = false;                 ///< every line comes with its target
  bool references = false;             ///< lines may come with a reference, which is stored beside them
  std::string source_name = "source";  ///< for warnings
  std::string target_name = "target";
  /// Called with one sentence about a line that was cropped, skipped or changed.
  std::function<void(const std::string& warning)> warn = {};
  /// Called between batches; may throw to stop the work.
  std::function<void()> between_batches = {};
};

/// Translates lines, or takes given translations, and writes the attention along them to an attention
/// archive. Lines are treated in windows, so that memory depends on the longest lines, not on their number.
class AttentionDump {
 public:
  struct Line {
    std::string source;
    std::string target = {};  ///< with AttentionDumpOptions::forced
    std::string reference = {};
  };

  /// Writes the header to `file`; `system` must outlive the dump. Throws Error(usage) for a selection that
  /// the model does not have.
  AttentionDump(hdf5::File& file, const TranslationSystem& system, AttentionDumpOptions options,
                const std::string& command_line);
  AttentionDump(const AttentionDump&) = delete;
  AttentionDump& operator=(const AttentionDump&) = delete;
  ~AttentionDump();

  /// The next line of the corpus.
  void add(Line line);
  /// Treats what is waiting and completes the archive's body; call it once, at the end.
  void finish();

  std::size_t lines_written() const noexcept;
  /// Lines that were cropped, skipped or changed.
  std::size_t bad_lines() const noexcept;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace attn
