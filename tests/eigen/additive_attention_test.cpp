#include <cstring>

#include "attention_reference.h"
#include "support/catch.h"

namespace attn::eigen::test {
namespace {

// key_width is the number of units.
struct Inputs {
  explicit Inputs(const AttentionCase& c)
      : query(random_numbers(c.batch * c.queries * c.key_width, 1)),
        key(random_numbers(c.batch * c.keys * c.key_width, 2)),
        score_weight(random_numbers(c.key_width, 3)),
        value(random_numbers(c.batch * c.keys * c.value_width, 4)),
        d_output(random_numbers(c.batch * c.queries * c.value_width, 5)) {}
  Numbers query, key, score_weight, value, d_output;
};

template<class T>
struct Results {
  std::vector<T> output, weights, d_query, d_key, d_score_weight, d_value;
};

Results<double> expected(const AttentionCase& c, const Inputs& in) {
  Results<double> e{Numbers(in.d_output.size()),     Numbers(c.batch * c.queries * c.keys),
                    Numbers(in.query.size()),        Numbers(in.key.size()),
                    Numbers(in.score_weight.size()), Numbers(in.value.size())};
  for (std::int64_t line = 0; line < c.batch * c.queries; ++line) {
    const std::int64_t b = line / c.queries;
    std::vector<double> w(c.keys), d_w(c.keys);
    std::vector<bool> visible(c.keys);
    const auto hidden = [&](std::int64_t k, std::int64_t u) {
      return std::tanh(in.query[line * c.key_width + u] + in.key[(b * c.keys + k) * c.key_width + u]);
    };
    for (std::int64_t k = 0; k < c.keys; ++k) {
      visible[k] = c.sees(b, line % c.queries, k);
      for (std::int64_t u = 0; u < c.key_width; ++u) w[k] += in.score_weight[u] * hidden(k, u);
    }
    softmax(w, visible);
    double delta = 0;
    for (std::int64_t k = 0; k < c.keys; ++k) {
      e.weights[line * c.keys + k] = w[k];
      const double factor = keep(c.dropout, line * c.keys + k);
      for (std::int64_t d = 0; d < c.value_width; ++d) {
        const std::int64_t at = line * c.value_width + d, value = (b * c.keys + k) * c.value_width + d;
        e.output[at] += factor * w[k] * in.value[value];
        e.d_value[value] += factor * w[k] * in.d_output[at];
        d_w[k] += factor * in.d_output[at] * in.value[value];
      }
      delta += w[k] * d_w[k];
    }
    for (std::int64_t k = 0; k < c.keys; ++k) {
      const double d_score = w[k] * (d_w[k] - delta);
      for (std::int64_t u = 0; u < c.key_width; ++u) {
        const double t = hidden(k, u), d_sum = d_score * in.score_weight[u] * (1 - t * t);
        e.d_score_weight[u] += d_score * t;
        e.d_query[line * c.key_width + u] += d_sum;
        e.d_key[(b * c.keys + k) * c.key_width + u] += d_sum;
      }
    }
  }
  return e;
}

template<class T>
Results<T> compute(const AttentionCase& c, const Inputs& in, int thread_count, bool add = false) {
  const auto query = as<T>(in.query), key = as<T>(in.key), score_weight = as<T>(in.score_weight),
             value = as<T>(in.value), d_output = as<T>(in.d_output);
  Results<T> f{std::vector<T>(d_output.size(), T(2)),     std::vector<T>(c.batch * c.queries * c.keys, T(2)),
               std::vector<T>(query.size(), T(2)),        std::vector<T>(key.size(), T(2)),
               std::vector<T>(score_weight.size(), T(2)), std::vector<T>(value.size(), T(2))};
  AdditiveAttentionProblem<T> p;
  p.batch = c.batch;
  p.queries = c.queries;
  p.keys = c.keys;
  p.units = c.key_width;
  p.value_width = c.value_width;
  p.query = query.data();
  p.key = key.data();
  p.score_weight = score_weight.data();
  p.value = value.data();
  p.visible = c.visible();
  p.dropout = DropoutMask<T>(kRandom, kStream, c.dropout);
  Threads threads(thread_count);
  Workspace workspace;
  additive_attention(p, f.output.data(), f.weights.data(), threads, workspace);
  additive_attention_gradient(p,
                              {f.weights.data(), d_output.data(), f.d_query.data(), f.d_key.data(),
                               f.d_score_weight.data(), f.d_value.data(), add, add, add, add},
                              threads, workspace);
  return f;
}

template<class T>
void check(const AttentionCase& c, bool add = false) {
  const Inputs in(c);
  Results<double> e = expected(c, in);
  if (add) {
    for (Numbers* numbers : {&e.d_query, &e.d_key, &e.d_score_weight, &e.d_value}) {
      for (double& x : *numbers) x += 2;
    }
  }
  const Results<T> f = compute<T>(c, in, 1, add);
  INFO("queries " << c.queries << ", keys " << c.keys << ", bytes " << sizeof(T));
  CHECK(difference(f.output, e.output) < kTolerance<T>);
  CHECK(difference(f.weights, e.weights) < kTolerance<T>);
  CHECK(difference(f.d_query, e.d_query) < kTolerance<T>);
  CHECK(difference(f.d_key, e.d_key) < kTolerance<T>);
  CHECK(difference(f.d_score_weight, e.d_score_weight) < kTolerance<T>);
  CHECK(difference(f.d_value, e.d_value) < kTolerance<T>);
}

template<class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST_CASE("additive attention and its gradient agree with the formulas") {
  for (const AttentionCase& c : {AttentionCase{1, 1, 1, 1, 1, 1}, AttentionCase{64, 1, 1, 10, 32, 32},
                                 AttentionCase{3, 1, 3, 17, 5, 7}, AttentionCase{2, 1, 17, 3, 33, 16},
                                 AttentionCase{1, 1, 4, 129, 8, 8}, AttentionCase{2, 1, 0, 3, 4, 4},
                                 AttentionCase{2, 1, 3, 0, 4, 4}}) {
    check<float>(c);
    check<double>(c);
  }
}

TEST_CASE("additive attention heeds lengths, the causal limit and dropout") {
  for (const AttentionCase& c :
       {AttentionCase{3, 1, 5, 9, 4, 4, {4, 0, 20}}, AttentionCase{2, 1, 3, 9, 4, 4, {0, 5, 9, -3, 1, 12}},
        AttentionCase{2, 1, 17, 20, 4, 4, {13, 18}, true, 3}, AttentionCase{1, 1, 17, 17, 4, 4, {}, true, -4},
        AttentionCase{3, 1, 4, 21, 9, 4, {21, 3, 0}, false, 0, 0.4}}) {
    check<float>(c);
    check<double>(c);
  }
}

TEST_CASE("gradients of additive attention are added where the operation says so") {
  check<double>({3, 1, 2, 5, 6, 7}, true);
}

TEST_CASE("the bits of additive attention do not depend on the number of threads") {
  const AttentionCase c{300, 1, 2, 10, 33, 31, {}, false, 0, 0.1};
  const Inputs in(c);
  const auto one = compute<float>(c, in, 1), two = compute<float>(c, in, 2);
  CHECK(same_bits(one.output, two.output));
  CHECK(same_bits(one.weights, two.weights));
  CHECK(same_bits(one.d_query, two.d_query));
  CHECK(same_bits(one.d_key, two.d_key));
  CHECK(same_bits(one.d_score_weight, two.d_score_weight));
  CHECK(same_bits(one.d_value, two.d_value));
}

TEST_CASE("the gradient of additive attention agrees with differences of its values") {
  const AttentionCase c{2, 1, 3, 5, 4, 2, {4, 5}, true, 2, 0.25};
  const Inputs in(c);
  const auto f = compute<double>(c, in, 1);
  const auto loss = [&](const Inputs& at) {
    const auto output = compute<double>(c, at, 1).output;
    double sum = 0;
    for (std::size_t i = 0; i < output.size(); ++i) sum += output[i] * in.d_output[i];
    return sum;
  };
  const auto check_one = [&](Numbers Inputs::*member, const Numbers& found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      constexpr double kStep = 1e-5;
      Inputs up = in, down = in;
      (up.*member)[i] += kStep;
      (down.*member)[i] -= kStep;
      CHECK(std::fabs((loss(up) - loss(down)) / (2 * kStep) - found[i]) < 1e-8);
    }
  };
  check_one(&Inputs::query, f.d_query);
  check_one(&Inputs::key, f.d_key);
  check_one(&Inputs::score_weight, f.d_score_weight);
  check_one(&Inputs::value, f.d_value);
}

}  // namespace
}  // namespace attn::eigen::test
