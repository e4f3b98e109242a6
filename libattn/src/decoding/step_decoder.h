#pragma once
// What all searches share: stepping the model over rows of hypotheses, the limits, prefixes and attention of
// their sentences.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attn/decoding/search.h"
#include "decoding/next_tokens.h"

namespace attn {

/// What the tokens so far have attended to: weights summed over the steps, one for each source position.
/// Empty where no coverage is asked for.
using Attended = std::vector<double>;

/// One batch of sentences that is being decoded. It begins with one row a sentence.
class StepDecoder {
 public:
  /// `model`, `options`, `prefixes` and the spans of `source` must outlive it.
  StepDecoder(const TranslationModel& model, const TokenBatch& source, const SearchOptions& options,
              Prefixes prefixes);

  /// Most tokens of a sentence.
  std::int64_t limit(std::size_t sentence) const { return limits_[sentence]; }
  /// Steps taken so far.
  std::int64_t position() const noexcept { return state_->position(); }
  /// The rules for a row of this sentence that has these tokens.
  TokenRules rules(std::size_t sentence, std::span<const std::int32_t> tokens) const;
  /// False if no row is under any rule, so that rules need not be made.
  bool constrained() const noexcept { return constrained_; }

  /// Feeds the last token of every row, <bos> first; the candidates for the next. `rules` is empty or has an
  /// entry for every row.
  CandidateRows step(std::span<const std::int32_t> last_tokens, std::int64_t count,
                     std::span<const TokenRules> rules);
  /// Adds what `row` attended to in the last step to what its tokens before did.
  void add_attention(std::size_t row, std::size_t sentence, Attended& attended) const;
  /// Makes row b what row `rows[b]` was, unless nothing changes.
  void choose_rows(std::span<const std::int32_t> rows, std::size_t rows_before);

 private:
  void watch_attention(AttentionKind kind, const Tensor& weights);
  void check_prefixes() const;

  const TranslationModel& model_;
  const SearchOptions& options_;
  Prefixes prefixes_;
  std::span<const std::int32_t> source_lengths_;
  std::size_t source_steps_;
  std::vector<std::int64_t> limits_;
  bool constrained_;
  Context context_;
  std::unique_ptr<DecoderState> state_;
  std::vector<double> attention_;  // [rows, source steps], of the last step, summed over layers
  double layers_ = 0.0;            // so many
};

/// The hypothesis of these tokens, scored.
Hypothesis make_hypothesis(const SearchOptions& options, std::vector<std::int32_t> tokens,
                           double log_probability, bool finished, std::span<const double> attended);

}  // namespace attn
