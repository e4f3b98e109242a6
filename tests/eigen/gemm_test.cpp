#include "gemm.h"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "support/catch.h"

namespace attn::eigen::test {
namespace {

template<class T>
std::vector<T> random_numbers(std::int64_t count, std::mt19937& generator) {
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& x : numbers) x = static_cast<T>(static_cast<int>(generator() % 2001) - 1000) / T(1000);
  return numbers;
}

struct Case {
  std::int64_t rows, columns, depth;
  bool a_transposed, b_transposed;
  double alpha, beta;
};

std::vector<Case> cases() {
  std::vector<Case> found = {{0, 3, 4, false, false, 1, 0},    {3, 0, 4, false, true, 1, 1},
                             {3, 5, 0, false, false, 1, 0},    {3, 5, 0, true, false, 1, 0.5},
                             {1, 1, 1, true, true, 2, 3},      {260, 450, 70, false, true, 1, 0},
                             {70, 60, 1100, true, false, 1, 1}};
  std::mt19937 generator(7);
  const auto up_to = [&](unsigned largest) {
    return std::int64_t{1} + static_cast<std::int64_t>(generator() % largest);
  };
  for (int i = 0; i < 120; ++i) {
    const double betas[] = {0, 1, 0.25};
    found.push_back(
        {up_to(60), up_to(90), up_to(80), i % 2 == 1, i / 2 % 2 == 1, i % 3 == 0 ? 0.5 : 1.0, betas[i % 3]});
  }
  return found;
}

template<class T>
struct Operands {
  std::vector<T> a, b, c;
  MatrixView<T> left, right;

  Operands(const Case& s, std::mt19937& generator)
      : a(random_numbers<T>(s.rows * s.depth, generator)),
        b(random_numbers<T>(s.depth * s.columns, generator)),
        c(random_numbers<T>(s.rows * s.columns, generator)),
        left(s.a_transposed ? row_major<T>(a.data(), s.rows).transposed() : row_major<T>(a.data(), s.depth)),
        right(s.b_transposed ? row_major<T>(b.data(), s.depth).transposed()
                             : row_major<T>(b.data(), s.columns)) {}
};

template<class T>
std::vector<T> product(KernelContext context, const Case& s, const Operands<T>& x) {
  std::vector<T> c = x.c;
  if (s.beta == 0) c.assign(c.size(), static_cast<T>(NAN));  // is not to be read
  multiply<T>(context, s.rows, s.columns, s.depth, static_cast<T>(s.alpha), x.left, x.right,
              static_cast<T>(s.beta), c.data(), s.columns);
  return c;
}

template<class T>
double worst_error(const Case& s, const Operands<T>& x, const std::vector<T>& found) {
  double worst = 0;
  for (std::int64_t i = 0; i < s.rows; ++i) {
    for (std::int64_t j = 0; j < s.columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < s.depth; ++k) {
        sum += double{x.left.data[i * x.left.row_step + k * x.left.column_step]} *
               double{x.right.data[k * x.right.row_step + j * x.right.column_step]};
      }
      const double expected = s.alpha * sum + s.beta * double{x.c[i * s.columns + j]};
      const double error = std::fabs(expected - double{found[i * s.columns + j]});
      worst = error <= worst ? worst : error;  // NaN counts as an error
    }
  }
  return worst;
}

template<class T>
void check_products(double tolerance) {
  Workspace workspace;
  Threads one(1), three(3);
  std::mt19937 generator(1);
  for (const Case& s : cases()) {
    INFO(s.rows << " x " << s.columns << " x " << s.depth << ", transposed " << s.a_transposed
                << s.b_transposed << ", alpha " << s.alpha << ", beta " << s.beta);
    const Operands<T> x(s, generator);
    const std::vector<T> found = product(KernelContext{one, workspace}, s, x);
    CHECK(worst_error(s, x, found) < tolerance);
    CHECK(product(KernelContext{three, workspace}, s, x) == found);
    if (s.rows < 2 || s.columns == 0) continue;
    // The last row alone.
    const std::int64_t row = s.rows - 1;
    std::vector<T> alone(x.c.begin() + row * s.columns, x.c.end());
    KernelContext context{one, workspace};
    multiply<T>(context, 1, s.columns, s.depth, static_cast<T>(s.alpha),
                {x.left.data + row * x.left.row_step, x.left.row_step, x.left.column_step}, x.right,
                static_cast<T>(s.beta), alone.data(), s.columns);
    CHECK(std::memcmp(alone.data(), found.data() + row * s.columns, alone.size() * sizeof(T)) == 0);
  }
}

}  // namespace

TEST_CASE("matrix products are right in any layout, and a row has the same bits alone and among others") {
  check_products<float>(2e-4);
  check_products<double>(1e-12);
}

TEST_CASE("a product may be followed by a bias and an activation") {
  Workspace workspace;
  Threads one(1);
  KernelContext context{one, workspace};
  const std::int64_t columns = 37;
  const std::vector<double> a = {2}, ones(static_cast<std::size_t>(columns), 1.0);
  std::vector<double> bias, y(static_cast<std::size_t>(columns));
  for (std::int64_t j = 0; j < columns; ++j) bias.push_back(0.125 * static_cast<double>(j) - 4);
  const auto run = [&](std::int32_t activation) {
    multiply<double>(context, 1, columns, 1, 1, row_major<double>(a.data(), 1),
                     row_major<double>(ones.data(), columns), 0, y.data(), columns,
                     {bias.data(), activation});
  };
  double worst = 0;
  const auto compare = [&](auto function) {
    for (std::int64_t j = 0; j < columns; ++j)
      worst = std::max(worst, std::fabs(y[j] - function(2 + bias[j])));
  };
  run(ATTN_ACTIVATION_NONE);
  compare([](double x) { return x; });
  run(ATTN_ACTIVATION_RELU);
  compare([](double x) { return x > 0 ? x : 0; });
  run(ATTN_ACTIVATION_TANH);
  compare([](double x) { return std::tanh(x); });
  run(ATTN_ACTIVATION_SIGMOID);
  compare([](double x) { return 1 / (1 + std::exp(-x)); });
  CHECK(worst < 1e-15);
}

}  // namespace attn::eigen::test
