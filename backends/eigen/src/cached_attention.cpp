// Attention of few queries to keys and values that are picked row by row from a cache: one step of decoding.
//
// Nothing is packed or transposed in memory, which with a single query would take longer than the products.
// All heads of a row are read together, since they are neighbours. Each query is computed alone, in an order
// that depends on the number of its keys and on nothing else: a hypothesis does not depend on others.
#include <cmath>

#include "attention.h"
#include "parallel.h"
#include "row_ids.h"
#include "vector_math.h"

namespace attn::eigen {
namespace {

constexpr double kLog2E = 1.44269504088896340736;

template<class T>
struct CachedProblem {
  std::int64_t heads, queries, keys, key_width, value_width;  // widths of one head
  const T *query, *cached_keys, *cached_values;
  const std::int32_t* rows;
  VisibleKeys visible;
  T scale;
  T *output, *weights;  // weights may be null
};

/// The memory that one query needs.
template<class T>
struct CachedScratch {
  CachedScratch(Pieces<T>& pieces, const CachedProblem<T>& p)
      : score_stride(padded<T>(p.keys)), query_stride(padded<T>(p.key_width)) {
    query = pieces.take(p.heads * query_stride);
    partial = pieces.take(p.heads * kWidth<T> * kWidth<T>);
    scores = pieces.take(p.heads * score_stride);
  }
  std::int64_t score_stride, query_stride;
  T *query, *partial, *scores;
};

/// One query of one batch entry, all heads.
template<class T>
class CachedQuery {
 public:
  CachedQuery(const CachedProblem<T>& problem, const CachedScratch<T>& scratch, std::int64_t number)
      : p_(problem),
        s_(scratch),
        batch_(number / problem.queries),
        query_(number % problem.queries),
        visible_(problem.visible.count(batch_, query_, problem.queries, problem.keys)),
        rows_(problem.rows + batch_ * problem.keys),
        output_(problem.output + number * problem.heads * problem.value_width) {}

  void run() {
    std::fill_n(output_, p_.heads * p_.value_width, T(0));
    if (visible_ > 0) {
      load_query();
      for (std::int64_t key = 0; key < visible_; key += kW) compute_scores(key, std::min(kW, visible_ - key));
      for (std::int64_t head = 0; head < p_.heads; ++head) softmax(s_.scores + head * s_.score_stride);
      add_values();
    }
    if (p_.weights != nullptr) write_weights();
  }

 private:
  static constexpr std::int64_t kW = kWidth<T>;

  /// The query in units of log 2, so that the exponentials are powers of 2.
  void load_query() {
    const Vec<T> factor = broadcast(static_cast<T>(p_.scale * static_cast<T>(kLog2E)));
    const T* from = p_.query + (batch_ * p_.queries + query_) * p_.heads * p_.key_width;
    for (std::int64_t head = 0; head < p_.heads; ++head, from += p_.key_width) {
      T* to = s_.query + head * s_.query_stride;
      std::int64_t i = 0;
      for (; i + kW <= p_.key_width; i += kW) store<T>(to + i, load<T>(from + i) * factor);
      if (i < p_.key_width) store<T>(to + i, load_partial(from + i, p_.key_width - i) * factor);
    }
  }

  /// The scores of up to a vector of keys: first the products lane by lane, row after row, then for each head
  /// the sums of the lanes of all keys at once, by a transposition.
  void compute_scores(std::int64_t key, std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j) {
      const T* row = p_.cached_keys + std::int64_t{rows_[key + j]} * p_.heads * p_.key_width;
      for (std::int64_t head = 0; head < p_.heads; ++head, row += p_.key_width)
        store<T>(s_.partial + (head * kW + j) * kW, lane_products(s_.query + head * s_.query_stride, row));
    }
    for (std::int64_t head = 0; head < p_.heads; ++head) {
      Vec<T> square[kW];
      ATTN_UNROLL
      for (std::int64_t j = 0; j < kW; ++j)
        square[j] = j < count ? load<T>(s_.partial + (head * kW + j) * kW) : Vec<T>{};
      transpose<T>(square);
      store<T>(s_.scores + head * s_.score_stride + key, sum(square));
    }
  }

  Vec<T> lane_products(const T* query, const T* row) const {
    Vec<T> sum{};
    std::int64_t i = 0;
    for (; i + kW <= p_.key_width; i += kW) sum += load<T>(query + i) * load<T>(row + i);
    if (i < p_.key_width) sum += load<T>(query + i) * load_partial(row + i, p_.key_width - i);
    return sum;
  }

  static Vec<T> sum(Vec<T> (&vectors)[kW]) {
    for (std::int64_t half = kW / 2; half > 0; half /= 2) {
      for (std::int64_t i = 0; i < half; ++i) vectors[i] += vectors[i + half];
    }
    return vectors[0];
  }

  /// Scores become weights, with zeros up to the end of the last vector.
  void softmax(T* scores) const {
    constexpr T kLeast = -std::numeric_limits<T>::infinity();
    Vec<T> most = broadcast(kLeast);
    for (std::int64_t j = 0; j < visible_; j += kW)
      most = maximum(first_lanes<T>(visible_ - j, load<T>(scores + j), kLeast), most);
    const T largest = horizontal_maximum<T>(most);
    const Vec<T> shift = broadcast(largest == kLeast ? T(0) : largest);
    Vec<T> total{};
    for (std::int64_t j = 0; j < visible_; j += kW) {
      const Vec<T> score = first_lanes<T>(visible_ - j, load<T>(scores + j), kLeast);
      const Vec<T> weight = exp2_bounded<T>(score - shift);
      store<T>(scores + j, weight);
      total += weight;
    }
    const Vec<T> reciprocal = broadcast(T(1) / horizontal_sum<T>(total));
    for (std::int64_t j = 0; j < visible_; j += kW) store<T>(scores + j, load<T>(scores + j) * reciprocal);
  }

  void add_values() {
    const std::int64_t columns = p_.heads * p_.value_width;
    std::int64_t j = 0;
    for (; j + 4 <= visible_; j += 4) {
      const T* rows[4];
      for (int i = 0; i < 4; ++i) rows[i] = p_.cached_values + std::int64_t{rows_[j + i]} * columns;
      for (std::int64_t head = 0; head < p_.heads; ++head) {
        const T* weights = s_.scores + head * s_.score_stride + j;
        add_rows<4>(weights, rows, head * p_.value_width);
      }
    }
    for (; j < visible_; ++j) {
      const T* rows[1] = {p_.cached_values + std::int64_t{rows_[j]} * columns};
      for (std::int64_t head = 0; head < p_.heads; ++head)
        add_rows<1>(s_.scores + head * s_.score_stride + j, rows, head * p_.value_width);
    }
  }

  template<int Count>
  void add_rows(const T* weights, const T* const (&rows)[Count], std::int64_t column) {
    Vec<T> factors[Count];
    for (int i = 0; i < Count; ++i) factors[i] = broadcast(weights[i]);
    T* to = output_ + column;
    std::int64_t c = 0;
    for (; c + kW <= p_.value_width; c += kW) {
      Vec<T> sum = load<T>(to + c);
      for (int i = 0; i < Count; ++i) sum += factors[i] * load<T>(rows[i] + column + c);
      store<T>(to + c, sum);
    }
    if (c == p_.value_width) return;
    const std::int64_t left = p_.value_width - c;
    Vec<T> sum = load_partial(to + c, left);
    for (int i = 0; i < Count; ++i) sum += factors[i] * load_partial(rows[i] + column + c, left);
    store_partial(to + c, left, sum);
  }

  void write_weights() const {
    for (std::int64_t head = 0; head < p_.heads; ++head) {
      T* to = p_.weights + ((batch_ * p_.heads + head) * p_.queries + query_) * p_.keys;
      std::copy_n(s_.scores + head * s_.score_stride, visible_, to);
      std::fill(to + visible_, to + p_.keys, T(0));
    }
  }

  const CachedProblem<T>& p_;
  const CachedScratch<T>& s_;
  std::int64_t batch_, query_, visible_;
  const std::int32_t* rows_;
  T* output_;
};

template<class T>
CachedProblem<T> read_problem(const OpView& op) {
  const auto params = op.params<attn_attention_params>();
  const attn_tensor &query = op.input(0), &values = op.input(2);
  CachedProblem<T> problem{};
  problem.heads = params.heads;
  problem.queries = query.dims[1];
  problem.keys = op.input(3).dims[1];
  problem.key_width = query.dims[2] / params.heads;
  problem.value_width = values.dims[1] / params.heads;
  problem.query = data<const T>(query);
  problem.cached_keys = data<const T>(op.input(1));
  problem.cached_values = data<const T>(values);
  problem.rows = data<const std::int32_t>(op.input(3));
  if (op.has_input(4)) {
    problem.visible.lengths = data<const std::int32_t>(op.input(4));
    problem.visible.length_per_query = op.input(4).rank == 2;
  }
  problem.visible.causal = params.causal != 0;
  problem.visible.causal_offset = params.causal_offset;
  problem.scale = static_cast<T>(params.scale);
  problem.output = data<T>(op.output(0));
  problem.weights = op.has_output(1) ? data<T>(op.output(1)) : nullptr;
  return problem;
}

}  // namespace

template<class T>
void run_cached_attention(const OpView& op, KernelContext& context) {
  check_ids(op.input(3), op.input(1).dims[0], -1);
  const CachedProblem<T> problem = read_problem<T>(op);
  const std::int64_t count = op.input(0).dims[0] * problem.queries;
  const std::int64_t work = problem.keys * problem.heads * (problem.key_width + problem.value_width);
  Pieces<T> sizes;
  CachedScratch<T>(sizes, problem);
  for_rows(context.threads, count, std::max<std::int64_t>(work, 1), 1,
           [&](std::int64_t first, std::int64_t some) {
             const auto memory = context.workspace.take<T>(sizes.used());
             Pieces<T> pieces(memory.data());
             const CachedScratch<T> scratch(pieces, problem);
             for (std::int64_t i = first; i < first + some; ++i) CachedQuery<T>(problem, scratch, i).run();
           });
}

template void run_cached_attention<float>(const OpView&, KernelContext&);
template void run_cached_attention<double>(const OpView&, KernelContext&);

}  // namespace attn::eigen
