#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/core/error.h"
#include "attn/runtime/random.h"
#include "attn/text/vocabulary.h"
#include "decoding/next_tokens.h"

namespace attn {
namespace {

// One translation that is being drawn.
struct Draw {
  std::size_t sentence = 0;
  RandomSequence random;
  std::vector<std::int32_t> tokens;
  double log_probability = 0.0;
};

// `candidates` by falling probability.
const Candidate& draw_from(std::span<const Candidate> candidates, double temperature,
                           RandomSequence& random) {
  const double largest = candidates.front().log_probability;
  std::vector<double> cumulative;
  cumulative.reserve(candidates.size());
  double sum = 0.0;
  for (const Candidate& candidate : candidates) {
    sum += std::exp((candidate.log_probability - largest) / temperature);
    cumulative.push_back(sum);
  }
  const auto place = std::upper_bound(cumulative.begin(), cumulative.end(), random.uniform() * sum);
  const auto index = static_cast<std::size_t>(place - cumulative.begin());
  return candidates[std::min(index, candidates.size() - 1)];
}

std::vector<Draw> first_draws(const SearchOptions& options, std::int64_t sentences,
                              std::span<const std::uint64_t> indices) {
  std::vector<Draw> draws;
  for (std::size_t sentence = 0; sentence < static_cast<std::size_t>(sentences); ++sentence) {
    const std::uint64_t number = indices.empty() ? sentence : indices[sentence];
    for (std::int64_t k = 0; k < options.n_best; ++k) {
      draws.push_back({sentence,
                       RandomSequence(options.sampling->seed, fmt::format("sample/{}/{}", number, k)),
                       {},
                       0.0});
    }
  }
  return draws;
}

}  // namespace

std::vector<std::vector<Hypothesis>> sample_search(const TranslationModel& model, const TokenBatch& source,
                                                   const SearchOptions& options,
                                                   std::span<const std::uint64_t> indices) {
  check(options);
  if (!options.sampling) fail(ExitCode::internal, "sample_search without SearchOptions::sampling");
  std::vector<std::vector<Hypothesis>> results(static_cast<std::size_t>(source.size));
  if (results.empty()) return results;
  const StepLimits limits = step_limits(options, source);
  Context context;
  const auto state = model.encode(source, limits.longest, context);

  std::vector<Draw> draws = first_draws(options, source.size, indices);
  std::vector<std::int32_t> rows;
  rows.reserve(draws.size());
  for (const Draw& draw : draws) rows.push_back(static_cast<std::int32_t>(draw.sentence));
  choose_rows(*state, rows, results.size());
  std::vector<std::int32_t> last_tokens(draws.size(), Vocabulary::bos);
  const auto finish = [&](Draw& draw, bool finished) {
    results[draw.sentence].push_back(
        make_hypothesis(std::move(draw.tokens), draw.log_probability, finished, options.length_penalty));
  };
  while (!draws.empty()) {
    const Tensor logits = model.step(*state, last_tokens, context);
    const CandidateRows candidates =
        best_candidates(logits, options.sampling->top_k > 0 ? options.sampling->top_k : logits.size(-1));
    const std::size_t rows_before = draws.size();
    std::vector<Draw> remaining;
    rows.clear();
    last_tokens.clear();
    for (std::size_t row = 0; row < rows_before; ++row) {
      Draw& draw = draws[row];
      const Candidate& next = draw_from(candidates.row(row), options.sampling->temperature, draw.random);
      draw.log_probability += next.log_probability;
      if (next.token == Vocabulary::eos) {
        finish(draw, true);
        continue;
      }
      draw.tokens.push_back(next.token);
      if (state->position() >= limits.of_sentence[draw.sentence]) {
        finish(draw, false);
        continue;
      }
      rows.push_back(static_cast<std::int32_t>(row));
      last_tokens.push_back(next.token);
      remaining.push_back(std::move(draw));
    }
    draws = std::move(remaining);
    if (!draws.empty()) choose_rows(*state, rows, rows_before);
  }
  for (std::vector<Hypothesis>& drawn : results) {
    std::stable_sort(drawn.begin(), drawn.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  }
  return results;
}

}  // namespace attn
