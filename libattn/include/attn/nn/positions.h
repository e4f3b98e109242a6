#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "attn/nn/context.h"
#include "attn/nn/parameter.h"

namespace attn {

/// Sinusoidal positional encodings, [count, width] row by row: column 2j holds sin(i / 10000^(2j/width)),
/// column 2j+1 the cosine (Vaswani et al., 2017, section 3.5). An odd width has one sine more than cosines.
std::vector<double> sinusoidal_positions(std::int64_t count, std::int64_t width, double base = 10000.0);

enum class PositionKind { none, sinusoidal, learned };

/// Embedding of tokens, scaled, with positions added and dropout applied, in one operation.
class TokenEmbedding {
 public:
  struct Options {
    double scale = 1.0;  ///< the Transformer scales by sqrt(width)
    PositionKind positions = PositionKind::none;
    std::int64_t max_length = 0;  ///< of learned positions; sinusoidal ones grow as needed
    double dropout = 0.0;
    Initialization initialization = Initialization::normal(1.0);
  };

  TokenEmbedding(const Scope& scope, std::int64_t vocabulary, std::int64_t width, const Options& options);
  /// Shares the table of another embedding.
  TokenEmbedding(const Scope& scope, const TokenEmbedding& tied, const Options& options);

  /// ids i32 [batch, steps] at positions position_offset, position_offset + 1, ... -> [batch, steps, width].
  /// Throws Error(usage) for positions beyond a learned table.
  Tensor operator()(const Tensor& ids, Context& context, std::int64_t position_offset = 0) const;

  /// [vocabulary, width], for an output layer that shares it.
  const Tensor& table() const noexcept { return table_->tensor; }
  const ParameterHandle& table_parameter() const noexcept { return table_; }
  /// Learned positions [max_length, width], or null.
  const ParameterHandle& learned_positions() const noexcept { return learned_; }

 private:
  void add_positions(const Scope& scope);
  Tensor positions_for(std::int64_t count) const;

  ParameterHandle table_, learned_;
  Options options_;
  std::int64_t width_;
  mutable Tensor sinusoids_;  // a cache: [at least the longest sentence so far, width]
};

}  // namespace attn
