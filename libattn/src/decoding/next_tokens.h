#pragma once
// What all searches share: the most probable next tokens of every row, and the bookkeeping of rows.
#include <cstdint>
#include <span>
#include <vector>

#include "attn/decoding/search.h"
#include "attn/runtime/tensor.h"

namespace attn {

/// A token that may come next, and its log-probability.
struct Candidate {
  std::int32_t token = 0;
  double log_probability = 0.0;
};

/// The best candidates of every row, by falling probability, then by id.
struct CandidateRows {
  std::size_t width = 0;  ///< candidates a row
  std::vector<Candidate> candidates;
  std::span<const Candidate> row(std::size_t index) const {
    return std::span(candidates).subspan(index * width, width);
  }
};

/// Whether a search may take this token.
bool may_be_emitted(std::int32_t token) noexcept;

/// The `count` most probable tokens (fewer if the vocabulary is smaller) of logits [rows, vocabulary].
CandidateRows best_candidates(const Tensor& logits, std::int64_t count);

/// Throws the error about numbers that are not finite.
[[noreturn]] void fail_not_finite();

/// The hypothesis of these tokens, scored.
Hypothesis make_hypothesis(std::vector<std::int32_t> tokens, double log_probability, bool finished,
                           double length_penalty);

/// Steps that each sentence may take, and the most of them.
struct StepLimits {
  std::vector<std::int64_t> of_sentence;
  std::int64_t longest = 0;
};
StepLimits step_limits(const SearchOptions& options, const TokenBatch& source);

/// Makes row b what row `rows[b]` was, unless nothing changes.
void choose_rows(DecoderState& state, std::span<const std::int32_t> rows, std::size_t rows_before);

}  // namespace attn
