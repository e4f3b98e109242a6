#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attn/core/error.h"
#include "attn/runtime/random.h"
#include "attn/text/vocabulary.h"
#include "decoding/step_decoder.h"

namespace attn {
namespace {

// One translation that is being drawn.
struct Draw {
  std::size_t sentence = 0;
  RandomSequence random;
  std::vector<std::int32_t> tokens;
  double log_probability = 0.0;
  Attended attended;
};

// `candidates` by falling probability.
const Candidate& draw_from(std::span<const Candidate> candidates, const Sampling& sampling,
                           RandomSequence& random) {
  const double largest = candidates.front().log_probability;
  std::vector<double> cumulative;
  cumulative.reserve(candidates.size());
  double sum = 0.0;
  for (const Candidate& candidate : candidates) {
    sum += std::exp((candidate.log_probability - largest) / sampling.temperature);
    cumulative.push_back(sum);
  }
  if (sampling.top_p < 1.0) {
    const auto last = std::lower_bound(cumulative.begin(), cumulative.end() - 1, sampling.top_p * sum);
    cumulative.erase(last + 1, cumulative.end());
    sum = cumulative.back();
  }
  const auto place = std::upper_bound(cumulative.begin(), cumulative.end(), random.uniform() * sum);
  const auto index = static_cast<std::size_t>(place - cumulative.begin());
  return candidates[std::min(index, cumulative.size() - 1)];
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
                       0.0,
                       {}});
    }
  }
  return draws;
}

std::vector<TokenRules> rules_of(const StepDecoder& decoder, std::span<const Draw> draws) {
  std::vector<TokenRules> rules;
  if (!decoder.constrained()) return rules;
  for (const Draw& draw : draws) rules.push_back(decoder.rules(draw.sentence, draw.tokens));
  return rules;
}

}  // namespace

std::vector<std::vector<Hypothesis>> sample_search(const TranslationModel& model, const TokenBatch& source,
                                                   const SearchOptions& options,
                                                   std::span<const std::uint64_t> indices,
                                                   Prefixes prefixes) {
  check(options, model);
  if (!options.sampling) fail(ExitCode::internal, "sample_search without SearchOptions::sampling");
  std::vector<std::vector<Hypothesis>> results(static_cast<std::size_t>(source.size));
  if (results.empty()) return results;
  StepDecoder decoder(model, source, options, prefixes);

  std::vector<Draw> draws = first_draws(options, source.size, indices);
  std::vector<std::int32_t> rows;
  rows.reserve(draws.size());
  for (const Draw& draw : draws) rows.push_back(static_cast<std::int32_t>(draw.sentence));
  decoder.choose_rows(rows, results.size());
  std::vector<std::int32_t> last_tokens(draws.size(), Vocabulary::bos);
  const auto finish = [&](Draw& draw, bool finished) {
    results[draw.sentence].push_back(
        make_hypothesis(options, std::move(draw.tokens), draw.log_probability, finished, draw.attended));
  };
  const std::int64_t candidates_wanted =
      options.sampling->top_k > 0 ? options.sampling->top_k : std::numeric_limits<std::int32_t>::max();
  while (!draws.empty()) {
    const CandidateRows candidates = decoder.step(last_tokens, candidates_wanted, rules_of(decoder, draws));
    const std::size_t rows_before = draws.size();
    std::vector<Draw> remaining;
    rows.clear();
    last_tokens.clear();
    for (std::size_t row = 0; row < rows_before; ++row) {
      Draw& draw = draws[row];
      const Candidate& next = draw_from(candidates.row(row), *options.sampling, draw.random);
      draw.log_probability += next.log_probability;
      decoder.add_attention(row, draw.sentence, draw.attended);
      if (next.token == Vocabulary::eos) {
        finish(draw, true);
        continue;
      }
      draw.tokens.push_back(next.token);
      if (decoder.position() >= decoder.limit(draw.sentence)) {
        finish(draw, false);
        continue;
      }
      rows.push_back(static_cast<std::int32_t>(row));
      last_tokens.push_back(next.token);
      remaining.push_back(std::move(draw));
    }
    draws = std::move(remaining);
    if (!draws.empty()) decoder.choose_rows(rows, rows_before);
  }
  for (std::vector<Hypothesis>& drawn : results) {
    std::stable_sort(drawn.begin(), drawn.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  }
  return results;
}

}  // namespace attn
