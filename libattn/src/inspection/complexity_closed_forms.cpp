// What the encoders cost, derived on paper from their definitions. The tests compare every number with what
// is counted from the recorded operations.
#include <algorithm>
#include <cmath>

#include "attn/inspection/complexity_cost.h"

namespace attn {
namespace {

struct Sizes {
  double batch, steps, width, layers, kernel, heads;

  Sizes(const EncoderOptions& options, std::int64_t batch_size, std::int64_t step_count)
      : batch(static_cast<double>(batch_size)),
        steps(static_cast<double>(step_count)),
        width(static_cast<double>(options.width)),
        layers(static_cast<double>(options.layers)),
        kernel(static_cast<double>(options.kernel)),
        heads(static_cast<double>(options.heads)) {}
};

// Of one sequence. Backward: twice the products, and one sum for the bias; of each tanh the slope 1 - y^2
// (three operations) and a product.
double convolution(const Sizes& s, bool backward) {
  const double each = s.steps * s.width, between = s.layers - 1;
  double flops = s.layers * each * (2 * s.kernel * s.width + 1) + between * each;
  if (backward) flops += s.layers * each * (4 * s.kernel * s.width + 1) + between * 4 * each;
  return flops;
}

// Backward, for each step: tanh 4 d, W_h 4 d^2, W_x 4 d^2 + d, and d to add a step's gradient to that of the
// sequence; the first step has no state before it whose gradient would be needed.
double rnn(const Sizes& s, bool backward) {
  const double square = s.width * s.width;
  double flops = s.steps * (4 * square + 3 * s.width);
  if (backward) flops += s.steps * (8 * square + 6 * s.width) - 2 * square;
  return s.layers * flops;
}

// Three gates; the recurrence costs 14 elementwise operations a unit, and twice as much backward.
double gru(const Sizes& s, bool backward) {
  const double square = s.width * s.width;
  double flops = s.steps * (12 * square + 17 * s.width);
  if (backward) flops += s.steps * (24 * square + 31 * s.width);
  return s.layers * flops;
}

// Scores and weighted sum: 2 d each for every pair, 5 for its softmax. Backward the scores are computed
// again, and there are four products of that size more; queries, keys and values are one sequence, whose
// three gradients are added.
double self_attention(const Sizes& s, bool backward) {
  const double pairs = s.steps * s.steps;
  double flops = pairs * (4 * s.width + 5);
  if (backward) flops += pairs * (10 * s.width + 5) + 2 * s.steps * s.width;
  return s.layers * flops;
}

double multi_head_attention(const Sizes& s, bool backward) {
  const double pairs = s.steps * s.steps, projections = 8 * s.steps * s.width * s.width;
  double flops = projections + pairs * (4 * s.width + 5 * s.heads);
  if (backward) flops += 2 * projections + pairs * (10 * s.width + 5 * s.heads);
  return s.layers * flops;
}

// Backward: four products, 4 for the softmax of a pair, the keys' windows folded back, and the gradients of
// queries and keys added.
double windowed_attention(const Sizes& s, std::int64_t window, bool backward) {
  const AttentionBlocks blocks = attention_blocks(static_cast<std::int64_t>(s.steps), window);
  const auto count = static_cast<double>(blocks.blocks), block = static_cast<double>(blocks.block),
             keys = static_cast<double>(blocks.keys);
  const double pairs = count * block * keys;
  double flops = pairs * (4 * s.width + 5);
  if (backward) {
    flops += pairs * (8 * s.width + 4) + count * keys * s.width + s.steps * s.width;
    // Queries of a last block that is not full are windows as well, and their results are cut off.
    if (count * block > s.steps) flops += count * block * s.width + s.steps * s.width;
  }
  return s.layers * flops;
}

// Numbers that a layer keeps, or needs at one time, for each number of its output.
double numbers_each(EncoderKind kind, const Sizes& s, bool backward) {
  switch (kind) {
    case EncoderKind::convolution:
    case EncoderKind::dilated_convolution:
      return (backward ? 4 : 2) + 2 * s.kernel;
    case EncoderKind::rnn:
      return backward ? 16 : 8;
    case EncoderKind::gru:
      return backward ? 28 : 20;
    case EncoderKind::self_attention:
      return backward ? 8 : 2;
    case EncoderKind::multi_head_attention:
      return backward ? 14 : 6;
    case EncoderKind::windowed_attention:
      return backward ? 16 : 8;
  }
  return 16;
}

}  // namespace

double closed_form_flops(const EncoderOptions& options, std::int64_t batch, std::int64_t steps, Pass pass) {
  const Sizes sizes(options, batch, steps);
  const bool backward = pass == Pass::forward_backward;
  switch (options.kind) {
    case EncoderKind::convolution:
    case EncoderKind::dilated_convolution:
      return sizes.batch * convolution(sizes, backward);
    case EncoderKind::rnn:
      return sizes.batch * rnn(sizes, backward);
    case EncoderKind::gru:
      return sizes.batch * gru(sizes, backward);
    case EncoderKind::self_attention:
      return sizes.batch * self_attention(sizes, backward);
    case EncoderKind::multi_head_attention:
      return sizes.batch * multi_head_attention(sizes, backward);
    case EncoderKind::windowed_attention:
      return sizes.batch * windowed_attention(sizes, options.window, backward);
  }
  return 0;
}

double closed_form_parameters(const EncoderOptions& options) {
  const Sizes s(options, 1, 1);
  const double square = s.width * s.width;
  switch (options.kind) {
    case EncoderKind::convolution:
    case EncoderKind::dilated_convolution:
      return s.layers * (s.kernel * square + s.width);
    case EncoderKind::rnn:
      return s.layers * (2 * square + s.width);
    case EncoderKind::gru:
      return s.layers * (6 * square + 6 * s.width);
    case EncoderKind::multi_head_attention:
      return s.layers * 4 * square;
    case EncoderKind::self_attention:
    case EncoderKind::windowed_attention:
      return 0;
  }
  return 0;
}

double estimated_bytes(const EncoderOptions& options, std::int64_t batch, std::int64_t steps, Pass pass,
                       bool decomposed) {
  const Sizes s(options, batch, steps);
  const bool backward = pass == Pass::forward_backward;
  double numbers = closed_form_parameters(options) * (backward ? 2 : 1);
  // While costs are counted the tape keeps every layer, also of a forward pass.
  const double output = s.batch * s.steps * s.width;
  numbers += output * numbers_each(options.kind, s, backward) * s.layers;
  if (options.kind == EncoderKind::windowed_attention) {
    const AttentionBlocks blocks = attention_blocks(steps, options.window);
    const double rows = static_cast<double>(blocks.blocks) * static_cast<double>(blocks.keys);
    numbers +=
        s.batch * rows * (static_cast<double>(blocks.block) * (backward ? 6 : 4) + s.width * 2) * s.layers;
  }
  const bool attends =
      options.kind == EncoderKind::self_attention || options.kind == EncoderKind::multi_head_attention;
  if (attends && decomposed) numbers += s.batch * s.heads * s.steps * s.steps * (backward ? 6 : 5);
  return numbers * 4;
}

Orders textbook_orders(EncoderKind kind) noexcept {
  switch (kind) {
    case EncoderKind::convolution:
    case EncoderKind::dilated_convolution:
      return {1, 2, "O(k n d^2)"};
    case EncoderKind::rnn:
    case EncoderKind::gru:
      return {1, 2, "O(n d^2)"};
    case EncoderKind::self_attention:
      return {2, 1, "O(n^2 d)"};
    case EncoderKind::multi_head_attention:
      return {2, 1, "O(n^2 d + n d^2)"};
    case EncoderKind::windowed_attention:
      return {1, 1, "O(r n d)"};
  }
  return {};
}

}  // namespace attn
