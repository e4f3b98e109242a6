#include <algorithm>

#include "gru.h"
#include "tile_product.h"

namespace attn::eigen {
namespace {

constexpr std::int64_t kDepth = 256;  // rows of states and gate gradients multiplied at once

/// Gradients of the recurrent gates u and the states before each step, for all steps; rows padded with zeros,
/// gates one by one.
template<class T>
struct History {
  std::int64_t width;
  T* d_u;     // [steps, batch, 3 width]
  T* before;  // [steps, batch, width]
  T* weight;  // [3 width, width]
};

/// One row and step. On entry d_state is the gradient of the state after the step, on exit the part of the
/// gradient of the state before it that does not pass through u.
template<class T>
void gate_gradients(std::int64_t hidden, const T* gates, const T* before, const T* d_next, T* d_state, T* d_u,
                    T* d_input, bool add) {
  constexpr std::int64_t kW = kWidth<T>;
  const std::int64_t width = padded<T>(hidden);
  const Vec<T> one = broadcast(T(1));
  for (std::int64_t j = 0; j < hidden; j += kW) {
    const std::int64_t n_lanes = std::min(kW, hidden - j);
    const auto read = [n_lanes](const T* from) {
      return n_lanes == kWidth<T> ? load<T>(from) : load_partial(from, n_lanes);
    };
    const Vec<T> r = read(gates + j), z = read(gates + hidden + j), n = read(gates + 2 * hidden + j);
    const Vec<T> u_n = read(gates + 3 * hidden + j);
    const Vec<T> d = load<T>(d_state + j) + read(d_next + j);
    const Vec<T> d_z = d * (load<T>(before + j) - n) * z * (one - z);
    const Vec<T> d_n = d * (one - z) * (one - n * n);
    const Vec<T> d_r = d_n * u_n * r * (one - r);
    store<T>(d_state + j, d * z);
    store<T>(d_u + j, d_r);
    store<T>(d_u + width + j, d_z);
    store<T>(d_u + 2 * width + j, d_n * r);
    if (d_input == nullptr) continue;
    const auto write = [n_lanes, add, read](T* to, Vec<T> x) {
      if (add) x += read(to);
      if (n_lanes == kWidth<T>)
        store<T>(to, x);
      else
        store_partial(to, n_lanes, x);
    };
    write(d_input + j, d_r);
    write(d_input + hidden + j, d_z);
    write(d_input + 2 * hidden + j, d_n);
  }
}

/// Rows [first, first + rows) of the batch, from the last step to the first.
template<class T>
void backward_rows(const GruSequenceGradient<T>& g, const History<T>& history, std::int64_t first,
                   std::int64_t rows, T* d_state) {
  const auto [steps, batch, hidden] = g.shape;
  const std::int64_t width = history.width;
  std::fill_n(d_state, rows * width, T(0));
  for (std::int64_t t = steps - 1; t >= 0; --t) {
    const std::int64_t line = t * batch + first;
    const T* before = t == 0 ? g.initial_state + first * hidden : g.states + (line - batch) * hidden;
    pack_rows<T>(rows, hidden, before, hidden, T(1), history.before + line * width, width);
    for (std::int64_t i = 0; i < rows; ++i) {
      gate_gradients(hidden, g.gates + (line + i) * 4 * hidden, history.before + (line + i) * width,
                     g.d_states + (line + i) * hidden, d_state + i * width,
                     history.d_u + (line + i) * 3 * width,
                     g.d_input_gates == nullptr ? nullptr : g.d_input_gates + (line + i) * 3 * hidden,
                     g.add_to_input_gates);
    }
    if (t == 0 && g.d_initial_state == nullptr) break;
    tile_product<T, LeftOrder::kRows>(rows, width, 3 * width, history.d_u + line * 3 * width, 3 * width,
                                      history.weight, width, [d_state, width](auto i, auto j, Vec<T> x) {
                                        T* to = d_state + i * width + j;
                                        store<T>(to, load<T>(to) + x);
                                      });
  }
}

template<class T>
void write_row(std::int64_t count, const T* from, bool add, T* to) {
  if (add) {
    for (std::int64_t j = 0; j < count; ++j) to[j] += from[j];
  } else {
    std::copy_n(from, count, to);
  }
}

/// d_weight and d_bias for columns [first, first + columns) of d_u: sums over all steps and rows, in order.
template<class T>
class WeightGradient {
 public:
  WeightGradient(const GruSequenceGradient<T>& gradient, const History<T>& history, std::int64_t columns)
      : g_(gradient), h_(history), columns_(columns) {}

  std::int64_t scratch_size() const { return kDepth * stride() + columns_ * h_.width + stride(); }

  void run(std::int64_t first, T* scratch) const {
    T *d_u = scratch, *d_weight = d_u + kDepth * stride(), *d_bias = d_weight + columns_ * h_.width;
    const std::int64_t columns = std::min(columns_, 3 * h_.width - first);
    const std::int64_t lines = g_.shape.steps * g_.shape.batch;
    std::fill_n(d_weight, columns * h_.width, T(0));
    std::fill_n(d_bias, stride(), T(0));
    for (std::int64_t line = 0; line < lines; line += kDepth) {
      const std::int64_t depth = std::min(kDepth, lines - line);
      pack_rows<T>(depth, columns, h_.d_u + line * 3 * h_.width + first, 3 * h_.width, T(1), d_u, stride());
      for (std::int64_t k = 0; g_.d_bias != nullptr && k < depth; ++k) {
        for (std::int64_t j = 0; j < columns; j += kWidth<T>) {
          store<T>(d_bias + j, load<T>(d_bias + j) + load<T>(d_u + k * stride() + j));
        }
      }
      if (g_.d_weight == nullptr) continue;
      tile_product<T, LeftOrder::kTransposed>(columns, h_.width, depth, d_u, stride(),
                                              h_.before + line * h_.width, h_.width,
                                              [d_weight, width = h_.width](auto i, auto j, Vec<T> x) {
                                                T* to = d_weight + i * width + j;
                                                store<T>(to, load<T>(to) + x);
                                              });
    }
    write(first, columns, d_weight, d_bias);
  }

 private:
  std::int64_t stride() const { return padded<T>(columns_) + kWidth<T>; }

  void write(std::int64_t first, std::int64_t columns, const T* d_weight, const T* d_bias) const {
    const std::int64_t hidden = g_.shape.hidden;
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::int64_t gate = (first + i) / h_.width, unit = (first + i) % h_.width;
      if (unit >= hidden) continue;
      const std::int64_t row = gate * hidden + unit;
      if (g_.d_weight != nullptr) {
        write_row(hidden, d_weight + i * h_.width, g_.add_to_weight, g_.d_weight + row * hidden);
      }
      if (g_.d_bias != nullptr) write_row<T>(1, d_bias + i, g_.add_to_bias, g_.d_bias + row);
    }
  }

  const GruSequenceGradient<T>& g_;
  const History<T>& h_;
  std::int64_t columns_;
};

}  // namespace

template<class T>
void gru_sequence_gradient(const GruSequenceGradient<T>& g, Threads& threads, Workspace& workspace) {
  const auto [steps, batch, hidden] = g.shape;
  const std::int64_t width = padded<T>(hidden), lines = steps * batch, block = gru_rows_per_task(g.shape);
  const auto d_u = workspace.take<T>(lines * 3 * width);
  const auto before = workspace.take<T>(lines * width);
  const auto weight = workspace.take<T>(3 * width * width);
  std::fill_n(weight.data(), 3 * width * width, T(0));
  for (std::int64_t gate = 0; gate < 3; ++gate) {
    pack_rows<T>(hidden, hidden, g.weight + gate * hidden * hidden, hidden, T(1),
                 weight.data() + gate * width * width, width);
  }
  const History<T> history{width, d_u.data(), before.data(), weight.data()};

  threads.parallel((batch + block - 1) / block, [&, batch = batch, hidden = hidden](std::int64_t task) {
    const std::int64_t first = task * block, rows = std::min(block, batch - first);
    const auto d_state = workspace.take<T>(rows * width);
    backward_rows(g, history, first, rows, d_state.data());
    for (std::int64_t i = 0; g.d_initial_state != nullptr && i < rows; ++i) {
      write_row(hidden, d_state.data() + i * width, g.add_to_initial_state,
                g.d_initial_state + (first + i) * hidden);
    }
  });
  if (g.d_weight == nullptr && g.d_bias == nullptr) return;
  const std::int64_t columns = padded<T>(3 * width <= 384 ? 48 : 96);
  const WeightGradient<T> sums(g, history, columns);
  threads.parallel((3 * width + columns - 1) / columns, [&](std::int64_t task) {
    const auto scratch = workspace.take<T>(sums.scratch_size());
    sums.run(task * columns, scratch.data());
  });
}

template void gru_sequence_gradient<float>(const GruSequenceGradient<float>&, Threads&, Workspace&);
template void gru_sequence_gradient<double>(const GruSequenceGradient<double>&, Threads&, Workspace&);

}  // namespace attn::eigen
