#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "attn/nn/layers.h"

/// Recurrent layers. Sequences are [steps, batch, width]; a single step is a sequence of one.
namespace attn {

enum class RecurrentCell { gru, lstm };

/// What a stack of recurrent layers remembers: tensors [batch, hidden], one for each layer.
struct RecurrentState {
  // NOLINTNEXTLINE(google-explicit-constructor): the states of a GRU are just tensors
  RecurrentState(std::vector<Tensor> states = {}, std::vector<Tensor> memories = {})
      : hidden(std::move(states)), cells(std::move(memories)) {}

  std::vector<Tensor> hidden;
  std::vector<Tensor> cells;  ///< the memory cells of an LSTM; a GRU has none
};

/// Where the sentences of a batch lie among the rows of [steps, batch, ...]; row t * batch + b is step t of
/// sentence b.
struct SentenceRows {
  Tensor last;  ///< i32 [batch]: after which row a state is taken; absent: after the last step
  Tensor
      reversed;  ///< i32 [steps * batch]: the row from which each row comes when every sentence is reversed
                 ///< in its place, the padding staying where it is; needed by a bidirectional stack
};

struct RecurrentResult {
  Tensor outputs;              ///< of the last layer, [steps, batch, width]
  std::vector<Tensor> states;  ///< of each layer, [batch, width]
  std::vector<Tensor> cells;   ///< of each layer of an LSTM, [batch, width]

  RecurrentState state() const { return {states, cells}; }
};

/// A stack of GRU or LSTM layers in PyTorch's convention: gates reset, update, new (Cho et al., 2014) or
/// input, forget, new, output (Hochreiter & Schmidhuber, 1997; Gers et al., 2000); one bias beside each of
/// the two products.
class RecurrentStack {
 public:
  struct Options {
    RecurrentCell cell = RecurrentCell::gru;
    std::int64_t input = 0;
    std::int64_t hidden = 0;  ///< of each direction
    std::int64_t layers = 1;
    double dropout = 0.0;        ///< between layers
    bool bidirectional = false;  ///< every layer reads in both directions (Schuster & Paliwal, 1997)
  };

  /// Weights weight_ih_l0 [gates * hidden, input], weight_hh_l0 [gates * hidden, hidden] (Xavier), biases
  /// bias_ih_l0 and bias_hh_l0 uniform within 1/sqrt(hidden), and so on for each layer; those of the second
  /// direction end in _reverse. A GRU has 3 gates, an LSTM 4.
  RecurrentStack(const Scope& scope, const Options& options);

  /// x [steps, batch, input]; `initial` has a state for each layer, or none for zeros (a bidirectional stack
  /// always starts from zeros). Outputs and states of both directions lie side by side: forward, backward.
  /// The state of a direction is that after the last row it reads of a sentence, as `rows` says.
  RecurrentResult operator()(const Tensor& x, const RecurrentState& initial, Context& context,
                             const SentenceRows& rows = {}) const;

  std::int64_t layers() const noexcept { return static_cast<std::int64_t>(layers_.size()); }
  std::int64_t hidden() const noexcept { return options_.hidden; }
  /// Of the outputs and states.
  std::int64_t width() const noexcept { return options_.hidden * (options_.bidirectional ? 2 : 1); }

 private:
  struct Direction {
    ParameterHandle weight_ih, weight_hh, bias_ih, bias_hh;
  };
  struct Layer {
    Direction forward;
    std::optional<Direction> backward;
  };
  // What one direction of one layer gives.
  struct Read {
    Tensor outputs, state, cell;
  };

  Direction declare(const Scope& scope, std::int64_t layer, const char* suffix) const;
  Read read(const Direction& direction, const Tensor& x, const Tensor& hidden, const Tensor& cell,
            const Tensor& last) const;
  Read read_both(const Layer& layer, const Tensor& x, const SentenceRows& rows) const;

  Options options_;
  std::vector<Layer> layers_;
};

/// States [steps, batch, hidden] of an LSTM, and its memory cells after each step, [batch, hidden]:
/// i, f, o = sigmoid, g = tanh of input_gates + weight h + bias, c' = f c + i g, h' = o tanh(c').
struct LstmSequence {
  Tensor states;
  std::vector<Tensor> cells;
};
/// input_gates [steps, batch, 4 hidden] is the input projection with its bias, gates in the order i, f, g, o;
/// states and cells start from [batch, hidden]; weight [4 hidden, hidden], bias [4 hidden].
LstmSequence lstm_sequence(const Tensor& input_gates, const Tensor& initial_state, const Tensor& initial_cell,
                           const Tensor& weight, const Tensor& bias);

}  // namespace attn
