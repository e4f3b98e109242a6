#include "decoding/next_tokens.h"

#include <algorithm>
#include <cmath>

#include "attn/core/error.h"
#include "attn/ops/ops.h"
#include "attn/text/vocabulary.h"

namespace attn {
namespace {

constexpr std::int64_t tokens_never_emitted = 2;  // <pad> and <bos>

bool is_identity(std::span<const std::int32_t> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != static_cast<std::int32_t>(i)) return false;
  }
  return true;
}

}  // namespace

bool may_be_emitted(std::int32_t token) noexcept {
  return token != Vocabulary::pad && token != Vocabulary::bos;
}

void fail_not_finite() {
  fail(ExitCode::input_data,
       "the model yields numbers that are not finite: its parameters are damaged or its training diverged; "
       "use "
       "an earlier checkpoint");
}

CandidateRows best_candidates(const Tensor& logits, std::int64_t count) {
  const std::int64_t vocabulary = logits.size(-1);
  const std::int64_t found = std::min(count + tokens_never_emitted, vocabulary);
  const auto [top_values, top_ids] = ops::top_k(logits, found);
  const std::vector<double> normalizers = ops::log_sum_exp(logits).to_vector<double>();
  const std::vector<double> values = top_values.to_vector<double>();
  const std::vector<std::int32_t> ids = top_ids.to_vector<std::int32_t>();

  CandidateRows rows;
  rows.width = static_cast<std::size_t>(std::min(count, vocabulary - tokens_never_emitted));
  rows.candidates.reserve(normalizers.size() * rows.width);
  for (std::size_t row = 0; row < normalizers.size(); ++row) {
    if (!std::isfinite(normalizers[row])) fail_not_finite();
    std::size_t taken = 0;
    for (std::size_t i = row * static_cast<std::size_t>(found); taken < rows.width; ++i) {
      if (!may_be_emitted(ids[i])) continue;
      rows.candidates.push_back({ids[i], values[i] - normalizers[row]});
      ++taken;
    }
  }
  return rows;
}

Hypothesis make_hypothesis(std::vector<std::int32_t> tokens, double log_probability, bool finished,
                           double length_penalty) {
  const auto length = static_cast<std::int64_t>(tokens.size()) + (finished ? 1 : 0);
  return {std::move(tokens), log_probability, log_probability / length_normalisation(length, length_penalty),
          finished};
}

StepLimits step_limits(const SearchOptions& options, const TokenBatch& source) {
  StepLimits limits;
  for (const std::int32_t tokens : source.valid_lengths) {
    limits.of_sentence.push_back(step_limit(options, tokens));
    limits.longest = std::max(limits.longest, limits.of_sentence.back());
  }
  return limits;
}

void choose_rows(DecoderState& state, std::span<const std::int32_t> rows, std::size_t rows_before) {
  if (rows.size() != rows_before || !is_identity(rows)) state.select_rows(rows);
}

}  // namespace attn
