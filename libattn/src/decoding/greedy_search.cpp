#include <utility>

#include "attn/text/vocabulary.h"
#include "decoding/next_tokens.h"

namespace attn {

std::vector<Hypothesis> greedy_search(const TranslationModel& model, const TokenBatch& source,
                                      const SearchOptions& options) {
  std::vector<Hypothesis> results(static_cast<std::size_t>(source.size));
  if (results.empty()) return results;
  const StepLimits limits = step_limits(options, source);
  Context context;
  const auto state = model.encode(source, limits.longest, context);

  std::vector<std::size_t> sentences(results.size());  // the sentence of every row
  for (std::size_t i = 0; i < sentences.size(); ++i) sentences[i] = i;
  std::vector<std::int32_t> last_tokens(results.size(), Vocabulary::bos);
  while (!sentences.empty()) {
    const CandidateRows best = best_candidates(model.step(*state, last_tokens, context), 1);
    std::vector<std::int32_t> kept_rows, kept_tokens;
    std::vector<std::size_t> kept_sentences;
    for (std::size_t row = 0; row < sentences.size(); ++row) {
      const Candidate& next = best.row(row).front();
      Hypothesis& hypothesis = results[sentences[row]];
      hypothesis.log_probability += next.log_probability;
      hypothesis.finished = next.token == Vocabulary::eos;
      if (hypothesis.finished) continue;
      hypothesis.tokens.push_back(next.token);
      if (state->position() >= limits.of_sentence[sentences[row]]) continue;
      kept_rows.push_back(static_cast<std::int32_t>(row));
      kept_tokens.push_back(next.token);
      kept_sentences.push_back(sentences[row]);
    }
    const std::size_t rows_before = sentences.size();
    sentences = std::move(kept_sentences);
    last_tokens = std::move(kept_tokens);
    if (!sentences.empty()) choose_rows(*state, kept_rows, rows_before);
  }
  for (Hypothesis& hypothesis : results) {
    hypothesis = make_hypothesis(std::move(hypothesis.tokens), hypothesis.log_probability,
                                 hypothesis.finished, options.length_penalty);
  }
  return results;
}

}  // namespace attn
