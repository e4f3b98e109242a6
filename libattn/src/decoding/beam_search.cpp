#include <algorithm>
#include <limits>
#include <utility>

#include "attn/text/vocabulary.h"
#include "decoding/step_decoder.h"

namespace attn {
namespace {

struct LiveHypothesis {
  std::vector<std::int32_t> tokens;
  double log_probability = 0.0;
  Attended attended;
};

// A living hypothesis (by its place among those of its sentence) and a token that may follow it.
struct Continuation {
  std::size_t parent = 0;
  Candidate next;
  double log_probability = 0.0;
};

bool by_falling_score(const Hypothesis& a, const Hypothesis& b) {
  return a.score > b.score;
}

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

  std::span<const std::int32_t> tokens(std::size_t row) const { return live_[row].tokens; }

  /// Takes one step; `candidates` holds this sentence's rows from `first_row` on. Returns for each living
  /// hypothesis the one that it continues.
  std::vector<std::size_t> advance(const StepDecoder& decoder, const CandidateRows& candidates,
                                   std::size_t first_row);
  bool done() const;
  std::vector<Hypothesis> take_results();

 private:
  std::vector<Continuation> ranked_continuations(const CandidateRows& candidates,
                                                 std::size_t first_row) const;
  void add_finished(Hypothesis hypothesis);
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
  ranked.reserve(live_.size() * (width() + 1));
  for (std::size_t parent = 0; parent < live_.size(); ++parent) {
    for (const Candidate& next : candidates.row(first_row + parent))
      ranked.push_back({parent, next, live_[parent].log_probability + next.log_probability});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Continuation& a, const Continuation& b) {
    return a.log_probability > b.log_probability;
  });
  return ranked;
}

std::vector<std::size_t> SentenceBeam::advance(const StepDecoder& decoder, const CandidateRows& candidates,
                                               std::size_t first_row) {
  for (std::size_t row = 0; row < live_.size(); ++row)
    decoder.add_attention(first_row + row, sentence_, live_[row].attended);
  std::vector<LiveHypothesis> next_live;
  std::vector<std::size_t> parents;
  std::size_t rank = 0;
  for (const Continuation& continuation : ranked_continuations(candidates, first_row)) {
    if (next_live.size() == width()) break;
    const LiveHypothesis& parent = live_[continuation.parent];
    if (continuation.next.token == Vocabulary::eos) {
      if (rank < width())
        add_finished(
            make_hypothesis(*options_, parent.tokens, continuation.log_probability, true, parent.attended));
    } else {
      next_live.push_back(parent);
      next_live.back().tokens.push_back(continuation.next.token);
      next_live.back().log_probability = continuation.log_probability;
      parents.push_back(continuation.parent);
    }
    ++rank;
  }
  live_ = std::move(next_live);
  ++steps_;
  return parents;
}

void SentenceBeam::add_finished(Hypothesis hypothesis) {
  const auto place = std::upper_bound(finished_.begin(), finished_.end(), hypothesis, by_falling_score);
  finished_.insert(place, std::move(hypothesis));
}

// Log-probabilities only fall, the normalisation is monotonic in the length, and coverage only grows, to 0 at
// most: a penalty may vanish altogether, a reward is at its largest now.
double SentenceBeam::best_reachable_score() const {
  const double alpha = options_->length_penalty;
  const LengthPenalty kind = options_->length_penalty_kind;
  const double divisor =
      std::max(length_normalisation(steps_ + 1, alpha, kind), length_normalisation(limit_, alpha, kind));
  const double beta = options_->coverage_penalty;
  if (beta >= 0.0) return live_.front().log_probability / divisor;
  double best = -std::numeric_limits<double>::infinity();
  for (const LiveHypothesis& hypothesis : live_)
    best = std::max(best, hypothesis.log_probability / divisor + beta * log_coverage(hypothesis.attended));
  return best;
}

bool SentenceBeam::done() const {
  if (live_.empty() || steps_ >= limit_ || finished_.size() >= width()) return true;
  const auto wanted = static_cast<std::size_t>(options_->n_best);
  return finished_.size() >= wanted && finished_[wanted - 1].score >= best_reachable_score();
}

std::vector<Hypothesis> SentenceBeam::take_results() {
  std::vector<Hypothesis> results = std::move(finished_);
  const auto unfinished = static_cast<std::ptrdiff_t>(results.size());
  for (LiveHypothesis& hypothesis : live_) {
    results.push_back(make_hypothesis(*options_, std::move(hypothesis.tokens), hypothesis.log_probability,
                                      false, hypothesis.attended));
  }
  std::stable_sort(results.begin() + unfinished, results.end(), by_falling_score);
  results.resize(std::min(results.size(), static_cast<std::size_t>(options_->n_best)));
  return results;
}

std::vector<TokenRules> rules_of(const StepDecoder& decoder, std::span<const SentenceBeam> beams) {
  std::vector<TokenRules> rules;
  if (!decoder.constrained()) return rules;
  for (const SentenceBeam& beam : beams) {
    for (std::size_t row = 0; row < beam.rows(); ++row)
      rules.push_back(decoder.rules(beam.sentence(), beam.tokens(row)));
  }
  return rules;
}

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(const TranslationModel& model, const TokenBatch& source,
                                                 const SearchOptions& options, Prefixes prefixes) {
  check(options, model);
  std::vector<std::vector<Hypothesis>> results(static_cast<std::size_t>(source.size));
  if (results.empty()) return results;
  StepDecoder decoder(model, source, options, prefixes);

  std::vector<SentenceBeam> beams;
  for (std::size_t i = 0; i < results.size(); ++i) beams.emplace_back(options, i, decoder.limit(i));
  std::vector<std::int32_t> last_tokens(results.size(), Vocabulary::bos);
  while (!beams.empty()) {
    // One more than the beam: <eos> may be among them, and it does not live on.
    const CandidateRows candidates = decoder.step(last_tokens, options.beam + 1, rules_of(decoder, beams));
    const std::size_t rows_before = last_tokens.size();
    std::vector<std::int32_t> rows;
    std::vector<SentenceBeam> remaining;
    last_tokens.clear();
    std::size_t first_row = 0;
    for (SentenceBeam& beam : beams) {
      const std::size_t rows_of_beam = beam.rows();
      const std::vector<std::size_t> parents = beam.advance(decoder, candidates, first_row);
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
    if (!beams.empty()) decoder.choose_rows(rows, rows_before);
  }
  return results;
}

}  // namespace attn
