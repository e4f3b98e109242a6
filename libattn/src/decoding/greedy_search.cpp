#include <utility>

#include "attn/text/vocabulary.h"
#include "decoding/step_decoder.h"

namespace attn {
namespace {

// The translation of one sentence as far as it is known.
struct Path {
  std::size_t sentence = 0;
  std::vector<std::int32_t> tokens;
  double log_probability = 0.0;
  Attended attended;
};

}  // namespace

std::vector<Hypothesis> greedy_search(const TranslationModel& model, const TokenBatch& source,
                                      const SearchOptions& options, Prefixes prefixes) {
  std::vector<Hypothesis> results(static_cast<std::size_t>(source.size));
  if (results.empty()) return results;
  check(options, model);
  StepDecoder decoder(model, source, options, prefixes);

  std::vector<Path> paths(results.size());  // one a row
  for (std::size_t i = 0; i < paths.size(); ++i) paths[i].sentence = i;
  std::vector<std::int32_t> last_tokens(results.size(), Vocabulary::bos);
  std::vector<TokenRules> rules;
  while (!paths.empty()) {
    rules.clear();
    if (decoder.constrained()) {
      for (const Path& path : paths) rules.push_back(decoder.rules(path.sentence, path.tokens));
    }
    const CandidateRows best = decoder.step(last_tokens, 1, rules);
    const std::size_t rows_before = paths.size();
    std::vector<std::int32_t> kept_rows;
    std::vector<Path> kept;
    last_tokens.clear();
    for (std::size_t row = 0; row < rows_before; ++row) {
      Path& path = paths[row];
      const Candidate& next = best.row(row).front();
      path.log_probability += next.log_probability;
      decoder.add_attention(row, path.sentence, path.attended);
      const bool finished = next.token == Vocabulary::eos;
      if (!finished) path.tokens.push_back(next.token);
      if (finished || decoder.position() >= decoder.limit(path.sentence)) {
        results[path.sentence] =
            make_hypothesis(options, std::move(path.tokens), path.log_probability, finished, path.attended);
        continue;
      }
      kept_rows.push_back(static_cast<std::int32_t>(row));
      last_tokens.push_back(next.token);
      kept.push_back(std::move(path));
    }
    paths = std::move(kept);
    if (!paths.empty()) decoder.choose_rows(kept_rows, rows_before);
  }
  return results;
}

}  // namespace attn
