#pragma once
#include <cstdint>
#include <vector>

#include "attn/decoding/search.h"

namespace attn::test {

using Tokens = std::vector<std::int32_t>;

/// The tokens that may follow `tokens` by the constraints of `options`, found by looking at whole sequences.
std::vector<std::int32_t> possible_tokens(const Tokens& tokens, const Tokens& prefix, std::int64_t vocabulary,
                                          const SearchOptions& options);

/// Every translation that a search may yield for one source, scored by teacher forcing: finished ones first,
/// by falling score. options.max_length must be set.
std::vector<Hypothesis> all_hypotheses(const TranslationModel& model, const Tokens& source,
                                       std::int64_t vocabulary, const SearchOptions& options,
                                       const Tokens& prefix = {});

/// Greedy search as one would write it down.
Hypothesis plain_greedy(const TranslationModel& model, const Tokens& source, const SearchOptions& options,
                        const Tokens& prefix = {});

/// A token and its probability in a draw.
struct Chance {
  std::int32_t token = 0;
  double probability = 0.0;
};
/// What sampling may draw after `tokens`, and with which probability; the probabilities sum to 1.
std::vector<Chance> chances(const std::vector<double>& logits, const Tokens& tokens, const Tokens& prefix,
                            const SearchOptions& options);

/// Checks that both are the same to within rounding.
void require_same_hypotheses(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected);

}  // namespace attn::test
