#include "attn/models/sequence_encoders.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "attn/core/error.h"
#include "attn/nn/attention.h"
#include "attn/nn/gru.h"
#include "attn/nn/layers.h"

namespace attn {
namespace {

constexpr std::array kinds{EncoderKind::convolution,
                           EncoderKind::dilated_convolution,
                           EncoderKind::rnn,
                           EncoderKind::gru,
                           EncoderKind::self_attention,
                           EncoderKind::multi_head_attention,
                           EncoderKind::windowed_attention};

double reciprocal_root(std::int64_t size) {
  return 1.0 / std::sqrt(static_cast<double>(size));
}

// [batch, steps, width] <-> [steps, batch, width]; no copy for a single sequence.
Tensor swap_batch_and_steps(const Tensor& x) {
  if (x.size(0) == 1 || x.size(1) == 1) return x.reshaped({x.size(1), x.size(0), x.size(2)});
  return ops::swap_axes(x, 0, 1);
}

class ConvolutionStack final : public SequenceEncoder {
 public:
  ConvolutionStack(const Scope& scope, const EncoderOptions& options) {
    const bool dilated = options.kind == EncoderKind::dilated_convolution;
    std::int64_t dilation = 1;
    for (std::int64_t layer = 0; layer < options.layers; ++layer) {
      const bool causal = options.causal || dilated;
      const std::int64_t before = causal ? options.kernel - 1 : options.kernel / 2;
      const ops::Window window{options.kernel, 1, dilation, before * dilation,
                               (options.kernel - 1 - before) * dilation};
      layers_.emplace_back(scope / layer, options.width, options.width, window);
      if (!dilated) continue;
      // Farther than any sequence is far enough.
      constexpr std::int64_t most = std::int64_t{1} << 24;
      dilation = std::min(most / options.kernel, dilation) * options.kernel;
    }
  }

  Tensor operator()(const Tensor& x) const override {
    Tensor y = layers_.front()(x);
    for (std::size_t layer = 1; layer < layers_.size(); ++layer) y = layers_[layer](ops::tanh(y));
    return y;
  }

 private:
  std::vector<Conv1d> layers_;
};

class VanillaRnn final : public SequenceEncoder {
 public:
  VanillaRnn(const Scope& scope, const EncoderOptions& options) {
    for (std::int64_t layer = 0; layer < options.layers; ++layer) {
      const Scope place = scope / layer;
      layers_.push_back({Linear(place / "input", options.width, options.width),
                         Linear(place / "state", options.width, options.width, false)});
    }
  }

  Tensor operator()(const Tensor& x) const override {
    Tensor sequence = swap_batch_and_steps(x);
    for (const Layer& layer : layers_) sequence = run(layer, sequence);
    return swap_batch_and_steps(sequence);
  }

 private:
  struct Layer {
    Linear input, state;
  };

  // Shares of the inputs are one product for all steps; what remains for a step needs the step before it.
  static Tensor run(const Layer& layer, const Tensor& sequence) {
    const std::int64_t steps = sequence.size(0);
    const Tensor from_input = layer.input(sequence);
    Tensor state =
        Tensor::zeros(sequence.shared_device(), {1, sequence.size(1), sequence.size(2)}, sequence.dtype());
    std::vector<Tensor> states;
    states.reserve(static_cast<std::size_t>(steps));
    for (std::int64_t step = 0; step < steps; ++step) {
      state = ops::tanh(ops::add(ops::slice_axis(from_input, 0, step, 1), layer.state(state)));
      states.push_back(state);
    }
    return ops::concatenate_all(states, 0);
  }

  std::vector<Layer> layers_;
};

class GruStack final : public SequenceEncoder {
 public:
  GruStack(const Scope& scope, const EncoderOptions& options)
      : gru_(scope, options.width, options.width, options.layers, 0.0) {}

  Tensor operator()(const Tensor& x) const override {
    Context context;
    return swap_batch_and_steps(gru_(swap_batch_and_steps(x), {}, context).outputs);
  }

 private:
  GRU gru_;
};

class PlainSelfAttention final : public SequenceEncoder {
 public:
  explicit PlainSelfAttention(const EncoderOptions& options) : layers_(options.layers) {}

  Tensor operator()(const Tensor& x) const override {
    const DotProductAttention attention(0.0);
    Context context;
    Tensor y = x;
    for (std::int64_t layer = 0; layer < layers_; ++layer) y = attention(y, y, y, {}, context);
    return y;
  }

 private:
  std::int64_t layers_;
};

class MultiHeadStack final : public SequenceEncoder {
 public:
  MultiHeadStack(const Scope& scope, const EncoderOptions& options) {
    MultiHeadAttention::Options layer;
    layer.query_size = layer.key_size = layer.value_size = layer.hidden = options.width;
    layer.heads = options.heads;
    for (std::int64_t i = 0; i < options.layers; ++i) layers_.emplace_back(scope / i, layer);
  }

  Tensor operator()(const Tensor& x) const override {
    Context context;
    Tensor y = x;
    for (const MultiHeadAttention& layer : layers_) y = layer(y, y, y, {}, context);
    return y;
  }

 private:
  std::vector<MultiHeadAttention> layers_;
};

// Attention within a band around the diagonal. The band is cut into blocks of queries, so that its products
// are matrix products, and nothing is computed for keys that no query of a block sees.
class WindowedSelfAttention final : public SequenceEncoder {
 public:
  explicit WindowedSelfAttention(const EncoderOptions& options)
      : layers_(options.layers), window_(options.window) {}

  Tensor operator()(const Tensor& x) const override {
    const AttentionBlocks blocks = attention_blocks(x.size(1), window_);
    const Tensor hidden = ops::full(x, {}, -std::numeric_limits<double>::infinity());
    const Tensor visible = visible_keys(x, blocks);
    Tensor y = x;
    for (std::int64_t layer = 0; layer < layers_; ++layer) y = attend(y, blocks, visible, hidden);
    return y;
  }

 private:
  static Tensor attend(const Tensor& x, const AttentionBlocks& blocks, const Tensor& visible,
                       const Tensor& hidden) {
    const std::int64_t batch = x.size(0), steps = x.size(1), width = x.size(2);
    const std::int64_t beyond = blocks.blocks * blocks.block - steps;
    const std::int64_t after = blocks.keys - blocks.block - blocks.before;
    const auto cut = [&](std::int64_t size, std::int64_t before, std::int64_t behind) {
      const ops::Window window{size, blocks.block, 1, before, behind};
      return ops::unfold_1d(x, window).reshaped({batch, blocks.blocks, size, width});
    };
    const Tensor query =
        beyond == 0 ? x.reshaped({batch, blocks.blocks, blocks.block, width}) : cut(blocks.block, 0, beyond);
    const Tensor key = cut(blocks.keys, blocks.before, beyond + after);
    const Tensor scores = ops::matmul(query, key, {.transpose_b = true, .alpha = reciprocal_root(width)});
    const Tensor weights = ops::masked_softmax(ops::select(visible, scores, hidden));
    const Tensor y = ops::matmul(weights, key).reshaped({batch, blocks.blocks * blocks.block, width});
    return beyond == 0 ? y : ops::slice_axis(y, 1, 0, steps);
  }

  // 1 where a query of a block sees a key of it, [blocks, block, keys]. Queries beyond the sequence see all.
  Tensor visible_keys(const Tensor& like, const AttentionBlocks& blocks) const {
    const std::int64_t steps = like.size(1);
    std::vector<float> visible(static_cast<std::size_t>(blocks.blocks * blocks.block * blocks.keys));
    std::size_t at = 0;
    for (std::int64_t query = 0; query < blocks.blocks * blocks.block; ++query) {
      const std::int64_t first = query / blocks.block * blocks.block - blocks.before;
      for (std::int64_t key = first; key < first + blocks.keys; ++key) {
        const bool inside =
            key >= 0 && key < steps && key >= query - window_ / 2 && key < query - window_ / 2 + window_;
        visible[at++] = inside || query >= steps ? 1.0f : 0.0f;
      }
    }
    return Tensor::from<float>(like.shared_device(), visible, {blocks.blocks, blocks.block, blocks.keys},
                               like.dtype());
  }

  std::int64_t layers_, window_;
};

void check(const EncoderOptions& options) {
  const auto at_least_one = [](const char* name, std::int64_t value) {
    if (value < 1) fail(ExitCode::config, "the {} of an encoder is {}, expected at least 1", name, value);
  };
  at_least_one("width", options.width);
  at_least_one("number of layers", options.layers);
  if (uses_kernel(options.kind)) at_least_one("kernel", options.kernel);
  if (uses_window(options.kind)) at_least_one("window", options.window);
}

}  // namespace

std::string_view name_of(EncoderKind kind) noexcept {
  switch (kind) {
    case EncoderKind::convolution:
      return "convolution";
    case EncoderKind::dilated_convolution:
      return "dilated_convolution";
    case EncoderKind::rnn:
      return "rnn";
    case EncoderKind::gru:
      return "gru";
    case EncoderKind::self_attention:
      return "self_attention";
    case EncoderKind::multi_head_attention:
      return "multi_head_attention";
    case EncoderKind::windowed_attention:
      return "windowed_attention";
  }
  return "?";
}

std::span<const EncoderKind> all_encoder_kinds() noexcept {
  return kinds;
}

AttentionBlocks attention_blocks(std::int64_t steps, std::int64_t window) noexcept {
  // Half of the keys of such a block are seen by a query; smaller blocks would be more and slower products.
  const std::int64_t block = std::clamp<std::int64_t>(window / 2, 1, std::max<std::int64_t>(steps, 1));
  return {block, (steps + block - 1) / block, block + window - 1, window / 2};
}

std::unique_ptr<SequenceEncoder> make_sequence_encoder(const Scope& scope, const EncoderOptions& options) {
  check(options);
  switch (options.kind) {
    case EncoderKind::convolution:
    case EncoderKind::dilated_convolution:
      return std::make_unique<ConvolutionStack>(scope, options);
    case EncoderKind::rnn:
      return std::make_unique<VanillaRnn>(scope, options);
    case EncoderKind::gru:
      return std::make_unique<GruStack>(scope, options);
    case EncoderKind::self_attention:
      return std::make_unique<PlainSelfAttention>(options);
    case EncoderKind::multi_head_attention:
      return std::make_unique<MultiHeadStack>(scope, options);
    case EncoderKind::windowed_attention:
      return std::make_unique<WindowedSelfAttention>(options);
  }
  fail(ExitCode::internal, "an encoder of an unknown kind");
}

}  // namespace attn
