#pragma once
#include <cstdint>
#include <string>

namespace attn {

/// How far a training run is: everything, besides parameters and moments, that going on exactly where it
/// stopped needs.
struct TrainingProgress {
  std::int64_t epoch = 0;   ///< epochs finished
  std::int64_t batch = 0;   ///< batches of the current epoch that are done, of whole updates only
  std::int64_t update = 0;  ///< updates so far
  std::int64_t tokens_seen = 0;
  // Totals of the unfinished epoch.
  double epoch_nats = 0.0, epoch_book = 0.0;
  std::int64_t epoch_tokens = 0;
  // Validation.
  bool has_best = false;
  double best_metric = 0.0;
  std::int64_t best_epoch = 0;
  std::int64_t epochs_without_improvement = 0;  ///< validations, where these are by updates
  std::int64_t validated_update = 0;            ///< of the last validation; 0: none yet
  double last_metric = 0.0;                     ///< what it found
  // What did not fit into memory.
  std::int64_t split_batches = 0, skipped_sentences = 0;
};

}  // namespace attn
