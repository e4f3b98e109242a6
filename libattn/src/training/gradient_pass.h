#pragma once
// The gradient of one update: forward and backward passes over one or more batches, and over parts of them
// where memory is short.
#include <cstdint>
#include <span>
#include <vector>

#include "attn/autograd/tape.h"
#include "attn/text/batches.h"
#include "attn/training/loss.h"

namespace attn {

/// What the passes of one update gave.
struct GradientTotals {
  double nats = 0.0;                       ///< over the target tokens
  std::int64_t tokens = 0;                 ///< target tokens
  std::int64_t steps = 0;                  ///< columns of the longest target, padding included
  std::int64_t splits = 0;                 ///< how often a batch did not fit into memory and was halved
  std::vector<std::size_t> split_lines;    ///< lines of the batches that were halved
  std::vector<std::size_t> skipped_lines;  ///< lines of sentences that do not fit on their own
};

/// Computes gradients of the trainable parameters of a model, in ParameterStore::flat_gradients().
class GradientPass {
 public:
  /// `model`, `corpus` and `tape` outlive it. The parameters are leaves of the tape.
  GradientPass(TranslationModel& model, const EncodedCorpus& corpus, LossConfig loss, std::uint64_t seed,
               Tape& tape);

  /// The gradient of the loss of all pairs of `batches` as if they were one batch: each target token weighs
  /// the same, however the pairs are grouped. `update`, from 1, and the place of a batch among them decide
  /// its dropout. Throws OutOfMemory where not even the sum of two gradients fits.
  GradientTotals run(std::span<const std::span<const std::size_t>> batches, std::int64_t update);

 private:
  struct Part {
    std::uint32_t batch = 0;   // its place in the update
    std::uint32_t number = 1;  // 1: all of it; 2n and 2n + 1: the halves of n
  };
  void add(const Batch& batch, std::span<const std::size_t> indices, Part part);
  bool fits(const Batch& batch, Part part);
  void forward_and_backward(const Batch& batch, Part part);
  void set_random(Part part);
  void fold();
  void finish();

  TranslationModel& model_;
  const EncodedCorpus& corpus_;
  LossConfig loss_;
  std::uint64_t seed_;
  Tape& tape_;
  Tensor random_;
  Tensor sum_;           // of the gradients of earlier parts
  bool summed_ = false;  // sum_ holds something of this update
  bool fresh_ = false;   // the store's gradients hold something that is not in sum_ yet
  double divisor_ = 1.0;
  std::int64_t update_ = 0, skipped_tokens_ = 0;
  GradientTotals totals_;
};

}  // namespace attn
