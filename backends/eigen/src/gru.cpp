#include "gru.h"

#include <algorithm>

#include "tile_product.h"

namespace attn::eigen {

std::int64_t gru_rows_per_task(const GruShape& shape) {
  constexpr std::int64_t kCostOfATask = 1 << 19, kRows = 12;  // a multiple of the rows of a tile
  const std::int64_t cost = std::max<std::int64_t>(1, shape.steps * 3 * shape.hidden * (shape.hidden + 40));
  return (kCostOfATask / cost + kRows) / kRows * kRows;
}

namespace {

/// u [rows, 3 padded hidden] = state weight^T, without bias. The three gates are padded one by one.
template<class T>
class RecurrentProduct {
 public:
  RecurrentProduct(const GruShape& shape, const T* weight, T* packed)
      : hidden_(shape.hidden), weight_(weight), packed_(packed) {
    if (packed == nullptr) return;
    for (std::int64_t gate = 0; gate < 3; ++gate) {
      pack_transposed<T>(hidden_, hidden_, weight + gate * hidden_ * hidden_, hidden_,
                         packed + gate * padded<T>(hidden_), stride());
    }
  }

  /// Packing pays only for several products with the same weight.
  static std::int64_t packed_size(const GruShape& shape) {
    return shape.steps * shape.batch < 5 ? 0 : shape.hidden * 3 * padded<T>(shape.hidden);
  }

  void run(std::int64_t rows, const T* state, T* u) const {
    if (packed_ == nullptr) {
      for (std::int64_t row = 0; row < rows; ++row) multiply_row(state + row * hidden_, u + row * stride());
      return;
    }
    tile_product<T, LeftOrder::kRows>(
        rows, stride(), hidden_, state, hidden_, packed_, stride(),
        [u, stride = stride()](auto i, auto j, Vec<T> x) { store<T>(u + i * stride + j, x); });
  }

 private:
  std::int64_t stride() const { return 3 * padded<T>(hidden_); }

  // The same chain of products for every element as with a packed weight, so that the bits are the same: a
  // row must not show how many rows there are.
  void multiply_row(const T* state, T* u) const {
    constexpr std::int64_t kW = kWidth<T>;
    for (std::int64_t gate = 0; gate < 3; ++gate) {
      const T* weight = weight_ + gate * hidden_ * hidden_;
      for (std::int64_t j = 0; j < hidden_; j += kW) {
        const std::int64_t lanes = std::min(kW, hidden_ - j);
        store<T>(u + gate * padded<T>(hidden_) + j, products(state, weight + j * hidden_, lanes));
      }
    }
  }

  // state times the transpose of `lanes` rows of the weight; 0 in the other lanes.
  Vec<T> products(const T* state, const T* weight, std::int64_t lanes) const {
    constexpr std::int64_t kW = kWidth<T>;
    Vec<T> sum{};
    std::int64_t k = 0;
    for (; lanes == kW && k + kW <= hidden_; k += kW) {
      Vec<T> square[kW];
      ATTN_UNROLL
      for (std::int64_t i = 0; i < kW; ++i) square[i] = load<T>(weight + i * hidden_ + k);
      transpose<T>(square);
      ATTN_UNROLL
      for (std::int64_t i = 0; i < kW; ++i) sum += broadcast(state[k + i]) * square[i];
    }
    for (; k < hidden_; ++k) {
      Vec<T> column{};
      for (std::int64_t i = 0; i < lanes; ++i) column[i] = weight[i * hidden_ + k];
      sum += broadcast(state[k]) * column;
    }
    return sum;
  }

  std::int64_t hidden_;
  const T* weight_;
  const T* packed_;
};

/// One row and step. u [3 padded hidden], bias padded likewise.
template<class T>
void apply_gates(std::int64_t hidden, const T* a, const T* u, const T* bias, const T* state, T* next,
                 T* gates) {
  constexpr std::int64_t kW = kWidth<T>;
  const std::int64_t width = padded<T>(hidden);
  const auto piece = [&](std::int64_t j, auto read, auto write) {
    const Vec<T> r = sigmoid<T>(read(a + j) + (load<T>(u + j) + load<T>(bias + j)));
    const Vec<T> z = sigmoid<T>(read(a + hidden + j) + (load<T>(u + width + j) + load<T>(bias + width + j)));
    const Vec<T> u_n = load<T>(u + 2 * width + j) + load<T>(bias + 2 * width + j);
    const Vec<T> n = hyperbolic_tangent<T>(read(a + 2 * hidden + j) + r * u_n);
    write(next + j, (broadcast(T(1)) - z) * n + z * read(state + j));
    write(gates + j, r);
    write(gates + hidden + j, z);
    write(gates + 2 * hidden + j, n);
    write(gates + 3 * hidden + j, u_n);
  };
  std::int64_t j = 0;
  for (; j + kW <= hidden; j += kW) {
    piece(
        j, [](const T* from) { return load<T>(from); }, [](T* to, Vec<T> x) { store<T>(to, x); });
  }
  if (j < hidden) {
    const std::int64_t rest = hidden - j;
    piece(
        j, [rest](const T* from) { return load_partial(from, rest); },
        [rest](T* to, Vec<T> x) { store_partial(to, rest, x); });
  }
}

}  // namespace

template<class T>
void gru_sequence(const GruSequence<T>& s, Threads& threads, Workspace& workspace) {
  const auto [steps, batch, hidden] = s.shape;
  if (steps == 0 || batch == 0 || hidden == 0) return;
  const std::int64_t width = padded<T>(hidden), block = gru_rows_per_task(s.shape);
  const std::int64_t packed_size = RecurrentProduct<T>::packed_size(s.shape);
  const auto packed = workspace.take<T>(packed_size);
  const RecurrentProduct<T> product(s.shape, s.weight, packed_size > 0 ? packed.data() : nullptr);
  const auto bias = workspace.take<T>(3 * width);
  std::fill_n(bias.data(), 3 * width, T(0));
  for (std::int64_t gate = 0; s.bias != nullptr && gate < 3; ++gate) {
    std::copy_n(s.bias + gate * hidden, hidden, bias.data() + gate * width);
  }

  threads.parallel(
      (batch + block - 1) / block, [&, steps = steps, batch = batch, hidden = hidden](std::int64_t task) {
        const std::int64_t first = task * block, rows = std::min(block, batch - first);
        const auto u = workspace.take<T>(rows * 3 * width);
        const T* state = s.initial_state + first * hidden;
        for (std::int64_t t = 0; t < steps; ++t) {
          product.run(rows, state, u.data());
          T* next = s.states + (t * batch + first) * hidden;
          for (std::int64_t i = 0; i < rows; ++i) {
            const std::int64_t line = t * batch + first + i;
            apply_gates(hidden, s.input_gates + line * 3 * hidden, u.data() + i * 3 * width, bias.data(),
                        state + i * hidden, next + i * hidden, s.gates + line * 4 * hidden);
          }
          state = next;
        }
      });
}

template void gru_sequence<float>(const GruSequence<float>&, Threads&, Workspace&);
template void gru_sequence<double>(const GruSequence<double>&, Threads&, Workspace&);

}  // namespace attn::eigen
