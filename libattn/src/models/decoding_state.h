#pragma once
// What the models' decoder states share: uploading ids and choosing rows.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "attn/models/translation_model.h"
#include "attn/ops/operation.h"
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

/// Which sentence each row of a decoder's state belongs to. What belongs to the sentence alone is equal in
/// all of its rows, and need not be copied while every row stays with its sentence, as in most steps of a
/// beam search.
class RowSentences {
 public:
  explicit RowSentences(std::size_t sentences) : of_row_(sentences) {
    std::iota(of_row_.begin(), of_row_.end(), 0);
  }
  /// Row b becomes row `rows[b]`; true if every row keeps its sentence.
  bool select(std::span<const std::int32_t> rows) {
    std::vector<std::int32_t> selected;
    selected.reserve(rows.size());
    for (const std::int32_t row : rows) selected.push_back(of_row_.at(static_cast<std::size_t>(row)));
    const bool same = selected == of_row_;
    of_row_ = std::move(selected);
    return same;
  }

 private:
  std::vector<std::int32_t> of_row_;
};

/// The chosen rows of the first axis.
inline Tensor chosen_rows(const Tensor& x, const Tensor& rows) {
  return ops::gather_rows(x, rows);
}

/// Chooses rows of one tensor again and again. Two buffers take turns, so that large tensors whose rows
/// become ever fewer do not ask for memory of ever other sizes.
class RowChooser {
 public:
  /// Replaces `x`, which has no gradients, by its chosen rows.
  void operator()(Tensor& x, const Tensor& rows) {
    const std::int64_t row_elements = x.size(0) == 0 ? 0 : x.elements() / x.size(0);
    const std::int64_t needed = row_elements * rows.size(0);
    if (needed == 0) {
      x = chosen_rows(x, rows);
      return;
    }
    const Tensor before = current_ && current_.data() == x.data() ? current_ : x.reshaped({x.elements()});
    if (!spare_ || spare_.elements() < needed) spare_ = Tensor(x.shared_device(), Shape{needed}, x.dtype());
    Shape shape{rows.size(0)};
    for (int axis = 1; axis < x.rank(); ++axis) shape = shape.appended(x.size(axis));
    const Tensor target = spare_.view(0, shape);
    ops::apply_to(*ops::find_operation(ATTN_OP_GATHER_ROWS), target, {x, rows});
    x = target;
    current_ = std::exchange(spare_, before);
  }

 private:
  Tensor current_, spare_;  // flat; x is the beginning of current_
};

}  // namespace attn
