#include "gru.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "support/catch.h"

namespace attn::eigen::test {
namespace {

using Numbers = std::vector<double>;

// Numbers that float represents exactly.
Numbers random_numbers(std::int64_t count, unsigned seed, double scale = 1) {
  std::mt19937 generator(seed);
  Numbers numbers(static_cast<std::size_t>(count));
  for (double& x : numbers) x = (static_cast<double>(generator() % 4096) / 2048.0 - 1.0) * scale;
  return numbers;
}

template<class T>
std::vector<T> as(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

template<class T>
double difference(const std::vector<T>& found, const Numbers& expected) {
  double worst = 0, largest = 1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::fabs(static_cast<double>(found[i]) - expected[i]);
    if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, error);
    largest = std::max(largest, std::fabs(expected[i]));
  }
  return worst / largest;
}

struct Inputs {
  explicit Inputs(const GruShape& s)
      : input_gates(random_numbers(s.steps * s.batch * 3 * s.hidden, 1)),
        initial_state(random_numbers(s.batch * s.hidden, 2)),
        weight(random_numbers(3 * s.hidden * s.hidden, 3, s.hidden > 16 ? 0.125 : 0.5)),
        bias(random_numbers(3 * s.hidden, 4)),
        d_states(random_numbers(s.steps * s.batch * s.hidden, 5)) {}
  Numbers input_gates, initial_state, weight, bias, d_states;
};

template<class T>
struct Results {
  std::vector<T> states, gates, d_input_gates, d_initial_state, d_weight, d_bias;
};

template<class T>
Results<T> empty_results(const GruShape& s, T fill) {
  const std::int64_t lines = s.steps * s.batch;
  return {std::vector<T>(lines * s.hidden, fill),        std::vector<T>(lines * 4 * s.hidden, fill),
          std::vector<T>(lines * 3 * s.hidden, fill),    std::vector<T>(s.batch * s.hidden, fill),
          std::vector<T>(3 * s.hidden * s.hidden, fill), std::vector<T>(3 * s.hidden, fill)};
}

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

void forward_row(const GruShape& s, const Inputs& in, bool with_bias, std::int64_t line, const double* before,
                 Results<double>& e) {
  const std::int64_t h = s.hidden;
  double* gates = e.gates.data() + line * 4 * h;
  for (std::int64_t j = 0; j < h; ++j) {
    double u[3];
    for (std::int64_t gate = 0; gate < 3; ++gate) {
      u[gate] = with_bias ? in.bias[gate * h + j] : 0;
      for (std::int64_t k = 0; k < h; ++k) u[gate] += before[k] * in.weight[(gate * h + j) * h + k];
    }
    const double* a = in.input_gates.data() + line * 3 * h;
    const double r = logistic(a[j] + u[0]), z = logistic(a[h + j] + u[1]),
                 n = std::tanh(a[2 * h + j] + r * u[2]);
    gates[j] = r;
    gates[h + j] = z;
    gates[2 * h + j] = n;
    gates[3 * h + j] = u[2];
    e.states[line * h + j] = (1 - z) * n + z * before[j];
  }
}

// d_state: the gradient of the state after the step on entry, before it on exit.
void backward_row(const GruShape& s, const Inputs& in, std::int64_t line, const double* before,
                  Numbers& d_state, Results<double>& e) {
  const std::int64_t h = s.hidden;
  const double* gates = e.gates.data() + line * 4 * h;
  Numbers d_before(h);
  for (std::int64_t j = 0; j < h; ++j) {
    const double r = gates[j], z = gates[h + j], n = gates[2 * h + j], u_n = gates[3 * h + j];
    const double d = d_state[j] + in.d_states[line * h + j];
    const double d_n = d * (1 - z) * (1 - n * n), d_z = d * (before[j] - n) * z * (1 - z);
    const double d_r = d_n * u_n * r * (1 - r);
    const double d_u[3] = {d_r, d_z, d_n * r}, d_a[3] = {d_r, d_z, d_n};
    d_before[j] += d * z;
    for (std::int64_t gate = 0; gate < 3; ++gate) {
      e.d_input_gates[line * 3 * h + gate * h + j] = d_a[gate];
      e.d_bias[gate * h + j] += d_u[gate];
      for (std::int64_t k = 0; k < h; ++k) {
        e.d_weight[(gate * h + j) * h + k] += d_u[gate] * before[k];
        d_before[k] += d_u[gate] * in.weight[(gate * h + j) * h + k];
      }
    }
  }
  d_state = d_before;
}

Results<double> expected(const GruShape& s, const Inputs& in, bool with_bias) {
  Results<double> e = empty_results<double>(s, 0);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const auto before = [&](std::int64_t t) {
      return t == 0 ? in.initial_state.data() + b * s.hidden
                    : e.states.data() + ((t - 1) * s.batch + b) * s.hidden;
    };
    for (std::int64_t t = 0; t < s.steps; ++t) forward_row(s, in, with_bias, t * s.batch + b, before(t), e);
    Numbers d_state(s.hidden);
    for (std::int64_t t = s.steps - 1; t >= 0; --t)
      backward_row(s, in, t * s.batch + b, before(t), d_state, e);
    std::copy(d_state.begin(), d_state.end(), e.d_initial_state.begin() + b * s.hidden);
  }
  return e;
}

template<class T>
Results<T> compute(const GruShape& s, const Inputs& in, int thread_count, bool with_bias = true,
                   bool add = false) {
  const auto input_gates = as<T>(in.input_gates), initial_state = as<T>(in.initial_state),
             weight = as<T>(in.weight), bias = as<T>(in.bias), d_states = as<T>(in.d_states);
  Results<T> f = empty_results<T>(s, T(2));
  Threads threads(thread_count);
  Workspace workspace;
  GruSequence<T> forward{s,
                         input_gates.data(),
                         initial_state.data(),
                         weight.data(),
                         with_bias ? bias.data() : nullptr,
                         f.states.data(),
                         f.gates.data()};
  gru_sequence(forward, threads, workspace);
  GruSequenceGradient<T> g;
  g.shape = s;
  g.initial_state = initial_state.data();
  g.weight = weight.data();
  g.states = f.states.data();
  g.gates = f.gates.data();
  g.d_states = d_states.data();
  g.d_input_gates = f.d_input_gates.data();
  g.d_initial_state = f.d_initial_state.data();
  g.d_weight = f.d_weight.data();
  g.d_bias = f.d_bias.data();
  g.add_to_input_gates = g.add_to_initial_state = g.add_to_weight = g.add_to_bias = add;
  gru_sequence_gradient(g, threads, workspace);
  return f;
}

template<class T>
void check(const GruShape& s, bool with_bias = true, bool add = false) {
  const Inputs in(s);
  Results<double> e = expected(s, in, with_bias);
  if (add) {
    for (Numbers* numbers : {&e.d_input_gates, &e.d_initial_state, &e.d_weight, &e.d_bias}) {
      for (double& x : *numbers) x += 2;
    }
  }
  const Results<T> f = compute<T>(s, in, 1, with_bias, add);
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-12;
  INFO("steps " << s.steps << ", batch " << s.batch << ", hidden " << s.hidden << ", bytes " << sizeof(T));
  CHECK(difference(f.states, e.states) < tolerance);
  CHECK(difference(f.gates, e.gates) < tolerance);
  CHECK(difference(f.d_input_gates, e.d_input_gates) < tolerance);
  CHECK(difference(f.d_initial_state, e.d_initial_state) < tolerance);
  CHECK(difference(f.d_weight, e.d_weight) < tolerance);
  CHECK(difference(f.d_bias, e.d_bias) < tolerance);
}

template<class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST_CASE("a gated recurrent sequence and its gradient agree with the formulas") {
  for (const GruShape& s : {GruShape{1, 1, 1}, GruShape{10, 64, 32}, GruShape{1, 1, 33}, GruShape{1, 8, 32},
                            GruShape{3, 17, 5}, GruShape{129, 2, 17}, GruShape{40, 13, 48}}) {
    check<float>(s);
    check<double>(s);
  }
}

TEST_CASE("a gated recurrent sequence without bias, and gradients that are added") {
  check<double>({4, 3, 7}, false, false);
  check<double>({4, 3, 7}, true, true);
  check<double>({1, 2, 7}, false, true);
}

TEST_CASE("a sequence of no steps has no gradient") {
  const GruShape s{0, 2, 3};
  const auto f = compute<double>(s, Inputs(s), 1);
  CHECK(f.d_weight == Numbers(27));
  CHECK(f.d_bias == Numbers(9));
  CHECK(f.d_initial_state == Numbers(6));
}

TEST_CASE("absent gradients of a gated recurrent sequence leave the others as they are") {
  const GruShape s{5, 3, 7};
  const Inputs in(s);
  const auto all = compute<double>(s, in, 1);
  Threads threads(1);
  Workspace workspace;
  for (int only = 0; only < 4; ++only) {
    GruSequenceGradient<double> g;
    g.shape = s;
    g.initial_state = in.initial_state.data();
    g.weight = in.weight.data();
    g.states = all.states.data();
    g.gates = all.gates.data();
    g.d_states = in.d_states.data();
    Results<double> f = empty_results<double>(s, 0);
    if (only == 0) g.d_input_gates = f.d_input_gates.data();
    if (only == 1) g.d_initial_state = f.d_initial_state.data();
    if (only == 2) g.d_weight = f.d_weight.data();
    if (only == 3) g.d_bias = f.d_bias.data();
    gru_sequence_gradient(g, threads, workspace);
    if (only == 0) CHECK(f.d_input_gates == all.d_input_gates);
    if (only == 1) CHECK(f.d_initial_state == all.d_initial_state);
    if (only == 2) CHECK(f.d_weight == all.d_weight);
    if (only == 3) CHECK(f.d_bias == all.d_bias);
  }
}

TEST_CASE("the bits of a gated recurrent sequence do not depend on the number of threads") {
  for (const GruShape& s : {GruShape{10, 64, 32}, GruShape{3, 65, 100}}) {
    const Inputs in(s);
    const auto one = compute<float>(s, in, 1), two = compute<float>(s, in, 2);
    CHECK(same_bits(one.states, two.states));
    CHECK(same_bits(one.gates, two.gates));
    CHECK(same_bits(one.d_input_gates, two.d_input_gates));
    CHECK(same_bits(one.d_initial_state, two.d_initial_state));
    CHECK(same_bits(one.d_weight, two.d_weight));
    CHECK(same_bits(one.d_bias, two.d_bias));
  }
}

TEST_CASE("the gradient of a gated recurrent sequence agrees with differences of its values") {
  const GruShape s{3, 2, 3};
  const Inputs in(s);
  const auto f = compute<double>(s, in, 1);
  const auto loss = [&](const Inputs& at) {
    const auto states = compute<double>(s, at, 1).states;
    double sum = 0;
    for (std::size_t i = 0; i < states.size(); ++i) sum += states[i] * in.d_states[i];
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
  check_one(&Inputs::input_gates, f.d_input_gates);
  check_one(&Inputs::initial_state, f.d_initial_state);
  check_one(&Inputs::weight, f.d_weight);
  check_one(&Inputs::bias, f.d_bias);
}

}  // namespace
}  // namespace attn::eigen::test
