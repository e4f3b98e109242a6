#pragma once
#include <cstdint>

#include "attn/nn/recurrent.h"

namespace attn {

/// A stack of gated recurrent units that reads in one direction.
class GRU : public RecurrentStack {
 public:
  using Result = RecurrentResult;

  /// `dropout` acts between layers.
  GRU(const Scope& scope, std::int64_t input, std::int64_t hidden, std::int64_t layers, double dropout)
      : RecurrentStack(scope, {RecurrentCell::gru, input, hidden, layers, dropout, false}) {}
};

}  // namespace attn
