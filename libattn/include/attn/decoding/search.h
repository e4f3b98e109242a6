#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attn/models/translation_model.h"

namespace attn {

/// Drawing tokens at random instead of searching for the most probable ones.
struct Sampling {
  double temperature = 1.0;  ///< divides the logits: below 1 the draw is sharper, above 1 flatter
  std::int64_t top_k = 0;    ///< draws among the most probable so many (Fan et al., 2018); 0: among all
  std::uint64_t seed = 0;
};

/// How a translation is looked for.
struct SearchOptions {
  std::int64_t beam = 1;  ///< hypotheses kept for each sentence; 1 is greedy search
  /// Most tokens of a translation, <eos> counted; 0: twice the tokens of its source, and 10.
  std::int64_t max_length = 0;
  /// Positions that the model's target side has (learned positions); 0: no limit.
  std::int64_t position_limit = 0;
  /// The exponent alpha of length_normalisation(); 0 compares plain log-probabilities.
  double length_penalty = 0.6;
  std::int64_t n_best = 1;           ///< translations of each sentence; at most `beam` unless sampled
  std::optional<Sampling> sampling;  ///< present: `n_best` independent draws of each sentence
};

/// Throws Error(usage) for a beam, length, count, temperature or top_k that cannot be.
void check(const SearchOptions& options);

/// A translation as ids.
struct Hypothesis {
  std::vector<std::int32_t> tokens;  ///< without <bos> and <eos>
  double log_probability = 0.0;      ///< in nats, of the tokens and of the <eos> if there is one
  double score = 0.0;                ///< log_probability / length_normalisation(tokens, <eos> counted)
  bool finished = false;             ///< ended with <eos> before max_length
};

/// ((5 + length) / 6) ^ alpha, by which log-probabilities of different lengths are made comparable (Wu et
/// al., 2016, section 7).
double length_normalisation(std::int64_t length, double alpha);

/// Most steps for a source of so many tokens (<eos> counted).
std::int64_t step_limit(const SearchOptions& options, std::int64_t source_tokens);

/// Takes the most probable token at each step; of equal ones that with the lowest id. <pad> and <bos> are
/// never taken. A sentence leaves the batch as soon as it is finished. One hypothesis for each sentence of
/// `source`; beam, n_best and sampling are not looked at. Throws Error(input_data) if the model yields
/// numbers that are not finite; the other searches too.
std::vector<Hypothesis> greedy_search(const TranslationModel& model, const TokenBatch& source,
                                      const SearchOptions& options);

/// Beam search (Sutskever et al., 2014). At each step all continuations of a sentence's hypotheses are ranked
/// by log-probability; those among the best `beam` that end in <eos> are finished, and the best `beam` of the
/// others live on. A sentence is done when `beam` hypotheses are finished, or when `n_best` are and no living
/// one can reach a better score, or at its last step. Finished hypotheses come first, by falling score; only
/// if there are fewer than n_best do unfinished ones follow. What happens to a sentence depends on no other
/// sentence of the batch. For each sentence at most n_best hypotheses, and at least one.
std::vector<std::vector<Hypothesis>> beam_search(const TranslationModel& model, const TokenBatch& source,
                                                 const SearchOptions& options);

/// Draws `n_best` translations of each sentence from the model's distribution, by falling score. The random
/// numbers of a sentence follow from options.sampling (which must be present) and from its number in
/// `indices` (empty: its row), not from the rest of the batch. Log-probabilities are the model's own, without
/// temperature and top_k.
std::vector<std::vector<Hypothesis>> sample_search(const TranslationModel& model, const TokenBatch& source,
                                                   const SearchOptions& options,
                                                   std::span<const std::uint64_t> indices = {});

/// The search that `options` ask for: sampling, beam search, or greedy search for a beam of 1. `indices` are
/// the numbers of the sentences for sampling.
std::vector<std::vector<Hypothesis>> search(const TranslationModel& model, const TokenBatch& source,
                                            const SearchOptions& options,
                                            std::span<const std::uint64_t> indices = {});

}  // namespace attn
