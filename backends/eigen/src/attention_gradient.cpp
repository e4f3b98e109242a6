#include <cmath>
#include <limits>

#include "attention.h"
#include "tile_product.h"

namespace attn::eigen {
namespace {

constexpr std::int64_t kQueryTile = 48;
constexpr std::int64_t kKeyTile = 192;
constexpr double kLog2E = 1.44269504088896340736;
constexpr double kLn2 = 0.69314718055994530942;

/// The memory that one head needs.
template<class T>
struct Scratch {
  Scratch(Pieces<T>& pieces, const AttentionProblem<T>& p, std::int64_t size_of_part) {
    const std::int64_t keys = std::min(p.keys, kKeyTile), rows = std::min(p.queries, kQueryTile);
    width = padded<T>(p.key_width);
    value_width = padded<T>(p.value_width);
    key_stride = padded<T>(keys) + kWidth<T>;  // no multiple of a page, or rows would compete for cache lines
    query = pieces.take(p.queries * width);
    d_output = pieces.take(p.queries * value_width);
    d_query = pieces.take(p.queries * width);
    d_query_of_part = pieces.take(size_of_part);
    shift = pieces.take(p.queries);
    delta = pieces.take(p.queries);
    key = pieces.take(keys * width);
    key_transposed = pieces.take(p.key_width * key_stride);
    value_transposed = pieces.take(p.value_width * key_stride);
    d_key = pieces.take(keys * width);
    d_value = pieces.take(keys * value_width);
    weights = pieces.take(rows * key_stride);
    d_scores = pieces.take(rows * key_stride);
    mask = pieces.take(p.dropout.active() ? rows * key_stride : 0);
    visible = reinterpret_cast<std::int32_t*>(pieces.take(p.queries));
  }
  std::int64_t width, value_width, key_stride;
  T *query, *d_output, *d_query, *d_query_of_part, *shift, *delta, *key, *key_transposed, *value_transposed,
      *d_key, *d_value, *weights, *d_scores, *mask;
  std::int32_t* visible;
};

template<class T>
void write_row(std::int64_t count, const T* from, T factor, bool add, T* to) {
  const Vec<T> f = broadcast(factor);
  if (!add) {
    map<T>(count, from, to, [=](Vec<T> x) { return x * f; });
    return;
  }
  constexpr std::int64_t kW = kWidth<T>;
  std::int64_t j = 0;
  for (; j + kW <= count; j += kW) store<T>(to + j, load<T>(to + j) + load<T>(from + j) * f);
  if (j < count) {
    store_partial(to + j, count - j, load_partial(to + j, count - j) + load_partial(from + j, count - j) * f);
  }
}

/// One head, and of its keys those in [first, last).
template<class T>
class Head {
 public:
  Head(const AttentionProblem<T>& problem, const AttentionGradient<T>& gradient, std::int64_t pair,
       const Scratch<T>& scratch, DropoutRows<T>& dropout)
      : p_(problem),
        g_(gradient),
        s_(scratch),
        dropout_(dropout),
        batch_(pair / problem.heads),
        head_(pair % problem.heads),
        pair_(pair),
        needs_scores_(gradient.d_query != nullptr || gradient.d_key != nullptr) {}

  /// The gradient with respect to the queries remains in scratch.d_query, not yet scaled.
  void run(std::int64_t first, std::int64_t last) {
    prepare();
    for (std::int64_t key = first; key < last; key += kKeyTile) add_keys(key, std::min(kKeyTile, last - key));
  }

  void write_d_query() const {
    if (g_.d_query == nullptr) return;
    const std::int64_t stride = p_.heads * p_.key_width;
    T* to = g_.d_query + batch_ * p_.queries * stride + head_ * p_.key_width;
    for (std::int64_t i = 0; i < p_.queries; ++i) {
      write_row<T>(p_.key_width, s_.d_query + i * s_.width, static_cast<T>(p_.scale), g_.add_to_query,
                   to + i * stride);
    }
  }

 private:
  void prepare() {
    const std::int64_t stride = p_.heads * p_.key_width, value_stride = p_.heads * p_.value_width;
    pack_rows<T>(p_.queries, p_.key_width, p_.query + batch_ * p_.queries * stride + head_ * p_.key_width,
                 stride, static_cast<T>(p_.scale * kLog2E), s_.query, s_.width);
    const std::int64_t offset = batch_ * p_.queries * value_stride + head_ * p_.value_width;
    pack_rows<T>(p_.queries, p_.value_width, g_.d_output + offset, value_stride, T(1), s_.d_output,
                 s_.value_width);
    std::fill_n(s_.d_query, p_.queries * s_.width, T(0));
    for (std::int64_t i = 0; i < p_.queries; ++i) {
      s_.visible[i] = static_cast<std::int32_t>(p_.visible.count(batch_, i, p_.queries, p_.keys));
      s_.shift[i] = g_.log_sum_exp[pair_ * p_.queries + i] * static_cast<T>(kLog2E);
      s_.delta[i] = dot(s_.d_output + i * s_.value_width, g_.output + offset + i * value_stride);
    }
  }

  T dot(const T* padded_row, const T* row) const {
    constexpr std::int64_t kW = kWidth<T>;
    Vec<T> sum{};
    std::int64_t j = 0;
    for (; j + kW <= p_.value_width; j += kW) sum += load<T>(padded_row + j) * load<T>(row + j);
    if (j < p_.value_width) sum += load<T>(padded_row + j) * load_partial(row + j, p_.value_width - j);
    return horizontal_sum<T>(sum);
  }

  void add_keys(std::int64_t key, std::int64_t keys) {
    const std::int64_t stride = p_.heads * p_.key_width, value_stride = p_.heads * p_.value_width;
    const T* from = p_.key + (batch_ * p_.keys + key) * stride + head_ * p_.key_width;
    pack_rows<T>(keys, p_.key_width, from, stride, T(1), s_.key, s_.width);
    pack_transposed<T>(keys, p_.key_width, from, stride, s_.key_transposed, s_.key_stride);
    pack_transposed<T>(keys, p_.value_width,
                       p_.value + (batch_ * p_.keys + key) * value_stride + head_ * p_.value_width,
                       value_stride, s_.value_transposed, s_.key_stride);
    std::fill_n(s_.d_key, keys * s_.width, T(0));
    std::fill_n(s_.d_value, keys * s_.value_width, T(0));
    for (std::int64_t row = 0; row < p_.queries; row += kQueryTile) add_tile(row, key, keys);

    for (std::int64_t j = 0; j < keys; ++j) {
      const std::int64_t line = batch_ * p_.keys + key + j;
      if (g_.d_key != nullptr) {  // the packed queries carry the factor scale / log 2
        write_row<T>(p_.key_width, s_.d_key + j * s_.width, static_cast<T>(kLn2), g_.add_to_key,
                     g_.d_key + line * stride + head_ * p_.key_width);
      }
      if (g_.d_value != nullptr) {
        write_row<T>(p_.value_width, s_.d_value + j * s_.value_width, T(1), g_.add_to_value,
                     g_.d_value + line * value_stride + head_ * p_.value_width);
      }
    }
  }

  void add_tile(std::int64_t row, std::int64_t key, std::int64_t keys) {
    const std::int64_t rows = std::min(kQueryTile, p_.queries - row);
    const std::int64_t most = *std::max_element(s_.visible + row, s_.visible + row + rows);
    keys = std::clamp<std::int64_t>(most - key, 0, keys);
    if (keys == 0) return;
    compute_weights(row, rows, key, keys);
    if (dropout_.active()) {
      for (std::int64_t i = 0; i < rows; ++i) {
        dropout_.fill((pair_ * p_.queries + row + i) * p_.keys + key, keys, s_.mask + i * s_.key_stride);
      }
      if (needs_scores_) compute_d_scores<true>(row, rows, keys);
      for (std::int64_t i = 0; i < rows; ++i) {
        T* weights = s_.weights + i * s_.key_stride;
        const T* mask = s_.mask + i * s_.key_stride;
        for (std::int64_t j = 0; j < keys; ++j) weights[j] *= mask[j];
      }
    } else if (needs_scores_) {
      compute_d_scores<false>(row, rows, keys);
    }
    if (g_.d_value != nullptr) {
      accumulate<LeftOrder::kTransposed>(keys, s_.value_width, rows, s_.weights,
                                         s_.d_output + row * s_.value_width, s_.d_value);
    }
    if (g_.d_key != nullptr) {
      accumulate<LeftOrder::kTransposed>(keys, s_.width, rows, s_.d_scores, s_.query + row * s_.width,
                                         s_.d_key);
    }
    if (g_.d_query != nullptr) {
      accumulate<LeftOrder::kRows>(rows, s_.width, keys, s_.d_scores, s_.key, s_.d_query + row * s_.width);
    }
  }

  /// to [rows, columns] += left right, where left is a tile of weights or of gradients of scores.
  template<LeftOrder Order>
  void accumulate(std::int64_t rows, std::int64_t columns, std::int64_t depth, const T* left, const T* right,
                  T* to) const {
    tile_product<T, Order>(rows, columns, depth, left, s_.key_stride, right, columns,
                           [to, columns](auto i, auto j, Vec<T> x) {
                             T* element = to + i * columns + j;
                             store<T>(element, load<T>(element) + x);
                           });
  }

  void compute_weights(std::int64_t row, std::int64_t rows, std::int64_t key, std::int64_t keys) {
    tile_product<T, LeftOrder::kRows>(
        rows, padded<T>(keys), p_.key_width, s_.query + row * s_.width, s_.width, s_.key_transposed,
        s_.key_stride,
        [weights = s_.weights, stride = s_.key_stride, shift = s_.shift + row](auto i, auto j, Vec<T> x) {
          store<T>(weights + i * stride + j, exp2_bounded<T>(x - broadcast(shift[i])));
        });
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t visible = std::clamp<std::int64_t>(s_.visible[row + i] - key, 0, keys);
      std::fill(s_.weights + i * s_.key_stride + visible, s_.weights + i * s_.key_stride + keys, T(0));
    }
  }

  template<bool Dropout>
  void compute_d_scores(std::int64_t row, std::int64_t rows, std::int64_t keys) {
    tile_product<T, LeftOrder::kRows>(
        rows, padded<T>(keys), p_.value_width, s_.d_output + row * s_.value_width, s_.value_width,
        s_.value_transposed, s_.key_stride,
        [weights = s_.weights, d_scores = s_.d_scores, mask = s_.mask, stride = s_.key_stride,
         delta = s_.delta + row](auto i, auto j, Vec<T> x) {
          const std::int64_t at = i * stride + j;
          if (Dropout) x = x * load<T>(mask + at);
          store<T>(d_scores + at, load<T>(weights + at) * (x - broadcast(delta[i])));
        });
  }

  const AttentionProblem<T>& p_;
  const AttentionGradient<T>& g_;
  const Scratch<T>& s_;
  DropoutRows<T>& dropout_;
  std::int64_t batch_, head_, pair_;
  bool needs_scores_;
};

/// Parts of the keys of a head whose gradients of the queries are added up one after another. By the number
/// of keys alone: the sum must not show how many heads there are.
class KeyParts {
 public:
  explicit KeyParts(std::int64_t keys)
      : keys_(keys),
        count_(std::clamp<std::int64_t>(keys / 512, 1, 8)),
        length_(((keys + count_ - 1) / count_ + kKeyTile - 1) / kKeyTile * kKeyTile) {}

  std::int64_t count() const { return count_; }
  template<class T>
  void run(Head<T>& head, std::int64_t part) const {
    head.run(part * length_, std::min(keys_, (part + 1) * length_));
  }

 private:
  std::int64_t keys_, count_, length_;
};

/// One head by one task.
template<class T>
void run_head(const AttentionProblem<T>& p, const AttentionGradient<T>& g, const KeyParts& parts,
              std::int64_t pair, Scratch<T> scratch, DropoutRows<T>& dropout) {
  Head<T> first(p, g, pair, scratch, dropout);
  parts.run(first, 0);
  T* const sum = scratch.d_query;
  for (std::int64_t part = 1; part < parts.count(); ++part) {
    scratch.d_query = scratch.d_query_of_part;
    Head<T> next(p, g, pair, scratch, dropout);
    parts.run(next, part);
    for (std::int64_t i = 0; i < p.queries * scratch.width; i += kWidth<T>) {
      store<T>(sum + i, load<T>(sum + i) + load<T>(scratch.d_query + i));
    }
  }
  scratch.d_query = sum;
  first.write_d_query();
}

/// d_query = scale * the sum of the parts, in their order.
template<class T>
void sum_parts(const AttentionProblem<T>& p, const AttentionGradient<T>& g, const T* parts,
               std::int64_t count, std::int64_t pair, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t kW = kWidth<T>;
  const std::int64_t width = padded<T>(p.key_width), size = p.queries * width, stride = p.heads * p.key_width;
  const T* from = parts + pair * count * size;
  T* to = g.d_query + pair / p.heads * p.queries * stride + pair % p.heads * p.key_width;
  const Vec<T> scale = broadcast(static_cast<T>(p.scale));
  for (std::int64_t i = first; i < last; ++i) {
    for (std::int64_t j = 0; j < p.key_width; j += kW) {
      Vec<T> sum = load<T>(from + i * width + j);
      for (std::int64_t part = 1; part < count; ++part) sum += load<T>(from + part * size + i * width + j);
      const std::int64_t n = std::min(kW, p.key_width - j);
      T* element = to + i * stride + j;
      if (g.add_to_query)
        store_partial(element, n, load_partial(element, n) + sum * scale);
      else
        store_partial(element, n, sum * scale);
    }
  }
}

}  // namespace

template<class T>
void attention_gradient(const AttentionProblem<T>& p, const AttentionGradient<T>& g, Threads& threads,
                        Workspace& workspace) {
  const std::int64_t pairs = p.batch * p.heads;
  if (pairs == 0) return;
  const KeyParts parts(p.keys);
  // So that few heads also keep several threads busy.
  const bool split = parts.count() > 1 && pairs < 8;
  const std::int64_t tasks_of_a_pair = split ? parts.count() : 1;
  const std::int64_t cost = p.queries * p.keys * (5 * (p.key_width + p.value_width) + 60);
  const std::int64_t group = split ? 1 : std::min(pairs, attention_pairs_per_task(cost));
  const std::int64_t groups = (pairs + group - 1) / group;
  const std::int64_t size = p.queries * padded<T>(p.key_width);
  const auto partial = workspace.take<T>(split ? pairs * parts.count() * size : 0);

  threads.parallel(groups * tasks_of_a_pair, [&](std::int64_t task) {
    const std::int64_t own_sum = parts.count() > 1 && !split ? size : 0;
    Pieces<T> sizes;
    Scratch<T>(sizes, p, own_sum);
    const auto memory = workspace.take<T>(sizes.used());
    Pieces<T> pieces(memory.data());
    Scratch<T> scratch(pieces, p, own_sum);
    DropoutRows<T> dropout(p.dropout);
    if (split) {
      scratch.d_query = partial.data() + task * size;
      Head<T> head(p, g, task / parts.count(), scratch, dropout);
      parts.run(head, task % parts.count());
      return;
    }
    const std::int64_t last = std::min(pairs, (task + 1) * group);
    for (std::int64_t pair = task * group; pair < last; ++pair) run_head(p, g, parts, pair, scratch, dropout);
  });
  if (!split || g.d_query == nullptr) return;
  constexpr std::int64_t kRowsOfATask = 512;
  const std::int64_t blocks = (p.queries + kRowsOfATask - 1) / kRowsOfATask;
  threads.parallel(pairs * blocks, [&](std::int64_t task) {
    const std::int64_t first = task % blocks * kRowsOfATask;
    sum_parts(p, g, partial.data(), parts.count(), task / blocks, first,
              std::min(p.queries, first + kRowsOfATask));
  });
}

template void attention_gradient<float>(const AttentionProblem<float>&, const AttentionGradient<float>&,
                                        Threads&, Workspace&);
template void attention_gradient<double>(const AttentionProblem<double>&, const AttentionGradient<double>&,
                                         Threads&, Workspace&);

}  // namespace attn::eigen
