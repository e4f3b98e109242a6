#include <algorithm>
#include <utility>

#include "attn/text/vocabulary.h"
#include "decoding/next_tokens.h"

namespace attn {
namespace {

struct LiveHypothesis {
  std::vector<std::int32_t> tokens;
  double log_probability = 0.0;
};

// A living hypothesis (by its place among those of its sentence) and a token that may follow it.
struct Continuation {
  std::size_t parent = 0;
  Candidate next;
  double log_probability = 0.0;
};

// The beam of one sentence.
class SentenceBeam {
 public:
  SentenceBeam(const SearchOptions& options, std::size_t sentence, std::int64_t limit)
      : options_(&options), sentence_(sentence), limit_(limit), live_(1) {}

  std::size_t sentence() const noexcept { return sentence_; }
  std::size_t rows() const noexcept { return live_.size(); }
  std::int32_t last_token(std::size_t row) const {
    const std::vector<std::int32_t>& tokens = live_[row].tokens;
    return tokens.empty() ? Vocabulary::bos : tokens.back();
  }

  /// Takes one step; `candidates` holds this sentence's rows from `first_row` on. Returns for each living
  /// hypothesis the one that it continues.
  std::vector<std::size_t> advance(const CandidateRows& candidates, std::size_t first_row);
  bool done() const;
  std::vector<Hypothesis> take_results();

 private:
  std::vector<Continuation> ranked_continuations(const CandidateRows& candidates,
                                                 std::size_t first_row) const;
  double best_reachable_score() const;
  std::size_t width() const noexcept { return static_cast<std::size_t>(options_->beam); }

  const SearchOptions* options_;
  std::size_t sentence_;
  std::int64_t limit_, steps_ = 0;
  std::vector<LiveHypothesis> live_;  // by falling log-probability
  std::vector<Hypothesis> finished_;  // by falling score
};

std::vector<Continuation> SentenceBeam::ranked_continuations(const CandidateRows& candidates,
                                                             std::size_t first_row) const {
  std::vector<Continuation> ranked;
  ranked.reserve(live_.size() * candidates.width);
  for (std::size_t parent = 0; parent < live_.size(); ++parent) {
    for (const Candidate& next : candidates.row(first_row + parent))
      ranked.push_back({parent, next, live_[parent].log_probability + next.log_probability});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Continuation& a, const Continuation& b) {
    return a.log_probability > b.log_probability;
  });
  return ranked;
}

std::vector<std::size_t> SentenceBeam::advance(const CandidateRows& candidates, std::size_t first_row) {
  std::vector<LiveHypothesis> next_live;
  std::vector<std::size_t> parents;
  std::size_t rank = 0;
  for (const Continuation& continuation : ranked_continuations(candidates, first_row)) {
    if (next_live.size() == width()) break;
    std::vector<std::int32_t> tokens = live_[continuation.parent].tokens;
    if (continuation.next.token == Vocabulary::eos) {
      if (rank < width()) {
        Hypothesis hypothesis =
            make_hypothesis(std::move(tokens), continuation.log_probability, true, options_->length_penalty);
        const auto place =
            std::upper_bound(finished_.begin(), finished_.end(), hypothesis,
                             [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
        finished_.insert(place, std::move(hypothesis));
      }
    } else {
      tokens.push_back(continuation.next.token);
      next_live.push_back({std::move(tokens), continuation.log_probability});
      parents.push_back(continuation.parent);
    }
    ++rank;
  }
  live_ = std::move(next_live);
  ++steps_;
  return parents;
}

// Log-probabilities only fall, and the normalisation is monotonic in the length.
double SentenceBeam::best_reachable_score() const {
  const double alpha = options_->length_penalty;
  return live_.front().log_probability /
         std::max(length_normalisation(steps_ + 1, alpha), length_normalisation(limit_, alpha));
}

bool SentenceBeam::done() const {
  if (live_.empty() || steps_ >= limit_ || finished_.size() >= width()) return true;
  const auto wanted = static_cast<std::size_t>(options_->n_best);
  return finished_.size() >= wanted && finished_[wanted - 1].score >= best_reachable_score();
}

std::vector<Hypothesis> SentenceBeam::take_results() {
  std::vector<Hypothesis> results = std::move(finished_);
  // All of the same length, so by falling score as well.
  for (LiveHypothesis& hypothesis : live_) {
    results.push_back(make_hypothesis(std::move(hypothesis.tokens), hypothesis.log_probability, false,
                                      options_->length_penalty));
  }
  results.resize(std::min(results.size(), static_cast<std::size_t>(options_->n_best)));
  return results;
}

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(const TranslationModel& model, const TokenBatch& source,
                                                 const SearchOptions& options) {
  check(options);
  std::vector<std::vector<Hypothesis>> results(static_cast<std::size_t>(source.size));
  if (results.empty()) return results;
  const StepLimits limits = step_limits(options, source);
  Context context;
  const auto state = model.encode(source, limits.longest, context);

  std::vector<SentenceBeam> beams;
  for (std::size_t i = 0; i < results.size(); ++i) beams.emplace_back(options, i, limits.of_sentence[i]);
  std::vector<std::int32_t> last_tokens(results.size(), Vocabulary::bos);
  while (!beams.empty()) {
    // One more than the beam: <eos> may be among them, and it does not live on.
    const CandidateRows candidates =
        best_candidates(model.step(*state, last_tokens, context), options.beam + 1);
    const std::size_t rows_before = last_tokens.size();
    std::vector<std::int32_t> rows;
    std::vector<SentenceBeam> remaining;
    last_tokens.clear();
    std::size_t first_row = 0;
    for (SentenceBeam& beam : beams) {
      const std::size_t rows_of_beam = beam.rows();
      const std::vector<std::size_t> parents = beam.advance(candidates, first_row);
      if (beam.done()) {
        results[beam.sentence()] = beam.take_results();
      } else {
        for (std::size_t row = 0; row < beam.rows(); ++row) {
          rows.push_back(static_cast<std::int32_t>(first_row + parents[row]));
          last_tokens.push_back(beam.last_token(row));
        }
        remaining.push_back(std::move(beam));
      }
      first_row += rows_of_beam;
    }
    beams = std::move(remaining);
    if (!beams.empty()) choose_rows(*state, rows, rows_before);
  }
  return results;
}

}  // namespace attn
