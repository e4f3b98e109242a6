#include "attn/decoding/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/core/error.h"

namespace attn {

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
  if (options.sampling) {
    const Sampling& sampling = *options.sampling;
    if (!(sampling.temperature > 0.0) || !std::isfinite(sampling.temperature)) {
      fail(ExitCode::usage, "the temperature is {}; it must be above 0", sampling.temperature);
    }
    if (sampling.top_k < 0) fail(ExitCode::usage, "top-k is {}; it must be 0 or more", sampling.top_k);
  } else if (options.n_best > options.beam) {
    fail(ExitCode::usage,
         "{} best translations cannot come from a beam of {}; make the beam at least as large",
         options.n_best, options.beam);
  }
}

double length_normalisation(std::int64_t length, double alpha) {
  return std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha);
}

std::int64_t step_limit(const SearchOptions& options, std::int64_t source_tokens) {
  const std::int64_t wanted = options.max_length > 0 ? options.max_length : 2 * source_tokens + 10;
  return options.position_limit > 0 ? std::min(wanted, options.position_limit) : wanted;
}

std::vector<std::vector<Hypothesis>> search(const TranslationModel& model, const TokenBatch& source,
                                            const SearchOptions& options,
                                            std::span<const std::uint64_t> indices) {
  check(options);
  if (options.sampling) return sample_search(model, source, options, indices);
  if (options.beam > 1) return beam_search(model, source, options);
  std::vector<std::vector<Hypothesis>> results;
  for (Hypothesis& hypothesis : greedy_search(model, source, options)) {
    results.emplace_back();
    results.back().push_back(std::move(hypothesis));
  }
  return results;
}

}  // namespace attn
