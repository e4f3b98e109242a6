#include "attn/nn/positions.h"

#include <algorithm>
#include <cmath>

#include "attn/core/error.h"

namespace attn {

std::vector<double> sinusoidal_positions(std::int64_t count, std::int64_t width, double base) {
  std::vector<double> values(static_cast<std::size_t>(count * width));
  for (std::int64_t position = 0; position < count; ++position) {
    for (std::int64_t column = 0; column < width; ++column) {
      const std::int64_t even = column - column % 2;
      const double exponent = static_cast<double>(even) / static_cast<double>(width);
      const double angle = static_cast<double>(position) / std::pow(base, exponent);
      values[static_cast<std::size_t>(position * width + column)] =
          column % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return values;
}

TokenEmbedding::TokenEmbedding(const Scope& scope, std::int64_t vocabulary, std::int64_t width,
                               const Options& options)
    : table_(scope.parameter("weight", {vocabulary, width}, options.initialization)),
      options_(options),
      width_(width) {
  add_positions(scope);
}

TokenEmbedding::TokenEmbedding(const Scope& scope, const TokenEmbedding& tied, const Options& options)
    : table_(tied.table_), options_(options), width_(tied.width_) {
  add_positions(scope);
}

void TokenEmbedding::add_positions(const Scope& scope) {
  if (options_.positions != PositionKind::learned) return;
  learned_ = scope.parameter("positions", {options_.max_length, width_}, Initialization::normal(0.02));
}

Tensor TokenEmbedding::operator()(const Tensor& ids, Context& context, std::int64_t position_offset) const {
  const ops::EmbedOptions options{options_.scale, position_offset, -1, context.dropout(options_.dropout)};
  return ops::embed(table_->tensor, ids, positions_for(ids.size(-1) + position_offset), options);
}

Tensor TokenEmbedding::positions_for(std::int64_t count) const {
  if (options_.positions == PositionKind::none) return {};
  if (options_.positions == PositionKind::learned) {
    if (count > options_.max_length) {
      fail(
          ExitCode::usage,
          "a sentence of {} tokens is longer than the learned table of {} positions; crop it or train with a "
          "larger model.max_length",
          count, options_.max_length);
    }
    return learned_->tensor;
  }
  if (!sinusoids_.defined() || sinusoids_.size(0) < count) {
    const std::int64_t rows = std::max<std::int64_t>(64, count * 2);
    const Tensor& table = table_->tensor;
    sinusoids_ = Tensor::from<double>(table.shared_device(), sinusoidal_positions(rows, width_),
                                      {rows, width_}, table.dtype());
  }
  return sinusoids_;
}

}  // namespace attn
