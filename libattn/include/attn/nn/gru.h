#pragma once
#include <cstdint>
#include <vector>

#include "attn/nn/layers.h"

namespace attn {

/// A stack of gated recurrent units in PyTorch's convention (gates reset, update, new; Cho et al., 2014).
/// Sequences are [steps, batch, width]; a single step is a sequence of one.
class GRU {
 public:
  /// Weights weight_ih_l0 [3 hidden, input], weight_hh_l0 [3 hidden, hidden] (Xavier), biases uniform within
  /// 1/sqrt(hidden), and so on for each layer. `dropout` acts between layers.
  GRU(const Scope& scope, std::int64_t input, std::int64_t hidden, std::int64_t layers, double dropout);

  struct Result {
    Tensor outputs;              ///< of the last layer, [steps, batch, hidden]
    std::vector<Tensor> states;  ///< of each layer, [batch, hidden]
  };
  /// x [steps, batch, input]; `initial` has a state [batch, hidden] for each layer, or is empty for zeros.
  /// The resulting states are those of the last step, or, if given, those of rows `final_rows` (i32 [batch])
  /// of the states seen as [steps * batch, hidden]: row t * batch + b is step t of sentence b.
  Result operator()(const Tensor& x, const std::vector<Tensor>& initial, Context& context,
                    const Tensor& final_rows = {}) const;

  std::int64_t layers() const noexcept { return static_cast<std::int64_t>(layers_.size()); }
  std::int64_t hidden() const noexcept { return hidden_; }

 private:
  struct Layer {
    ParameterHandle weight_ih, weight_hh, bias_ih, bias_hh;
  };

  std::vector<Layer> layers_;
  std::int64_t hidden_;
  double dropout_;
};

}  // namespace attn
