#pragma once
// The most probable next tokens of every row.
#include <cstdint>
#include <span>
#include <vector>

#include "attn/runtime/tensor.h"
#include "decoding/token_rules.h"

namespace attn {

/// A token that may come next, and its log-probability.
struct Candidate {
  std::int32_t token = 0;
  double log_probability = 0.0;
};

/// The best candidates of every row, by falling probability, then by id; at least one of each.
struct CandidateRows {
  std::vector<Candidate> candidates;
  std::vector<std::size_t> ends;  ///< where each row's candidates end
  std::span<const Candidate> row(std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : ends[index - 1];
    return std::span(candidates).subspan(begin, ends[index] - begin);
  }
};

/// The `count` most probable tokens (fewer if there are not so many) of logits [rows, vocabulary] that the
/// rules of their row allow, and never <pad> and <bos>. `rules` is empty or has an entry for every row. Where
/// nothing is allowed, <eos> is. A forced token is its row's only one. Probabilities are among all tokens.
CandidateRows best_candidates(const Tensor& logits, std::int64_t count,
                              std::span<const TokenRules> rules = {});

/// Throws the error about numbers that are not finite.
[[noreturn]] void fail_not_finite();

}  // namespace attn
