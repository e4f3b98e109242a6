#include "attention.h"

#include <cmath>
#include <limits>

#include "tile_product.h"

namespace attn::eigen {
namespace {

constexpr std::int64_t kQueryTile = 48;
constexpr std::int64_t kKeyTile = 256;
constexpr double kLog2E = 1.44269504088896340736;
constexpr double kLn2 = 0.69314718055994530942;

/// The memory that one block of queries of one head needs.
template<class T>
struct Scratch {
  Scratch(Pieces<T>& pieces, const AttentionProblem<T>& p, std::int64_t block) {
    const std::int64_t key_tile = padded<T>(std::min(p.keys, kKeyTile));
    value_stride = padded<T>(p.value_width);
    key_stride = key_tile + kWidth<T>;  // no multiple of a page, or rows would compete for cache lines
    query = pieces.take(block * padded<T>(p.key_width));
    key = pieces.take(p.key_width * key_stride);
    value = pieces.take(std::min(p.keys, kKeyTile) * value_stride);
    scores = pieces.take(std::min(block, kQueryTile) * key_stride);
    output = pieces.take(block * value_stride);
    maximum = pieces.take(block);
    sum = pieces.take(block);
    visible = reinterpret_cast<std::int32_t*>(pieces.take(block));
  }
  std::int64_t value_stride, key_stride;
  T *query, *key, *value, *scores, *output, *maximum, *sum;
  std::int32_t* visible;
};

/// Queries [first, first + rows) of one head.
template<class T>
class Block {
 public:
  Block(const AttentionProblem<T>& problem, const AttentionResult<T>& result, std::int64_t pair,
        std::int64_t first, std::int64_t rows, const Scratch<T>& scratch, DropoutRows<T>& dropout)
      : p_(problem),
        result_(result),
        s_(scratch),
        dropout_(dropout),
        batch_(pair / problem.heads),
        head_(pair % problem.heads),
        pair_(pair),
        first_(first),
        rows_(rows) {}

  void run() {
    const std::int64_t stride = p_.heads * p_.key_width;
    // Scores in units of log 2: the exponentials are then powers of 2.
    pack_rows<T>(rows_, p_.key_width,
                 p_.query + (batch_ * p_.queries + first_) * stride + head_ * p_.key_width, stride,
                 static_cast<T>(p_.scale * kLog2E), s_.query, padded<T>(p_.key_width));
    std::fill_n(s_.output, rows_ * s_.value_stride, T(0));
    std::fill_n(s_.maximum, rows_, -std::numeric_limits<T>::infinity());
    std::fill_n(s_.sum, rows_, T(0));
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < rows_; ++i) {
      const std::int64_t visible = p_.visible.count(batch_, first_ + i, p_.queries, p_.keys);
      s_.visible[i] = static_cast<std::int32_t>(visible);
      most = std::max(most, visible);
    }
    for (std::int64_t key = 0; key < most; key += kKeyTile) {
      const std::int64_t keys = std::min(kKeyTile, most - key);
      pack_keys(key, keys);
      const std::int64_t value_columns = p_.heads * p_.value_width;
      pack_rows<T>(keys, p_.value_width,
                   p_.value + (batch_ * p_.keys + key) * value_columns + head_ * p_.value_width,
                   value_columns, T(1), s_.value, s_.value_stride);
      for (std::int64_t row = 0; row < rows_; row += kQueryTile) add_tile(row, key, keys, most <= kKeyTile);
    }
    finish();
    if (result_.weights != nullptr) {
      if (most > kKeyTile) write_weights(most);
      clear_masked_weights();
    }
  }

 private:
  void pack_keys(std::int64_t key, std::int64_t keys) {
    const std::int64_t stride = p_.heads * p_.key_width;
    pack_transposed<T>(keys, p_.key_width, p_.key + (batch_ * p_.keys + key) * stride + head_ * p_.key_width,
                       stride, s_.key, s_.key_stride);
  }

  /// The keys of the tile at `key` that any of the rows may see.
  std::int64_t keys_in_sight(std::int64_t row, std::int64_t rows, std::int64_t key, std::int64_t keys) const {
    const std::int64_t most = *std::max_element(s_.visible + row, s_.visible + row + rows);
    return std::clamp<std::int64_t>(most - key, 0, keys);
  }

  void compute_scores(std::int64_t row, std::int64_t rows, std::int64_t keys) {
    tile_product<T, LeftOrder::kRows>(rows, padded<T>(keys), p_.key_width,
                                      s_.query + row * padded<T>(p_.key_width), padded<T>(p_.key_width),
                                      s_.key, s_.key_stride,
                                      [scores = s_.scores, stride = s_.key_stride](auto i, auto j, Vec<T> x) {
                                        store<T>(scores + i * stride + j, x);
                                      });
  }

  void add_tile(std::int64_t row, std::int64_t key, std::int64_t keys, bool only_tile) {
    const std::int64_t rows = std::min(kQueryTile, rows_ - row);
    keys = keys_in_sight(row, rows, key, keys);
    if (keys == 0) return;
    compute_scores(row, rows, keys);
    for (std::int64_t i = 0; i < rows; ++i) {
      T* scores = s_.scores + i * s_.key_stride;
      const std::int64_t visible = std::clamp<std::int64_t>(s_.visible[row + i] - key, 0, keys);
      if (visible > 0) exponentials(row + i, scores, visible, key > 0);
      std::fill(scores + std::min(padded<T>(visible), keys), scores + keys, T(0));
      if (only_tile && result_.weights != nullptr && visible > 0) {
        const Vec<T> reciprocal = broadcast(T(1) / s_.sum[row + i]);
        map<T>(visible, scores, weights_of(row + i), [=](Vec<T> x) { return x * reciprocal; });
      }
      if (dropout_.active() && visible > 0) {
        dropout_.apply((pair_ * p_.queries + first_ + row + i) * p_.keys + key, visible, scores, scores);
      }
    }
    tile_product<T, LeftOrder::kRows>(
        rows, s_.value_stride, keys, s_.scores, s_.key_stride, s_.value, s_.value_stride,
        [output = s_.output + row * s_.value_stride, stride = s_.value_stride](auto i, auto j, Vec<T> x) {
          T* to = output + i * stride + j;
          store<T>(to, load<T>(to) + x);
        });
  }

  /// Replaces the first `count` > 0 scores by their exponentials, with zeros up to the end of a vector, and
  /// brings maximum, sum and output up to date.
  void exponentials(std::int64_t row, T* scores, std::int64_t count, bool earlier_tiles) {
    constexpr std::int64_t kW = kWidth<T>;
    const T old = s_.maximum[row];
    const T tile_maximum = largest(scores, count);
    const T now = tile_maximum > old ? tile_maximum : old;
    const Vec<T> shift = broadcast(now == -std::numeric_limits<T>::infinity() ? T(0) : now);
    Vec<T> sum{}, other_sum{};  // two chains of additions, because one takes several cycles a step
    std::int64_t j = 0;
    for (; j + 2 * kW <= count; j += 2 * kW) {
      const Vec<T> weight = exp2_bounded<T>(load<T>(scores + j) - shift);
      const Vec<T> other_weight = exp2_bounded<T>(load<T>(scores + j + kW) - shift);
      store<T>(scores + j, weight);
      store<T>(scores + j + kW, other_weight);
      sum += weight;
      other_sum += other_weight;
    }
    for (; j < count; j += kW) {
      const Vec<T> score =
          first_lanes<T>(count - j, load<T>(scores + j), -std::numeric_limits<T>::infinity());
      const Vec<T> weight = exp2_bounded<T>(score - shift);
      store<T>(scores + j, weight);
      sum += weight;
    }
    T total = horizontal_sum<T>(sum + other_sum);
    if (earlier_tiles) {
      if (now > old) {
        const Vec<T> factor = exp2_bounded<T>(broadcast(old) - shift);
        T* output = s_.output + row * s_.value_stride;
        for (j = 0; j < s_.value_stride; j += kW) store<T>(output + j, load<T>(output + j) * factor);
        total += s_.sum[row] * factor[0];
      } else {
        total += s_.sum[row];
      }
    }
    s_.maximum[row] = now;
    s_.sum[row] = total;
  }

  static T largest(const T* scores, std::int64_t count) {
    constexpr std::int64_t kW = kWidth<T>;
    constexpr T kLeast = -std::numeric_limits<T>::infinity();
    Vec<T> result[4] = {broadcast(kLeast), broadcast(kLeast), broadcast(kLeast), broadcast(kLeast)};
    std::int64_t j = 0;
    for (; j + 4 * kW <= count; j += 4 * kW) {
      ATTN_UNROLL
      for (int i = 0; i < 4; ++i) result[i] = maximum(load<T>(scores + j + i * kW), result[i]);
    }
    for (; j < count; j += kW) {
      result[0] = maximum(first_lanes<T>(count - j, load<T>(scores + j), kLeast), result[0]);
    }
    return horizontal_maximum<T>(maximum(maximum(result[0], result[1]), maximum(result[2], result[3])));
  }

  void finish() {
    const std::int64_t columns = p_.heads * p_.value_width;
    T* output = result_.output + (batch_ * p_.queries + first_) * columns + head_ * p_.value_width;
    T* log_sum_exp = result_.log_sum_exp + pair_ * p_.queries + first_;
    for (std::int64_t i = 0; i < rows_; ++i, output += columns) {
      if (s_.visible[i] == 0) {
        std::fill_n(output, p_.value_width, T(0));
        log_sum_exp[i] = -std::numeric_limits<T>::infinity();
        continue;
      }
      const Vec<T> reciprocal = broadcast(T(1) / s_.sum[i]);
      map<T>(p_.value_width, s_.output + i * s_.value_stride, output,
             [=](Vec<T> x) { return x * reciprocal; });
      log_sum_exp[i] = s_.maximum[i] * static_cast<T>(kLn2) + std::log(s_.sum[i]);
    }
  }

  T* weights_of(std::int64_t row) const {
    return result_.weights + (pair_ * p_.queries + first_ + row) * p_.keys;
  }

  /// The weights of more than one tile, after maximum and sum are known.
  void write_weights(std::int64_t most) {
    for (std::int64_t key = 0; key < most; key += kKeyTile) {
      const std::int64_t tile_keys = std::min(kKeyTile, most - key);
      pack_keys(key, tile_keys);
      for (std::int64_t row = 0; row < rows_; row += kQueryTile) {
        const std::int64_t rows = std::min(kQueryTile, rows_ - row);
        const std::int64_t keys = keys_in_sight(row, rows, key, tile_keys);
        if (keys == 0) continue;
        compute_scores(row, rows, keys);
        for (std::int64_t i = row; i < row + rows; ++i) {
          const std::int64_t visible = std::clamp<std::int64_t>(s_.visible[i] - key, 0, keys);
          const Vec<T> shift = broadcast(s_.maximum[i]), reciprocal = broadcast(T(1) / s_.sum[i]);
          map<T>(visible, s_.scores + (i - row) * s_.key_stride, weights_of(i) + key,
                 [=](Vec<T> x) { return exp2_bounded<T>(x - shift) * reciprocal; });
        }
      }
    }
  }

  void clear_masked_weights() {
    for (std::int64_t i = 0; i < rows_; ++i) {
      std::fill(weights_of(i) + s_.visible[i], weights_of(i) + p_.keys, T(0));
    }
  }

  const AttentionProblem<T>& p_;
  const AttentionResult<T>& result_;
  const Scratch<T>& s_;
  DropoutRows<T>& dropout_;
  std::int64_t batch_, head_, pair_, first_, rows_;
};

}  // namespace

template<class T>
void attention(const AttentionProblem<T>& p, const AttentionResult<T>& result, Threads& threads,
               Workspace& workspace) {
  const std::int64_t pairs = p.batch * p.heads;
  if (pairs == 0 || p.queries == 0) return;
  const std::int64_t longest_block = pairs >= 8 ? 2064 : 528;  // multiples of the query tile
  const std::int64_t blocks = (p.queries + longest_block - 1) / longest_block;
  const std::int64_t block = ((p.queries + blocks - 1) / blocks + kQueryTile - 1) / kQueryTile * kQueryTile;
  const std::int64_t cost = p.queries * p.keys * (2 * (p.key_width + p.value_width) + 40);
  const std::int64_t group = blocks > 1 ? 1 : std::min(pairs, attention_pairs_per_task(cost));
  const std::int64_t groups = (pairs + group - 1) / group;

  threads.parallel(groups * blocks, [&](std::int64_t task) {
    const std::int64_t first = task % blocks * block, rows = std::min(block, p.queries - first);
    if (rows <= 0) return;
    Pieces<T> sizes;
    Scratch<T>(sizes, p, rows);
    const auto memory = workspace.take<T>(sizes.used());
    Pieces<T> pieces(memory.data());
    const Scratch<T> scratch(pieces, p, rows);
    DropoutRows<T> dropout(p.dropout);
    const std::int64_t from = task / blocks * group;
    for (std::int64_t pair = from; pair < std::min(pairs, from + group); ++pair) {
      Block<T>(p, result, pair, first, rows, scratch, dropout).run();
    }
  });
}

template void attention<float>(const AttentionProblem<float>&, const AttentionResult<float>&, Threads&,
                               Workspace&);
template void attention<double>(const AttentionProblem<double>&, const AttentionResult<double>&, Threads&,
                                Workspace&);

}  // namespace attn::eigen
