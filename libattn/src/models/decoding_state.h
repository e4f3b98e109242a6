#pragma once
// What the models' decoder states share: uploading ids and choosing rows.
#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attn/models/translation_model.h"
#include "attn/ops/ops.h"

namespace attn {

/// i32 [batch, steps].
inline Tensor batch_major_ids(const std::shared_ptr<Device>& device, const TokenBatch& tokens) {
  return Tensor::from<std::int32_t>(device, tokens.ids, {tokens.size, tokens.steps});
}

/// i32 [steps, batch], the order that recurrent layers read.
inline Tensor time_major_ids(const std::shared_ptr<Device>& device, const TokenBatch& tokens) {
  std::vector<std::int32_t> ids(tokens.ids.size());
  for (std::int64_t b = 0; b < tokens.size; ++b) {
    for (std::int64_t t = 0; t < tokens.steps; ++t) {
      ids[static_cast<std::size_t>(t * tokens.size + b)] =
          tokens.ids[static_cast<std::size_t>(b * tokens.steps + t)];
    }
  }
  return Tensor::from<std::int32_t>(device, std::span<const std::int32_t>(ids), {tokens.steps, tokens.size});
}

inline Tensor lengths_on_device(const std::shared_ptr<Device>& device, const TokenBatch& tokens) {
  return Tensor::from<std::int32_t>(device, tokens.valid_lengths, Shape{tokens.size});
}

/// Where the last token of each sentence stands among the rows of [steps, batch, ...], i32 [batch]. For a
/// sentence without tokens it is the first step, so that the result still does not depend on the padding.
inline Tensor last_token_rows(const std::shared_ptr<Device>& device, const TokenBatch& tokens) {
  std::vector<std::int32_t> rows;
  for (std::size_t b = 0; b < tokens.valid_lengths.size(); ++b) {
    const std::int64_t last = std::max<std::int64_t>(tokens.valid_lengths[b] - 1, 0);
    rows.push_back(static_cast<std::int32_t>(last * tokens.size + static_cast<std::int64_t>(b)));
  }
  return Tensor::from<std::int32_t>(device, std::span<const std::int32_t>(rows), Shape{tokens.size});
}

/// For every row of [steps, batch, ...] the row that takes its place when the tokens of each sentence stand
/// in reverse and its padding stays behind them, i32 [steps * batch]. Applied twice it changes nothing.
inline Tensor reversed_rows(const std::shared_ptr<Device>& device, const TokenBatch& tokens) {
  std::vector<std::int32_t> rows;
  for (std::int64_t t = 0; t < tokens.steps; ++t) {
    for (std::int64_t b = 0; b < tokens.size; ++b) {
      const std::int64_t length = tokens.valid_lengths[static_cast<std::size_t>(b)];
      const std::int64_t from = t < length ? length - 1 - t : t;
      rows.push_back(static_cast<std::int32_t>(from * tokens.size + b));
    }
  }
  return Tensor::from<std::int32_t>(device, std::span<const std::int32_t>(rows),
                                    Shape{tokens.steps * tokens.size});
}

/// Which row of what belongs to the sentence alone, here called the memory, serves which rows of a decoder's
/// state. All rows of a sentence attend to the same keys and values, so neighbouring rows share them, as many
/// for each row of the memory: row b attends to row b / rows_together() of the memory. In a beam search that
/// is one row of the memory for each sentence; where sentences have uneven numbers of rows, it is the largest
/// number that divides them all.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t sentences) : of_row_(sentences), of_memory_(sentences) {
    std::iota(of_row_.begin(), of_row_.end(), 0);
    of_memory_ = of_row_;
  }

  std::size_t rows_together() const noexcept {
    return of_memory_.empty() ? 1 : of_row_.size() / of_memory_.size();
  }

  /// Row b becomes row `rows[b]`. Returns which rows of the memory to choose; nothing if it stays as it is.
  std::optional<std::vector<std::int32_t>> select(std::span<const std::int32_t> rows) {
    std::vector<std::int32_t> selected;
    selected.reserve(rows.size());
    for (const std::int32_t row : rows) selected.push_back(of_row_.at(static_cast<std::size_t>(row)));
    const auto before = static_cast<std::int32_t>(rows_together());
    std::vector<std::int32_t> sentences, chosen;
    for (std::size_t row = 0, together = even_count(selected); row < rows.size(); row += together) {
      sentences.push_back(selected[row]);
      chosen.push_back(rows[row] / before);
    }
    of_row_ = std::move(selected);
    if (sentences == of_memory_) return std::nullopt;
    of_memory_ = std::move(sentences);
    return chosen;
  }

 private:
  // Few queries to the same keys are computed one by one, in the same order whatever their number. More may
  // be computed in blocks, and then the rows of other sentences would show in the last bit.
  static constexpr std::size_t most_together = 8;

  // The largest number of rows that the rows of every sentence, where they are neighbours, divide into.
  static std::size_t even_count(std::span<const std::int32_t> sentences) {
    std::size_t divisor = 0, begin = 0;
    for (std::size_t row = 1; row <= sentences.size(); ++row) {
      if (row < sentences.size() && sentences[row] == sentences[begin]) continue;
      divisor = std::gcd(divisor, row - begin);
      begin = row;
    }
    std::size_t count = std::clamp<std::size_t>(divisor, 1, most_together);
    while (divisor % count != 0) --count;
    return count;
  }

  std::vector<std::int32_t> of_row_, of_memory_;  // the sentence of each
};

/// The chosen rows of the first axis.
inline Tensor chosen_rows(const Tensor& x, const Tensor& rows) {
  return ops::gather_rows(x, rows);
}

}  // namespace attn
