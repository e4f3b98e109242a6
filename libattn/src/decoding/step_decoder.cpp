#include "decoding/step_decoder.h"

#include <algorithm>
#include <utility>

#include "attn/core/error.h"

namespace attn {
namespace {

bool is_identity(std::span<const std::int32_t> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != static_cast<std::int32_t>(i)) return false;
  }
  return true;
}

}  // namespace

StepDecoder::StepDecoder(const TranslationModel& model, const TokenBatch& source,
                         const SearchOptions& options, Prefixes prefixes)
    : model_(model),
      options_(options),
      prefixes_(prefixes),
      source_lengths_(source.valid_lengths),
      source_steps_(static_cast<std::size_t>(source.steps)),
      constrained_(options.min_length > 0 || options.no_repeat_ngram > 0 ||
                   std::any_of(prefixes.begin(), prefixes.end(), [](const auto& p) { return !p.empty(); })) {
  std::int64_t longest = 0;
  for (const std::int32_t tokens : source.valid_lengths) {
    limits_.push_back(step_limit(options, tokens));
    longest = std::max(longest, limits_.back());
  }
  check_prefixes();
  if (options.coverage_penalty != 0.0) {
    context_.observe(
        [this](AttentionKind kind, std::int64_t, const Tensor& weights) { watch_attention(kind, weights); });
  }
  state_ = model.encode(source, longest, context_);
}

void StepDecoder::check_prefixes() const {
  if (prefixes_.empty()) return;
  if (prefixes_.size() != limits_.size())
    fail(ExitCode::internal, "{} prefixes for {} sentences", prefixes_.size(), limits_.size());
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (static_cast<std::int64_t>(prefixes_[i].size()) > limits_[i]) {
      fail(ExitCode::usage, "a prefix of {} tokens is longer than its translation may be, {} tokens",
           prefixes_[i].size(), limits_[i]);
    }
  }
}

TokenRules StepDecoder::rules(std::size_t sentence, std::span<const std::int32_t> tokens) const {
  return next_token_rules(
      options_, tokens, prefixes_.empty() ? std::span<const std::int32_t>() : std::span(prefixes_[sentence]));
}

CandidateRows StepDecoder::step(std::span<const std::int32_t> last_tokens, std::int64_t count,
                                std::span<const TokenRules> rules) {
  if (context_.observed()) {
    attention_.assign(last_tokens.size() * source_steps_, 0.0);
    layers_ = 0.0;
  }
  return best_candidates(model_.step(*state_, last_tokens, context_), count, rules);
}

void StepDecoder::watch_attention(AttentionKind kind, const Tensor& weights) {
  if (kind != AttentionKind::cross && kind != AttentionKind::rnn_cross) return;
  const auto heads = static_cast<std::size_t>(weights.size(1));
  const std::vector<double> values = weights.to_vector<double>();
  if (values.size() != attention_.size() * heads) {
    fail(ExitCode::internal, "attention weights of shape {} for {} source tokens", weights.shape(),
         source_steps_);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / (heads * source_steps_), key = i % source_steps_;
    attention_[row * source_steps_ + key] += values[i] / static_cast<double>(heads);
  }
  layers_ += 1.0;
}

void StepDecoder::add_attention(std::size_t row, std::size_t sentence, Attended& attended) const {
  if (!context_.observed()) return;
  attended.resize(static_cast<std::size_t>(source_lengths_[sentence]));
  for (std::size_t key = 0; key < attended.size(); ++key)
    attended[key] += attention_[row * source_steps_ + key] / layers_;
}

void StepDecoder::choose_rows(std::span<const std::int32_t> rows, std::size_t rows_before) {
  if (rows.size() != rows_before || !is_identity(rows)) state_->select_rows(rows);
}

Hypothesis make_hypothesis(const SearchOptions& options, std::vector<std::int32_t> tokens,
                           double log_probability, bool finished, std::span<const double> attended) {
  Hypothesis hypothesis;
  const auto length = static_cast<std::int64_t>(tokens.size()) + (finished ? 1 : 0);
  hypothesis.tokens = std::move(tokens);
  hypothesis.log_probability = log_probability;
  hypothesis.finished = finished;
  hypothesis.score =
      log_probability / length_normalisation(length, options.length_penalty, options.length_penalty_kind);
  if (options.coverage_penalty != 0.0) {
    hypothesis.coverage = log_coverage(attended);
    hypothesis.score += options.coverage_penalty * hypothesis.coverage;
  }
  return hypothesis;
}

}  // namespace attn
