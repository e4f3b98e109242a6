#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "attn/core/error.h"
#include "attn/nn/attention.h"
#include "example_run.h"

namespace attn {
namespace {

using config::Integer;
using config::Schema;

const ExampleNumbers required{}, optional{.required = false};
const Integer positive{.minimum = 1, .maximum = 4096};

// Results of more elements are not written out.
constexpr std::size_t most_written_out = 16;

ExampleValues repeated(const ExampleValues& one, std::int64_t batch) {
  ExampleValues all{{batch, one.shape[0], one.shape[1]}, {}};
  for (std::int64_t i = 0; i < batch; ++i)
    all.values.insert(all.values.end(), one.values.begin(), one.values.end());
  return all;
}

void need_rank(const ExampleValues& values, const char* name) {
  if (values.shape.size() == 2 || values.shape.size() == 3) return;
  fail(ExitCode::config, "{} must be a matrix, or a list of matrices (one a sentence), but has the shape {}",
       name, shape_text(values.shape));
}

/// Queries, keys and values as [batch, count, size]; a single matrix serves every sentence.
struct Operands {
  ExampleValues queries, keys, values;
  std::int64_t batch = 1;
  bool batched = false;
};

Operands operands_of(const ExampleRun& run, const ExampleArray& queries, const ExampleArray& keys,
                     const ExampleArray& values) {
  Operands all{run.values(queries, "queries"), run.values(keys, "keys"), run.values(values, "values")};
  const std::array<std::pair<ExampleValues*, const char*>, 3> each{
      {{&all.queries, "queries"}, {&all.keys, "keys"}, {&all.values, "values"}}};
  for (const auto& [operand, name] : each) {
    need_rank(*operand, name);
    if (operand->shape.size() < 3) continue;
    if (all.batched && operand->shape[0] != all.batch)
      fail(ExitCode::config, "{} has {} sentences, the others have {}", name, operand->shape[0], all.batch);
    all.batched = true;
    all.batch = operand->shape[0];
  }
  for (const auto& [operand, name] : each) {
    if (operand->shape.size() == 2) *operand = repeated(*operand, all.batch);
  }
  if (all.keys.shape[1] != all.values.shape[1])
    fail(ExitCode::config, "there are {} keys but {} values", all.keys.shape[1], all.values.shape[1]);
  return all;
}

/// Which keys are padding, as ones, for weights [batch, ..., queries, keys]; empty without lengths.
std::vector<std::uint8_t> padding_of(const ExampleValues& lengths, const std::vector<std::int64_t>& weights) {
  if (lengths.shape.empty()) return {};
  const std::int64_t keys = weights.back(), queries = weights[weights.size() - 2], batch = weights.front();
  std::int64_t elements = 1;
  for (const std::int64_t size : weights) elements *= size;
  std::vector<std::uint8_t> masked;
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::int64_t sentence = i / (elements / batch), query = i / keys % queries;
    const std::int64_t row = lengths.shape.size() == 2 ? sentence * queries + query : sentence;
    masked.push_back(static_cast<double>(i % keys) >= lengths.values[static_cast<std::size_t>(row)] ? 1 : 0);
  }
  return masked;
}

/// Valid lengths that were given, checked against weights of this shape.
struct Lengths {
  ExampleValues values;
  ops::Mask mask;
};
Lengths lengths_of(const ExampleRun& run, const ExampleArray& array, std::int64_t batch,
                   std::int64_t queries) {
  if (!array.given()) return {};
  Lengths lengths{run.values(array, "valid_lengths"), {}};
  const std::vector<std::int64_t>& shape = lengths.values.shape;
  const bool fits = shape == std::vector{batch} || shape == std::vector{batch, queries};
  if (!fits) {
    fail(ExitCode::config,
         "valid_lengths must be one number for each of the {} sentences, or a list of {} (one a query) for "
         "each, "
         "but has the shape {}",
         batch, queries, shape_text(shape));
  }
  lengths.mask.valid_lengths = run.lengths(lengths.values, "valid_lengths");
  return lengths;
}

// ---- written-out arithmetic

std::string number(double value) {
  return fmt::format("{:.5g}", value);
}

std::string product_terms(const ExampleValues& a, std::size_t row, const ExampleValues& b, std::size_t column,
                          bool b_transposed) {
  const auto inner = static_cast<std::size_t>(a.shape[1]);
  std::vector<std::string> terms;
  for (std::size_t k = 0; k < inner; ++k) {
    const std::size_t at =
        b_transposed ? column * inner + k : k * static_cast<std::size_t>(b.shape[1]) + column;
    terms.push_back(number(a.values[row * inner + k]) + "*" + number(b.values[at]));
  }
  return fmt::format("{}", fmt::join(terms, " + "));
}

/// One line a row of `result` [rows, columns]: `element(row, column)` says how a number came about.
template<typename Element>
void write_out(ExampleStep& step, Element&& element) {
  if (step.result.shape.size() != 2 || step.result.values.size() > most_written_out) return;
  const auto columns = static_cast<std::size_t>(step.result.shape[1]);
  for (std::size_t row = 0; row * columns < step.result.values.size(); ++row) {
    std::vector<std::string> parts;
    for (std::size_t column = 0; column < columns; ++column)
      parts.push_back(element(row, column) + " = " + number(step.result.values[row * columns + column]));
    step.arithmetic.push_back(fmt::format("{}", fmt::join(parts, "    ")));
  }
}

void write_out_softmax(ExampleStep& step, const ExampleValues& scores) {
  const auto columns = static_cast<std::size_t>(scores.shape.back());
  if (!step.masked.empty()) return;
  write_out(step, [&](std::size_t row, std::size_t column) {
    std::vector<std::string> terms;
    for (std::size_t i = 0; i < columns; ++i)
      terms.push_back(fmt::format("e^{}", number(scores.values[row * columns + i])));
    return fmt::format("{} / ({})", terms[column], fmt::join(terms, " + "));
  });
}

// ---- the kinds

/// Scores and valid lengths -> weights.
class MaskedSoftmax final : public ExampleKind {
 public:
  void describe(Schema& schema) override {
    schema.field("scores", scores_, required, "Scores [sentences, queries, keys]");
    schema.field("valid_lengths", lengths_, optional,
                 "Keys that are no padding: one number a sentence, or a query");
  }
  void compute(ExampleRun& run) const override {
    const ExampleValues scores = run.values(scores_, "scores");
    if (scores.shape.size() != 3)
      fail(ExitCode::config, "scores must be [sentences, queries, keys], but has the shape {}",
           shape_text(scores.shape));
    const Lengths lengths = lengths_of(run, lengths_, scores.shape[0], scores.shape[1]);
    run.add("scores", "", scores);
    ExampleStep& weights = run.add("weights", "softmax over the keys that are no padding",
                                   ops::masked_softmax(run.tensor(scores), lengths.mask));
    weights.is_weights = true;
    weights.masked = padding_of(lengths.values, scores.shape);
  }

 private:
  ExampleArray scores_, lengths_;
};

/// Q, K, V -> Q K^T, scaled, softmax, weighted sum.
class ScaledDotProduct final : public ExampleKind {
 public:
  void describe(Schema& schema) override {
    schema.field("queries", queries_, required, "Q: [queries, size], or one such matrix a sentence");
    schema.field("keys", keys_, required, "K: [keys, size]");
    schema.field("values", values_, required, "V: [keys, value size]");
    schema.field("valid_lengths", lengths_, optional,
                 "Keys that are no padding: one number a sentence, or a query");
  }
  void compute(ExampleRun& run) const override;

 private:
  ExampleArray queries_, keys_, values_, lengths_;
};

void ScaledDotProduct::compute(ExampleRun& run) const {
  const Operands operands = operands_of(run, queries_, keys_, values_);
  const std::int64_t size = operands.queries.shape[2];
  if (operands.keys.shape[2] != size)
    fail(ExitCode::config, "queries have {} numbers and keys {}; a dot product needs as many", size,
         operands.keys.shape[2]);
  const Lengths lengths = lengths_of(run, lengths_, operands.batch, operands.queries.shape[1]);
  const Tensor q = run.tensor(operands.queries), k = run.tensor(operands.keys),
               v = run.tensor(operands.values);
  const Tensor scores = ops::matmul(q, k, {.transpose_b = true});
  const Tensor scaled = ops::affine(scores, 1.0 / std::sqrt(static_cast<double>(size)), 0.0);
  const Tensor weights = ops::masked_softmax(scaled, lengths.mask);
  const Tensor unscaled = ops::masked_softmax(scores, lengths.mask);
  Context context;
  const Tensor output = DotProductAttention(0.0)(q, k, v, lengths.mask, context);
  // Without sentences, matrices are shown as they were given.
  const auto shown = [&](const Tensor& t) {
    return operands.batched ? t : t.reshaped({t.size(1), t.size(2)});
  };
  const std::vector<std::uint8_t> padding =
      padding_of(lengths.values, {operands.batch, operands.queries.shape[1], operands.keys.shape[1]});
  const ExampleStep &q_step = run.add("queries", "", shown(q)), &k_step = run.add("keys", "", shown(k)),
                    &v_step = run.add("values", "", shown(v));
  ExampleStep& score_step = run.add("scores", "Q K^T", shown(scores));
  write_out(score_step, [&](std::size_t row, std::size_t column) {
    return product_terms(q_step.result, row, k_step.result, column, true);
  });
  ExampleStep& scaled_step =
      run.add("scaled scores", fmt::format("Q K^T / sqrt(d_k), d_k = {}", size), shown(scaled));
  write_out(scaled_step, [&](std::size_t row, std::size_t column) {
    const auto columns = static_cast<std::size_t>(score_step.result.shape.back());
    return fmt::format("{} / {}", number(score_step.result.values[row * columns + column]),
                       number(std::sqrt(static_cast<double>(size))));
  });
  ExampleStep& weight_step = run.add("weights", "softmax of every row of the scaled scores", shown(weights));
  weight_step.is_weights = true;
  weight_step.masked = padding;
  write_out_softmax(weight_step, scaled_step.result);
  ExampleStep& output_step = run.add("output", "weights V", shown(output));
  write_out(output_step, [&](std::size_t row, std::size_t column) {
    return product_terms(weight_step.result, row, v_step.result, column, false);
  });
  ExampleStep& unscaled_step =
      run.add("unscaled weights", "for comparison: softmax of every row of Q K^T, without the division",
              shown(unscaled));
  unscaled_step.is_weights = true;
  unscaled_step.masked = padding;
  write_out_softmax(unscaled_step, score_step.result);
}

/// Additive attention with projections drawn from the seed.
class Additive final : public ExampleKind {
 public:
  void describe(Schema& schema) override {
    schema.field("queries", queries_, required, "[queries, query size], or one such matrix a sentence");
    schema.field("keys", keys_, required, "[keys, key size]");
    schema.field("values", values_, required, "[keys, value size]");
    schema.field("valid_lengths", lengths_, optional,
                 "Keys that are no padding: one number a sentence, or a query");
    schema.field("hidden_size", hidden_, positive, "Width in which queries and keys are added");
  }
  void compute(ExampleRun& run) const override;

 private:
  ExampleArray queries_, keys_, values_, lengths_;
  std::int64_t hidden_ = 8;
};

void Additive::compute(ExampleRun& run) const {
  const Operands operands = operands_of(run, queries_, keys_, values_);
  const Lengths lengths = lengths_of(run, lengths_, operands.batch, operands.queries.shape[1]);
  const Tensor q = run.tensor(operands.queries), k = run.tensor(operands.keys),
               v = run.tensor(operands.values);
  ParameterStore parameters(run.device(), run.type());
  const AdditiveAttention attention(Scope(parameters), q.size(2), k.size(2), hidden_, 0.0);
  parameters.materialise(run.seed());
  Context context;
  Tensor weights;
  context.observe([&](AttentionKind, std::int64_t, const Tensor& seen) { weights = seen; });
  const Tensor keys = attention.project_keys(k);
  const Tensor output = attention(q, keys, v, lengths.mask, context);
  const Tensor projected = ops::linear(q, parameters.find("W_q.weight")->tensor);
  const Tensor features = ops::tanh(ops::add(projected.reshaped({q.size(0), q.size(1), 1, hidden_}),
                                             keys.reshaped({k.size(0), 1, k.size(1), hidden_})));
  const std::array<int, 1> last{-1};
  const Tensor scores = ops::sum(ops::multiply(features, parameters.find("w_v.weight")->tensor), last);
  run.add("queries", "", q);
  run.add("keys", "", k);
  run.add("values", "", v);
  run.add("features", "tanh(W_q query + W_k key)", features);
  run.add("scores", "w_v . features", scores);
  ExampleStep& step = run.add("weights", "softmax over the keys that are no padding",
                              weights.reshaped({q.size(0), q.size(1), k.size(1)}));
  step.is_weights = true;
  step.masked = padding_of(lengths.values, step.result.shape);
  run.add("output", "weights V", output);
}

/// Multi-head attention, or self-attention without keys.
class MultiHead final : public ExampleKind {
 public:
  void describe(Schema& schema) override {
    schema.field("queries", queries_, required, "[sentences, queries, width]");
    schema.field("keys", keys_, optional, "[sentences, keys, width], also the values; null: self-attention");
    schema.field("valid_lengths", lengths_, optional,
                 "Keys that are no padding: one number a sentence, or a query");
    schema.field("hidden_size", hidden_, positive, "Width of all heads together");
    schema.field("heads", heads_, positive, "Heads; they divide hidden_size");
  }
  void compute(ExampleRun& run) const override;

 private:
  ExampleArray queries_, keys_, lengths_;
  std::int64_t hidden_ = 100, heads_ = 5;
};

void MultiHead::compute(ExampleRun& run) const {
  const ExampleArray& key_array = keys_.given() ? keys_ : queries_;
  const char* key_name = keys_.given() ? "keys" : "queries";
  const ExampleValues query_values = run.values(queries_, "queries"),
                      key_values = run.values(key_array, key_name);
  for (const auto& [values, name] : {std::pair{&query_values, "queries"}, std::pair{&key_values, "keys"}}) {
    if (values->shape.size() != 3)
      fail(ExitCode::config, "{} must be [sentences, steps, width], but has the shape {}", name,
           shape_text(values->shape));
  }
  if (query_values.shape[0] != key_values.shape[0])
    fail(ExitCode::config, "queries has {} sentences, keys has {}", query_values.shape[0],
         key_values.shape[0]);
  const Lengths lengths = lengths_of(run, lengths_, query_values.shape[0], query_values.shape[1]);
  const Tensor q = run.tensor(query_values), k = run.tensor(key_values);
  ParameterStore parameters(run.device(), run.type());
  const MultiHeadAttention attention(Scope(parameters), {.query_size = q.size(2),
                                                         .key_size = k.size(2),
                                                         .value_size = k.size(2),
                                                         .hidden = hidden_,
                                                         .heads = heads_,
                                                         .site = {}});
  parameters.materialise(run.seed());
  Context context;
  Tensor weights;
  context.observe([&](AttentionKind, std::int64_t, const Tensor& seen) { weights = seen; });
  const Tensor output = attention(q, k, k, lengths.mask, context);
  run.add("queries", "", q);
  if (keys_.given()) run.add("keys", "", k);
  const std::array<int, 4> axes{0, 2, 1, 3};
  const Tensor split = ops::permute(ops::linear(q, parameters.find("W_q.weight")->tensor)
                                        .reshaped({q.size(0), q.size(1), heads_, hidden_ / heads_}),
                                    axes);
  run.add("split queries", fmt::format("W_q queries, split into {} heads of {}", heads_, hidden_ / heads_),
          split);
  ExampleStep& step = run.add("weights", "softmax of each head's scaled scores", weights);
  step.is_weights = true;
  step.masked = padding_of(lengths.values, step.result.shape);
  run.add("output", "W_o (all heads side by side)", output);
}

/// Weights that are given, for the picture of them.
class GivenWeights final : public ExampleKind {
 public:
  void describe(Schema& schema) override {
    schema.field("weights", weights_, required, "[queries, keys], or with sentences and heads before");
  }
  void compute(ExampleRun& run) const override {
    const ExampleValues weights = run.values(weights_, "weights");
    if (weights.shape.size() < 2 || weights.shape.size() > 4)
      fail(ExitCode::config, "weights must be a matrix, or one a sentence and head, but has the shape {}",
           shape_text(weights.shape));
    run.add("weights", "", weights).is_weights = true;
  }

 private:
  ExampleArray weights_;
};

}  // namespace

std::unique_ptr<ExampleKind> make_masked_softmax_example() {
  return std::make_unique<MaskedSoftmax>();
}
std::unique_ptr<ExampleKind> make_dot_product_example() {
  return std::make_unique<ScaledDotProduct>();
}
std::unique_ptr<ExampleKind> make_additive_example() {
  return std::make_unique<Additive>();
}
std::unique_ptr<ExampleKind> make_multi_head_example() {
  return std::make_unique<MultiHead>();
}
std::unique_ptr<ExampleKind> make_weights_example() {
  return std::make_unique<GivenWeights>();
}

}  // namespace attn
