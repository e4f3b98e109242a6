#include "attn/decoding/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attn/core/error.h"
#include "attn/decoding/alignment.h"

namespace attn {

namespace {

// Steps that every source may take beyond what is in proportion to its length.
constexpr std::int64_t extra_steps = 10;

void check_constraints(const SearchOptions& options) {
  if (options.min_length < 0)
    fail(ExitCode::usage, "the shortest translation is {} tokens; it must be 0 or more", options.min_length);
  if (options.max_length > 0 && options.min_length > options.max_length) {
    fail(ExitCode::usage, "a translation cannot have at least {} and at most {} tokens", options.min_length,
         options.max_length);
  }
  if (options.no_repeat_ngram < 0) {
    fail(ExitCode::usage, "{} tokens in a row must not repeat; it must be at least 1, or 0 for no such rule",
         options.no_repeat_ngram);
  }
  const double ratio = options.max_length_ratio.value_or(0.0);
  if (!(ratio >= 0.0) || !std::isfinite(ratio))
    fail(ExitCode::usage, "the ratio of the longest translation to its source is {}; it must be 0 or more",
         ratio);
}

}  // namespace

void check(const SearchOptions& options) {
  if (options.beam < 1) fail(ExitCode::usage, "the beam is {}; it must be at least 1", options.beam);
  if (options.n_best < 1) {
    fail(ExitCode::usage, "{} translations a line are asked for; it must be at least 1", options.n_best);
  }
  if (options.max_length < 0) {
    fail(ExitCode::usage,
         "the longest translation is {} tokens; it must be at least 1, or 0 for no own limit",
         options.max_length);
  }
  if (!std::isfinite(options.length_penalty)) fail(ExitCode::usage, "the length penalty must be a number");
  if (!std::isfinite(options.coverage_penalty))
    fail(ExitCode::usage, "the coverage penalty must be a number");
  check_constraints(options);
  if (options.sampling) {
    const Sampling& sampling = *options.sampling;
    if (!(sampling.temperature > 0.0) || !std::isfinite(sampling.temperature)) {
      fail(ExitCode::usage, "the temperature is {}; it must be above 0", sampling.temperature);
    }
    if (sampling.top_k < 0) fail(ExitCode::usage, "top-k is {}; it must be 0 or more", sampling.top_k);
    if (!(sampling.top_p > 0.0 && sampling.top_p <= 1.0))
      fail(ExitCode::usage, "top-p is {}; it must be above 0 and at most 1", sampling.top_p);
  } else if (options.n_best > options.beam) {
    fail(ExitCode::usage,
         "{} best translations cannot come from a beam of {}; make the beam at least as large",
         options.n_best, options.beam);
  }
}

void check(const SearchOptions& options, const TranslationModel& model) {
  check(options);
  if (options.coverage_penalty != 0.0 && !can_align(model)) {
    fail(ExitCode::usage,
         "this model has no attention, so that there is no coverage to penalise; leave out the coverage "
         "penalty or use a model of type seq2seq_attention or transformer");
  }
}

double length_normalisation(std::int64_t length, double alpha, LengthPenalty kind) {
  const auto tokens = static_cast<double>(length);
  return std::pow(kind == LengthPenalty::gnmt ? (5.0 + tokens) / 6.0 : tokens, alpha);
}

double log_coverage(std::span<const double> attention) {
  constexpr double least = std::numeric_limits<float>::min();
  double sum = 0.0;
  for (const double weight : attention) sum += std::log(std::clamp(weight, least, 1.0));
  return sum;
}

std::int64_t step_limit(const SearchOptions& options, std::int64_t source_tokens) {
  std::int64_t limit = options.max_length;
  if (limit == 0 || options.max_length_ratio) {
    constexpr double largest = std::numeric_limits<std::int32_t>::max();
    const double proportional = options.max_length_ratio.value_or(2.0) * static_cast<double>(source_tokens);
    const std::int64_t allowed = std::max(
        static_cast<std::int64_t>(std::min(proportional, largest)) + extra_steps, options.min_length);
    limit = limit == 0 ? allowed : std::min(limit, allowed);
  }
  return options.position_limit > 0 ? std::min(limit, options.position_limit) : limit;
}

std::vector<std::vector<Hypothesis>> search(const TranslationModel& model, const TokenBatch& source,
                                            const SearchOptions& options,
                                            std::span<const std::uint64_t> indices, Prefixes prefixes) {
  check(options, model);
  if (options.sampling) return sample_search(model, source, options, indices, prefixes);
  if (options.beam > 1) return beam_search(model, source, options, prefixes);
  std::vector<std::vector<Hypothesis>> results;
  for (Hypothesis& hypothesis : greedy_search(model, source, options, prefixes)) {
    results.emplace_back();
    results.back().push_back(std::move(hypothesis));
  }
  return results;
}

}  // namespace attn
