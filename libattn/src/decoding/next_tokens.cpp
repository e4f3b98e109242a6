#include "decoding/next_tokens.h"

#include <algorithm>
#include <cmath>

#include "attn/core/error.h"
#include "attn/ops/ops.h"
#include "attn/text/vocabulary.h"

namespace attn {
namespace {

constexpr std::int64_t tokens_never_emitted = 2;  // <pad> and <bos>

bool may_be_emitted(std::int32_t token) noexcept {
  return token != Vocabulary::pad && token != Vocabulary::bos;
}

// What the model says of one row.
struct Row {
  std::span<const double> values;  // of the best tokens
  std::span<const std::int32_t> ids;
  double normalizer = 0.0;
};

void add_allowed(const Row& row, std::size_t count, const TokenRules& rules,
                 std::vector<Candidate>& candidates) {
  const std::size_t before = candidates.size();
  Candidate end_symbol;
  for (std::size_t i = 0; i < row.ids.size() && candidates.size() - before < count; ++i) {
    const Candidate candidate{row.ids[i], row.values[i] - row.normalizer};
    if (candidate.token == Vocabulary::eos) end_symbol = candidate;
    if (may_be_emitted(candidate.token) && !rules.bans(candidate.token)) candidates.push_back(candidate);
  }
  // Everything was looked at then, <eos> among it.
  if (candidates.size() == before) candidates.push_back(end_symbol);
}

// Log-probabilities of the forced tokens, in the order of their rows.
std::vector<double> forced_log_probabilities(const Tensor& logits, std::span<const TokenRules> rules) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(logits.size(0)), -1);
  bool any = false;
  for (std::size_t row = 0; row < rules.size(); ++row) {
    labels[row] = rules[row].forced.value_or(-1);
    any = any || rules[row].forced;
  }
  if (!any) return {};
  const Tensor label_tensor =
      Tensor::from<std::int32_t>(logits.shared_device(), std::span<const std::int32_t>(labels),
                                 Shape{static_cast<std::int64_t>(labels.size())});
  std::vector<double> values = ops::cross_entropy(logits, label_tensor).to_vector<double>();
  for (double& value : values) value = -value;
  return values;
}

std::size_t most_banned(std::span<const TokenRules> rules) {
  std::size_t most = 0;
  for (const TokenRules& rule : rules) most = std::max(most, rule.banned.size());
  return most;
}

}  // namespace

void fail_not_finite() {
  fail(ExitCode::input_data,
       "the model yields numbers that are not finite: its parameters are damaged or its training diverged; "
       "use an earlier checkpoint");
}

CandidateRows best_candidates(const Tensor& logits, std::int64_t count, std::span<const TokenRules> rules) {
  static const TokenRules no_rules;
  const std::int64_t vocabulary = logits.size(-1);
  const std::int64_t found =
      std::min(count + tokens_never_emitted + static_cast<std::int64_t>(most_banned(rules)), vocabulary);
  const auto [top_values, top_ids] = ops::top_k(logits, found);
  const std::vector<double> normalizers = ops::log_sum_exp(logits).to_vector<double>();
  const std::vector<double> values = top_values.to_vector<double>();
  const std::vector<std::int32_t> ids = top_ids.to_vector<std::int32_t>();
  const std::vector<double> forced = forced_log_probabilities(logits, rules);

  CandidateRows rows;
  const auto width = static_cast<std::size_t>(found);
  const auto wanted = static_cast<std::size_t>(std::min(count, vocabulary));
  rows.candidates.reserve(normalizers.size() * wanted);
  rows.ends.reserve(normalizers.size());
  for (std::size_t row = 0; row < normalizers.size(); ++row) {
    if (!std::isfinite(normalizers[row])) fail_not_finite();
    const TokenRules& rule = rules.empty() ? no_rules : rules[row];
    if (rule.forced) {
      rows.candidates.push_back({*rule.forced, forced[row]});
    } else {
      add_allowed({std::span(values).subspan(row * width, width), std::span(ids).subspan(row * width, width),
                   normalizers[row]},
                  wanted, rule, rows.candidates);
    }
    rows.ends.push_back(rows.candidates.size());
  }
  return rows;
}

}  // namespace attn
