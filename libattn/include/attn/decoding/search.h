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
  /// Draws among the fewest most probable tokens that have at least this probability together (the nucleus;
  /// Holtzman et al., 2020); 1: among all. The temperature comes first, then top_k, then top_p on what top_k
  /// left, whose probabilities sum to 1 again.
  double top_p = 1.0;
};

/// What the log-probability of a translation of n tokens (<eos> counted) is divided by.
enum class LengthPenalty {
  gnmt,  ///< ((5 + n) / 6)^a (Wu et al., 2016, section 7)
  power  ///< n^a; with a = 1 the mean log-probability of a token
};

/// Target tokens that each sentence's translation must begin with, without <bos> and <eos>; no sentences at
/// all: nothing is forced.
using Prefixes = std::span<const std::vector<std::int32_t>>;

/// How a translation is looked for.
struct SearchOptions {
  std::int64_t beam = 1;  ///< hypotheses kept for each sentence; 1 is greedy search
  /// Most tokens of a translation, <eos> counted; 0: as `max_length_ratio` says.
  std::int64_t max_length = 0;
  /// R in R times the tokens of the source (<eos> counted), and 10: most tokens of a translation. Absent: 2
  /// where max_length is 0, no such limit where it is not.
  std::optional<double> max_length_ratio = {};
  /// Fewest tokens, <eos> counted: before, <eos> is not taken unless no_repeat_ngram leaves nothing else. A
  /// limit that follows from the source gives way to it.
  std::int64_t min_length = 0;
  /// No so many tokens in a row occur twice in a translation (Paulus et al., 2018, section 2.5); 0: they may.
  /// <eos> is exempt, and so is a prefix, though not what follows it.
  std::int64_t no_repeat_ngram = 0;
  /// Positions that the model's target side has (learned positions); 0: no limit.
  std::int64_t position_limit = 0;
  /// The exponent alpha of length_normalisation(); 0 compares plain log-probabilities.
  double length_penalty = 0.6;
  LengthPenalty length_penalty_kind = LengthPenalty::gnmt;
  /// The weight beta of Hypothesis::coverage in a score (Wu et al., 2016, equation 14); 0: none. A negative
  /// one rewards what it otherwise punishes.
  double coverage_penalty = 0.0;
  std::int64_t n_best = 1;           ///< translations of each sentence; at most `beam` unless sampled
  std::optional<Sampling> sampling;  ///< present: `n_best` independent draws of each sentence
};

/// Throws Error(usage) for options that cannot be, each by itself or together.
void check(const SearchOptions& options);
/// The same, and Error(usage) for a coverage penalty with a model that attends to no source.
void check(const SearchOptions& options, const TranslationModel& model);

/// A translation as ids.
struct Hypothesis {
  std::vector<std::int32_t> tokens;  ///< without <bos> and <eos>
  double log_probability = 0.0;      ///< in nats, of the tokens and of the <eos> if there is one
  double score = 0.0;                ///< log_probability / length_normalisation + coverage_penalty * coverage
  bool finished = false;             ///< ended with <eos> before max_length
  double coverage = 0.0;             ///< log_coverage() of its attention; 0 where coverage_penalty is 0
};

/// By which log-probabilities of different lengths are made comparable; alpha is the exponent, `length`
/// counts <eos>.
double length_normalisation(std::int64_t length, double alpha, LengthPenalty kind = LengthPenalty::gnmt);

/// sum_i log(min(attention[i], 1)): 0 if every source token has had a whole token's attention, less the more
/// has been left out (Wu et al., 2016, section 7). attention[i] is what source token i has had over all
/// steps; <eos> is a source token as well. A step's attention is the mean over the heads and layers of the
/// cross attention. A token without any counts as the smallest positive float, so that the sum is finite.
double log_coverage(std::span<const double> attention);

/// Most steps for a source of so many tokens (<eos> counted).
std::int64_t step_limit(const SearchOptions& options, std::int64_t source_tokens);

/// Takes the most probable token at each step; of equal ones that with the lowest id. <pad> and <bos> are
/// never taken. A sentence leaves the batch as soon as it is finished. One hypothesis for each sentence of
/// `source`; beam, n_best and sampling are not looked at. Throws, as the other searches do, Error(input_data)
/// if the model yields numbers that are not finite, Error(usage) for a prefix that is longer than its
/// sentence's step_limit().
std::vector<Hypothesis> greedy_search(const TranslationModel& model, const TokenBatch& source,
                                      const SearchOptions& options, Prefixes prefixes = {});

/// Beam search (Sutskever et al., 2014). At each step all continuations of a sentence's hypotheses are ranked
/// by log-probability; those among the best `beam` that end in <eos> are finished, and the best `beam` of the
/// others live on. A sentence is done when `beam` hypotheses are finished, or when `n_best` are and no living
/// one can reach a better score, or at its last step. Length and coverage penalty decide among the finished,
/// not who lives on: partial translations that have covered little yet would be dropped for it. Finished
/// hypotheses come first, by falling score; only if there are fewer than n_best do unfinished ones follow, by
/// falling score as well. What happens to a sentence depends on no other sentence of the batch. For each
/// sentence at most n_best hypotheses, and at least one. A beam as wide as the tree of all translations finds
/// the best of them.
std::vector<std::vector<Hypothesis>> beam_search(const TranslationModel& model, const TokenBatch& source,
                                                 const SearchOptions& options, Prefixes prefixes = {});

/// Draws `n_best` translations of each sentence from the model's distribution, by falling score. The random
/// numbers of a sentence follow from options.sampling (which must be present) and from its number in
/// `indices` (empty: its row), not from the rest of the batch. Log-probabilities are the model's own, without
/// temperature, top_k and top_p, and include those of a prefix.
std::vector<std::vector<Hypothesis>> sample_search(const TranslationModel& model, const TokenBatch& source,
                                                   const SearchOptions& options,
                                                   std::span<const std::uint64_t> indices = {},
                                                   Prefixes prefixes = {});

/// The search that `options` ask for: sampling, beam search, or greedy search for a beam of 1. `indices` are
/// the numbers of the sentences for sampling.
std::vector<std::vector<Hypothesis>> search(const TranslationModel& model, const TokenBatch& source,
                                            const SearchOptions& options,
                                            std::span<const std::uint64_t> indices = {},
                                            Prefixes prefixes = {});

}  // namespace attn
