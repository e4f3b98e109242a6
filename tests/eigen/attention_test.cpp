#include <cstring>

#include "attention_reference.h"
#include "support/catch.h"

namespace attn::eigen::test {
namespace {

constexpr double kScale = 0.7;

struct Inputs {
  explicit Inputs(const AttentionCase& c)
      : query(random_numbers(c.batch * c.queries * c.heads * c.key_width, 1)),
        key(random_numbers(c.batch * c.keys * c.heads * c.key_width, 2)),
        value(random_numbers(c.batch * c.keys * c.heads * c.value_width, 3)),
        d_output(random_numbers(c.batch * c.queries * c.heads * c.value_width, 4)) {}
  Numbers query, key, value, d_output;
};

struct Expected {
  Numbers output, log_sum_exp, weights, d_query, d_key, d_value;
};

// One query of one head.
void add_expected(const AttentionCase& c, const Inputs& in, std::int64_t b, std::int64_t h, std::int64_t q,
                  Expected& e) {
  const std::int64_t line = (b * c.heads + h) * c.queries + q;
  const auto query_at = [&](std::int64_t d) { return ((b * c.queries + q) * c.heads + h) * c.key_width + d; };
  const auto key_at = [&](std::int64_t k, std::int64_t d) {
    return ((b * c.keys + k) * c.heads + h) * c.key_width + d;
  };
  const auto value_at = [&](std::int64_t k, std::int64_t d) {
    return ((b * c.keys + k) * c.heads + h) * c.value_width + d;
  };
  const auto output_at = [&](std::int64_t d) {
    return ((b * c.queries + q) * c.heads + h) * c.value_width + d;
  };
  std::vector<double> w(c.keys), d_w(c.keys);
  std::vector<bool> visible(c.keys);
  for (std::int64_t k = 0; k < c.keys; ++k) {
    visible[k] = c.sees(b, q, k);
    for (std::int64_t d = 0; d < c.key_width; ++d)
      w[k] += kScale * in.query[query_at(d)] * in.key[key_at(k, d)];
  }
  e.log_sum_exp[line] = softmax(w, visible);
  double delta = 0;
  for (std::int64_t k = 0; k < c.keys; ++k) {
    e.weights[line * c.keys + k] = w[k];
    const double factor = keep(c.dropout, line * c.keys + k);
    for (std::int64_t d = 0; d < c.value_width; ++d) {
      e.output[output_at(d)] += w[k] * factor * in.value[value_at(k, d)];
      d_w[k] += factor * in.d_output[output_at(d)] * in.value[value_at(k, d)];
      e.d_value[value_at(k, d)] += w[k] * factor * in.d_output[output_at(d)];
    }
    delta += w[k] * d_w[k];
  }
  for (std::int64_t k = 0; k < c.keys; ++k) {
    const double d_score = kScale * w[k] * (d_w[k] - delta);
    for (std::int64_t d = 0; d < c.key_width; ++d) {
      e.d_query[query_at(d)] += d_score * in.key[key_at(k, d)];
      e.d_key[key_at(k, d)] += d_score * in.query[query_at(d)];
    }
  }
}

Expected expected(const AttentionCase& c, const Inputs& in) {
  Expected e{Numbers(in.d_output.size()),
             Numbers(c.batch * c.heads * c.queries),
             Numbers(c.batch * c.heads * c.queries * c.keys),
             Numbers(in.query.size()),
             Numbers(in.key.size()),
             Numbers(in.value.size())};
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t h = 0; h < c.heads; ++h) {
      for (std::int64_t q = 0; q < c.queries; ++q) add_expected(c, in, b, h, q, e);
    }
  }
  return e;
}

template<class T>
struct Found {
  std::vector<T> output, log_sum_exp, weights, d_query, d_key, d_value;
};

template<class T>
AttentionProblem<T> make_problem(const AttentionCase& c, const std::vector<T>& query,
                                 const std::vector<T>& key, const std::vector<T>& value) {
  AttentionProblem<T> p;
  p.batch = c.batch;
  p.heads = c.heads;
  p.queries = c.queries;
  p.keys = c.keys;
  p.key_width = c.key_width;
  p.value_width = c.value_width;
  p.query = query.data();
  p.key = key.data();
  p.value = value.data();
  p.visible = c.visible();
  p.scale = kScale;
  p.dropout = DropoutMask<T>(kRandom, kStream, c.dropout);
  return p;
}

template<class T>
Found<T> compute(const AttentionCase& c, const Inputs& in, int thread_count, T already_there = T(77)) {
  const auto query = as<T>(in.query), key = as<T>(in.key), value = as<T>(in.value),
             d_output = as<T>(in.d_output);
  Found<T> f{std::vector<T>(d_output.size(), T(77)),
             std::vector<T>(c.batch * c.heads * c.queries, T(77)),
             std::vector<T>(c.batch * c.heads * c.queries * c.keys, T(77)),
             std::vector<T>(query.size(), already_there),
             std::vector<T>(key.size(), already_there),
             std::vector<T>(value.size(), already_there)};
  Threads threads(thread_count);
  Workspace workspace;
  const auto p = make_problem(c, query, key, value);
  attention(p, {f.output.data(), f.log_sum_exp.data(), f.weights.data()}, threads, workspace);
  const bool add = already_there != T(77);
  attention_gradient(p,
                     {f.output.data(), f.log_sum_exp.data(), d_output.data(), f.d_query.data(),
                      f.d_key.data(), f.d_value.data(), add, add, add},
                     threads, workspace);
  return f;
}

template<class T>
void check(const AttentionCase& c) {
  const Inputs in(c);
  const Expected e = expected(c, in);
  const Found<T> f = compute<T>(c, in, 1);
  INFO("queries " << c.queries << ", keys " << c.keys << ", widths " << c.key_width << " and "
                  << c.value_width << ", bytes " << sizeof(T));
  CHECK(difference(f.output, e.output) < kTolerance<T>);
  CHECK(difference(f.log_sum_exp, e.log_sum_exp) < kTolerance<T>);
  CHECK(difference(f.weights, e.weights) < kTolerance<T>);
  CHECK(difference(f.d_query, e.d_query) < kTolerance<T>);
  CHECK(difference(f.d_key, e.d_key) < kTolerance<T>);
  CHECK(difference(f.d_value, e.d_value) < kTolerance<T>);
}

void check_both(const AttentionCase& c) {
  check<float>(c);
  check<double>(c);
}

template<class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template<class T>
bool same_bits(const Found<T>& a, const Found<T>& b) {
  return same_bits(a.output, b.output) && same_bits(a.log_sum_exp, b.log_sum_exp) &&
         same_bits(a.weights, b.weights) && same_bits(a.d_query, b.d_query) && same_bits(a.d_key, b.d_key) &&
         same_bits(a.d_value, b.d_value);
}

TEST_CASE("attention and its gradient agree with the formulas at odd and even sizes") {
  check_both({1, 1, 1, 1, 1, 1});
  check_both({2, 3, 3, 17, 5, 7});
  check_both({2, 2, 17, 3, 16, 33});
  check_both({3, 4, 10, 10, 8, 8});
  check_both({1, 2, 129, 129, 64, 64});
}

TEST_CASE("long sequences, cut into tiles and blocks, agree with the formulas") {
  check_both({1, 1, 300, 700, 24, 8});
  check_both({1, 1, 1100, 1100, 8, 8, {}, true});
  check_both({2, 4, 2100, 40, 8, 8});
}

TEST_CASE("masked keys have no influence, and rows without keys give zeros") {
  check_both({3, 2, 5, 9, 4, 4, {4, 0, 20}});
  check_both({2, 2, 3, 9, 4, 4, {0, 5, 9, -3, 1, 12}});
  check_both({1, 1, 17, 17, 4, 4, {}, true, 0});
  check_both({2, 1, 17, 20, 4, 4, {13, 18}, true, 3});
  check_both({1, 1, 17, 17, 4, 4, {}, true, -4});
  check_both({1, 1, 400, 400, 8, 8, {390}, true, -150});
  check_both({2, 1, 3, 600, 8, 8, {0, 300, 256, 600, 599, 257}});
}

TEST_CASE("weights are dropped as the shared random numbers say") {
  check_both({2, 3, 7, 9, 4, 4, {}, false, 0, 0.3});
  check_both({2, 1, 5, 601, 4, 4, {600, 300}, false, 0, 0.5});
  check_both({1, 2, 130, 130, 8, 8, {}, true, 0, 0.1});
}

TEST_CASE("without queries or keys attention gives empty or zero results") {
  check_both({2, 2, 0, 3, 4, 4});
  check_both({2, 2, 3, 0, 4, 4});
}

TEST_CASE("the bits of attention do not depend on the number of threads") {
  for (const AttentionCase& c : {AttentionCase{64, 4, 10, 10, 8, 8, {}, true, 0, 0.1},
                                 AttentionCase{1, 1, 1300, 1300, 16, 16, {}, true},
                                 AttentionCase{2, 4, 129, 300, 64, 64, {}, false, 0, 0.2}}) {
    const Inputs in(c);
    CHECK(same_bits(compute<float>(c, in, 1), compute<float>(c, in, 2)));
    CHECK(same_bits(compute<double>(c, in, 1), compute<double>(c, in, 3)));
  }
}

TEST_CASE("gradients of attention are added where the operation says so") {
  for (const AttentionCase& c : {AttentionCase{2, 3, 5, 7, 5, 6}, AttentionCase{1, 1, 20, 1100, 5, 6}}) {
    const Inputs in(c);
    Expected e = expected(c, in);
    for (Numbers* numbers : {&e.d_query, &e.d_key, &e.d_value}) {
      for (double& x : *numbers) x += 2;
    }
    const auto f = compute<double>(c, in, 1, 2.0);
    CHECK(difference(f.d_query, e.d_query) < 1e-12);
    CHECK(difference(f.d_key, e.d_key) < 1e-12);
    CHECK(difference(f.d_value, e.d_value) < 1e-12);
  }
}

TEST_CASE("absent outputs of attention leave the others as they are") {
  for (const AttentionCase& c : {AttentionCase{2, 3, 5, 7, 5, 6}, AttentionCase{1, 1, 20, 1100, 5, 6}}) {
    const Inputs in(c);
    const auto all = compute<double>(c, in, 1);
    Threads threads(1);
    Workspace workspace;
    const auto p = make_problem(c, in.query, in.key, in.value);
    Numbers output(all.output.size()), log_sum_exp(all.log_sum_exp.size());
    attention(p, {output.data(), log_sum_exp.data(), nullptr}, threads, workspace);
    CHECK(same_bits(output, all.output));
    CHECK(same_bits(log_sum_exp, all.log_sum_exp));
    for (int only = 0; only < 3; ++only) {
      Numbers found(only == 0 ? in.query.size() : only == 1 ? in.key.size() : in.value.size());
      AttentionGradient<double> g;
      g.output = output.data();
      g.log_sum_exp = log_sum_exp.data();
      g.d_output = in.d_output.data();
      (only == 0 ? g.d_query : only == 1 ? g.d_key : g.d_value) = found.data();
      attention_gradient(p, g, threads, workspace);
      CHECK(same_bits(found, only == 0 ? all.d_query : only == 1 ? all.d_key : all.d_value));
    }
  }
}

TEST_CASE("the gradient of attention agrees with differences of its values") {
  const AttentionCase c{2, 2, 3, 5, 3, 2, {4, 5}, true, 2, 0.25};
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
  check_one(&Inputs::value, f.d_value);
}

TEST_CASE("a query that is not a number spoils its own row only, a masked key nothing") {
  const AttentionCase c{1, 1, 20, 40, 8, 8, {30}};
  Inputs in(c);
  const auto clean = compute<float>(c, in, 1);
  in.query[3 * 8] = std::numeric_limits<double>::quiet_NaN();
  in.key[35 * 8 + 2] = std::numeric_limits<double>::quiet_NaN();
  const auto f = compute<float>(c, in, 1);
  for (std::size_t i = 0; i < f.output.size(); ++i) {
    if (i / 8 == 3) {
      CHECK(std::isnan(f.output[i]));
    } else {
      CHECK(f.output[i] == clean.output[i]);
    }
  }
}

TEST_CASE("very large and very different scores neither overflow nor lose the largest") {
  const AttentionCase c{1, 1, 2, 600, 1, 1};
  Inputs in(c);
  in.query = {1000, -1000};
  in.key[0] = 1.5;
  in.key[599] = -1.5;
  const auto f = compute<float>(c, in, 1);
  CHECK(f.output[0] == static_cast<float>(in.value[0]));
  CHECK(f.output[1] == static_cast<float>(in.value[599]));
  CHECK(f.log_sum_exp[0] == 1050.0f);
}

}  // namespace
}  // namespace attn::eigen::test
