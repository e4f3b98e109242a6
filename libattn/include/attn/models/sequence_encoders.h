#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "attn/nn/parameter.h"

/// Plain encoders that map a sequence [batch, steps, width] to a sequence of the same shape: the layers that
/// "Self-Attention and Positional Encoding" of Dive into Deep Learning and table 1 of Vaswani et al. (2017)
/// compare, without embedding, normalisation or residual connections around them.
namespace attn {

enum class EncoderKind {
  convolution,           ///< 1-D convolution with bias; tanh between layers
  dilated_convolution,   ///< the same, layer l with dilation kernel^l, causal (Kalchbrenner et al., 2016)
  rnn,                   ///< h = tanh(W_x x + W_h h + b), step by step (Elman, 1990)
  gru,                   ///< gated recurrent units (Cho et al., 2014)
  self_attention,        ///< softmax(x x^T / sqrt(width)) x: one head, no parameters
  multi_head_attention,  ///< with projections of queries, keys, values and output (Vaswani et al., 2017)
  windowed_attention,    ///< self_attention in which a query sees the `window` keys around it
};

/// "convolution", "dilated_convolution", "rnn", "gru", "self_attention", "multi_head_attention",
/// "windowed_attention".
std::string_view name_of(EncoderKind kind) noexcept;
/// All kinds, in the order of the enumeration.
std::span<const EncoderKind> all_encoder_kinds() noexcept;

struct EncoderOptions {
  EncoderKind kind = EncoderKind::convolution;
  std::int64_t width = 64;   ///< of inputs, states and outputs
  std::int64_t layers = 1;   ///< stacked, each with parameters of its own
  std::int64_t kernel = 3;   ///< of convolutions
  std::int64_t heads = 1;    ///< of multi_head_attention; divides width
  std::int64_t window = 64;  ///< of windowed_attention: query i sees keys i - window/2 ... + window - 1
  /// Plain convolutions see steps up to their own only; otherwise a window lies around its step, with
  /// kernel / 2 steps before it.
  bool causal = true;
};

/// Which of the options the cost of a kind depends on, besides width, layers and the input's shape.
constexpr bool uses_kernel(EncoderKind kind) noexcept {
  return kind == EncoderKind::convolution || kind == EncoderKind::dilated_convolution;
}
constexpr bool uses_heads(EncoderKind kind) noexcept {
  return kind == EncoderKind::multi_head_attention;
}
constexpr bool uses_window(EncoderKind kind) noexcept {
  return kind == EncoderKind::windowed_attention;
}
constexpr bool is_recurrent(EncoderKind kind) noexcept {
  return kind == EncoderKind::rnn || kind == EncoderKind::gru;
}

/// How windowed attention lays a sequence out: blocks of queries, each with all keys that one of its queries
/// sees. Its cost is that of `blocks` products of [block, width] with [keys, width].
struct AttentionBlocks {
  std::int64_t block = 1;   ///< queries of a block
  std::int64_t blocks = 1;  ///< the last one may be partly beyond the sequence
  std::int64_t keys = 1;    ///< of a block: block + window - 1
  std::int64_t before = 0;  ///< keys before the first query of a block
};
AttentionBlocks attention_blocks(std::int64_t steps, std::int64_t window) noexcept;

class SequenceEncoder {
 public:
  SequenceEncoder() = default;
  SequenceEncoder(const SequenceEncoder&) = delete;
  SequenceEncoder& operator=(const SequenceEncoder&) = delete;
  SequenceEncoder(SequenceEncoder&&) = delete;
  SequenceEncoder& operator=(SequenceEncoder&&) = delete;
  virtual ~SequenceEncoder() = default;

  /// x [batch, steps, width] -> [batch, steps, width].
  virtual Tensor operator()(const Tensor& x) const = 0;
};

/// Declares the parameters under `scope`; use the encoder after scope.store().materialise(). Throws
/// Error(config) for sizes below 1 and for heads that do not divide the width.
std::unique_ptr<SequenceEncoder> make_sequence_encoder(const Scope& scope, const EncoderOptions& options);

}  // namespace attn
