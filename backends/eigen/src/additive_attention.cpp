#include "additive_attention.h"

#include <algorithm>
#include <limits>

#include "tile_product.h"

namespace attn::eigen {
namespace {

/// Batch entries of one task; a hyperbolic tangent counts as twenty products.
template<class T>
std::int64_t entries_per_task(const AdditiveAttentionProblem<T>& p) {
  const std::int64_t cost = p.queries * p.keys * (20 * p.units + 2 * p.value_width + 40);
  return std::min(std::max<std::int64_t>(p.batch, 1), attention_pairs_per_task(cost));
}

/// The operands of one batch entry, with rows padded by zeros.
template<class T>
struct Entry {
  Entry(Pieces<T>& pieces, const AdditiveAttentionProblem<T>& p)
      : units(padded<T>(p.units)), value_width(padded<T>(p.value_width)), keys(padded<T>(p.keys)) {
    query = pieces.take(units);
    key = pieces.take(p.keys * units);
    score_weight = pieces.take(units);
    value = pieces.take(p.keys * value_width);
    row = pieces.take(keys);
  }
  void read(const AdditiveAttentionProblem<T>& p, std::int64_t batch) const {
    pack_rows<T>(p.keys, p.units, p.key + batch * p.keys * p.units, p.units, T(1), key, units);
    pack_rows<T>(p.keys, p.value_width, p.value + batch * p.keys * p.value_width, p.value_width, T(1), value,
                 value_width);
    pack_rows<T>(1, p.units, p.score_weight, p.units, T(1), score_weight, units);
  }
  void read_query(const AdditiveAttentionProblem<T>& p, std::int64_t line) const {
    pack_rows<T>(1, p.units, p.query + line * p.units, p.units, T(1), query, units);
  }
  std::int64_t units, value_width, keys;
  T *query, *key, *score_weight, *value, *row;
};

template<class T>
void compute_scores(const Entry<T>& e, std::int64_t count) {
  constexpr std::int64_t kW = kWidth<T>;
  for (std::int64_t k = 0; k < count; ++k) {
    Vec<T> sum{};
    for (std::int64_t j = 0; j < e.units; j += kW) {
      const Vec<T> hidden = hyperbolic_tangent<T>(load<T>(e.query + j) + load<T>(e.key + k * e.units + j));
      sum += load<T>(e.score_weight + j) * hidden;
    }
    e.row[k] = horizontal_sum<T>(sum);
  }
}

/// Softmax of the first `count` > 0 elements of a padded row.
template<class T>
void softmax_row(T* row, std::int64_t count) {
  constexpr std::int64_t kW = kWidth<T>;
  const std::int64_t end = padded<T>(count);
  for (std::int64_t j = count; j < end; ++j) row[j] = -std::numeric_limits<T>::infinity();
  Vec<T> largest = load<T>(row);
  for (std::int64_t j = kW; j < end; j += kW) largest = maximum(load<T>(row + j), largest);
  const Vec<T> shift = broadcast(horizontal_maximum<T>(largest));
  Vec<T> sum{};
  for (std::int64_t j = 0; j < end; j += kW) {
    const Vec<T> weight = exp_bounded<T>(load<T>(row + j) - shift);
    store<T>(row + j, weight);
    sum += weight;
  }
  const Vec<T> reciprocal = broadcast(T(1) / horizontal_sum<T>(sum));
  for (std::int64_t j = 0; j < end; j += kW) store<T>(row + j, load<T>(row + j) * reciprocal);
}

template<class T>
void forward_row(const AdditiveAttentionProblem<T>& p, const Entry<T>& e, DropoutRows<T>& dropout,
                 std::int64_t line, std::int64_t count, T* output, T* weights) {
  constexpr std::int64_t kW = kWidth<T>;
  std::fill(weights + count, weights + p.keys, T(0));
  if (count == 0) {
    std::fill_n(output, p.value_width, T(0));
    return;
  }
  e.read_query(p, line);
  compute_scores(e, count);
  softmax_row(e.row, count);
  std::copy_n(e.row, count, weights);
  if (dropout.active()) dropout.apply(line * p.keys, count, e.row, e.row);
  for (std::int64_t j = 0; j < p.value_width; j += kW) {
    Vec<T> sum{};
    for (std::int64_t k = 0; k < count; ++k)
      sum += broadcast(e.row[k]) * load<T>(e.value + k * e.value_width + j);
    store_partial(output + j, std::min(kW, p.value_width - j), sum);
  }
}

}  // namespace

template<class T>
void additive_attention(const AdditiveAttentionProblem<T>& p, T* output, T* weights, Threads& threads,
                        Workspace& workspace) {
  const std::int64_t group = entries_per_task(p);
  threads.parallel((p.batch + group - 1) / group, [&](std::int64_t task) {
    Pieces<T> sizes;
    Entry<T>(sizes, p);
    const auto memory = workspace.take<T>(sizes.used());
    Pieces<T> pieces(memory.data());
    const Entry<T> entry(pieces, p);
    DropoutRows<T> dropout(p.dropout);
    for (std::int64_t b = task * group; b < std::min(p.batch, (task + 1) * group); ++b) {
      entry.read(p, b);
      for (std::int64_t i = 0; i < p.queries; ++i) {
        const std::int64_t line = b * p.queries + i;
        forward_row(p, entry, dropout, line, p.visible.count(b, i, p.queries, p.keys),
                    output + line * p.value_width, weights + line * p.keys);
      }
    }
  });
}

namespace {

/// Sums that one batch entry (the score weight: one task) collects, with padded rows.
template<class T>
struct GradientSums {
  GradientSums(Pieces<T>& pieces, const AdditiveAttentionProblem<T>& p) {
    const std::int64_t units = padded<T>(p.units), value_width = padded<T>(p.value_width);
    d_output = pieces.take(value_width);
    d_query = pieces.take(units);
    d_key = pieces.take(p.keys * units);
    d_value = pieces.take(p.keys * value_width);
    mask = pieces.take(padded<T>(p.keys));
  }
  T *d_output, *d_query, *d_key, *d_value, *mask;
};

template<class T>
void write_rows(std::int64_t rows, std::int64_t columns, const T* from, bool add, T* to) {
  constexpr std::int64_t kW = kWidth<T>;
  for (std::int64_t i = 0; i < rows; ++i, from += padded<T>(columns), to += columns) {
    for (std::int64_t j = 0; j < columns; j += kW) {
      const std::int64_t n = std::min(kW, columns - j);
      Vec<T> x = load<T>(from + j);
      if (add) x += load_partial(to + j, n);
      store_partial(to + j, n, x);
    }
  }
}

template<class T>
class GradientEntry {
 public:
  GradientEntry(const AdditiveAttentionProblem<T>& problem, const AdditiveAttentionGradient<T>& gradient,
                const Entry<T>& entry, const GradientSums<T>& sums, T* d_score_weight)
      : p_(problem),
        g_(gradient),
        e_(entry),
        s_(sums),
        dropout_(problem.dropout),
        d_score_weight_(d_score_weight) {}

  void run(std::int64_t batch) {
    e_.read(p_, batch);
    std::fill_n(s_.d_key, p_.keys * e_.units, T(0));
    std::fill_n(s_.d_value, p_.keys * e_.value_width, T(0));
    for (std::int64_t i = 0; i < p_.queries; ++i) {
      const std::int64_t line = batch * p_.queries + i;
      std::fill_n(s_.d_query, e_.units, T(0));
      const std::int64_t count = p_.visible.count(batch, i, p_.queries, p_.keys);
      if (count > 0) add_row(line, count);
      if (g_.d_query != nullptr) {
        write_rows(1, p_.units, s_.d_query, g_.add_to_query, g_.d_query + line * p_.units);
      }
    }
    if (g_.d_key != nullptr) {
      write_rows(p_.keys, p_.units, s_.d_key, g_.add_to_key, g_.d_key + batch * p_.keys * p_.units);
    }
    if (g_.d_value != nullptr) {
      write_rows(p_.keys, p_.value_width, s_.d_value, g_.add_to_value,
                 g_.d_value + batch * p_.keys * p_.value_width);
    }
  }

 private:
  void add_row(std::int64_t line, std::int64_t count) {
    constexpr std::int64_t kW = kWidth<T>;
    const T* weights = g_.weights + line * p_.keys;
    pack_rows<T>(1, p_.value_width, g_.d_output + line * p_.value_width, p_.value_width, T(1), s_.d_output,
                 e_.value_width);
    dropout_.fill(line * p_.keys, count, s_.mask);
    T delta = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const Vec<T> dropped = broadcast(weights[k] * s_.mask[k]);
      Vec<T> sum{};
      for (std::int64_t j = 0; j < e_.value_width; j += kW) {
        const Vec<T> d_output = load<T>(s_.d_output + j);
        sum += d_output * load<T>(e_.value + k * e_.value_width + j);
        T* d_value = s_.d_value + k * e_.value_width + j;
        store<T>(d_value, load<T>(d_value) + dropped * d_output);
      }
      e_.row[k] = horizontal_sum<T>(sum) * s_.mask[k];
      delta += weights[k] * e_.row[k];
    }
    if (g_.d_query == nullptr && g_.d_key == nullptr && g_.d_score_weight == nullptr) return;
    for (std::int64_t k = 0; k < count; ++k) e_.row[k] = weights[k] * (e_.row[k] - delta);
    e_.read_query(p_, line);
    for (std::int64_t j = 0; j < e_.units; j += kW) add_units(j, count);
  }

  void add_units(std::int64_t j, std::int64_t count) {
    const Vec<T> query = load<T>(e_.query + j), score_weight = load<T>(e_.score_weight + j);
    Vec<T> d_query{}, d_score_weight = load<T>(d_score_weight_ + j);
    for (std::int64_t k = 0; k < count; ++k) {
      const Vec<T> d_score = broadcast(e_.row[k]);
      const Vec<T> hidden = hyperbolic_tangent<T>(query + load<T>(e_.key + k * e_.units + j));
      d_score_weight += d_score * hidden;
      const Vec<T> d_sum = d_score * score_weight * (broadcast(T(1)) - hidden * hidden);
      d_query += d_sum;
      T* d_key = s_.d_key + k * e_.units + j;
      store<T>(d_key, load<T>(d_key) + d_sum);
    }
    store<T>(s_.d_query + j, d_query);
    store<T>(d_score_weight_ + j, d_score_weight);
  }

  const AdditiveAttentionProblem<T>& p_;
  const AdditiveAttentionGradient<T>& g_;
  const Entry<T>& e_;
  const GradientSums<T>& s_;
  DropoutRows<T> dropout_;
  T* d_score_weight_;
};

}  // namespace

template<class T>
void additive_attention_gradient(const AdditiveAttentionProblem<T>& p, const AdditiveAttentionGradient<T>& g,
                                 Threads& threads, Workspace& workspace) {
  const std::int64_t group = entries_per_task(p), tasks = (p.batch + group - 1) / group,
                     units = padded<T>(p.units);
  const auto partial = workspace.take<T>(std::max<std::int64_t>(1, tasks) * units);
  std::fill_n(partial.data(), std::max<std::int64_t>(1, tasks) * units, T(0));
  threads.parallel(tasks, [&](std::int64_t task) {
    Pieces<T> sizes;
    Entry<T>(sizes, p);
    GradientSums<T>(sizes, p);
    const auto memory = workspace.take<T>(sizes.used());
    Pieces<T> pieces(memory.data());
    const Entry<T> entry(pieces, p);
    const GradientSums<T> sums(pieces, p);
    GradientEntry<T> worker(p, g, entry, sums, partial.data() + task * units);
    for (std::int64_t b = task * group; b < std::min(p.batch, (task + 1) * group); ++b) worker.run(b);
  });
  if (g.d_score_weight == nullptr) return;
  for (std::int64_t task = 1; task < tasks; ++task) {
    for (std::int64_t j = 0; j < units; ++j) partial[j] += partial[task * units + j];
  }
  write_rows(1, p.units, partial.data(), g.add_to_score_weight, g.d_score_weight);
}

template void additive_attention<float>(const AdditiveAttentionProblem<float>&, float*, float*, Threads&,
                                        Workspace&);
template void additive_attention<double>(const AdditiveAttentionProblem<double>&, double*, double*, Threads&,
                                         Workspace&);
template void additive_attention_gradient<float>(const AdditiveAttentionProblem<float>&,
                                                 const AdditiveAttentionGradient<float>&, Threads&,
                                                 Workspace&);
template void additive_attention_gradient<double>(const AdditiveAttentionProblem<double>&,
                                                  const AdditiveAttentionGradient<double>&, Threads&,
                                                  Workspace&);

}  // namespace attn::eigen
