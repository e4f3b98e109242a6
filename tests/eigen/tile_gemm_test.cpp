// Products on matrix tiles: what gemm_test.cpp does not ask, since it asks every variant for the same.
#if defined(ATTN_EIGEN_TILES)
#include "amx/tile_gemm.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/catch.h"

namespace attn::eigen::test {
namespace {

using Numbers = std::vector<float>;

/// A test cannot ask for more than that a machine without tiles says so.
bool tiles_are_missing() {
  if (tiles::granted()) return false;
  WARN("skipped: this processor has no matrix tiles (AMX), or the operating system refuses them");
  return true;
}

enum class Scale { kOne, kWide, kTiny, kLarge };

Numbers random_numbers(std::int64_t count, Scale scale, std::mt19937& generator) {
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> exponent(-20, 20);
  Numbers numbers(static_cast<std::size_t>(count));
  for (float& x : numbers) {
    x = normal(generator);
    if (scale == Scale::kWide) x *= std::pow(10.0F, exponent(generator) / 2);
    if (scale == Scale::kTiny) x *= 1e-12F;
    if (scale == Scale::kLarge) x *= 1e15F;
  }
  return numbers;
}

struct Product {
  std::int64_t rows, columns, depth;
  bool a_transposed = false, b_transposed = true;
  float alpha = 1, beta = 0;
  std::int32_t activation = ATTN_ACTIVATION_NONE;
  bool bias = false;
};

std::string describe(const Product& s) {
  return std::to_string(s.rows) + " x " + std::to_string(s.columns) + " x " + std::to_string(s.depth) +
         ", transposed " + std::to_string(s.a_transposed) + std::to_string(s.b_transposed) + ", alpha " +
         std::to_string(s.alpha) + ", beta " + std::to_string(s.beta) + ", activation " +
         std::to_string(s.activation);
}

struct Operands {
  Numbers a, b, c, bias;
  MatrixView<float> left, right;

  Operands(const Product& s, Scale scale, std::mt19937& generator)
      : a(random_numbers(s.rows * s.depth, scale, generator)),
        b(random_numbers(s.depth * s.columns, scale, generator)),
        c(random_numbers(s.rows * s.columns, Scale::kOne, generator)),
        bias(random_numbers(s.columns, Scale::kOne, generator)),
        left(s.a_transposed ? row_major<float>(a.data(), s.rows).transposed()
                            : row_major<float>(a.data(), s.depth)),
        right(s.b_transposed ? row_major<float>(b.data(), s.depth).transposed()
                             : row_major<float>(b.data(), s.columns)) {}
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  float a_at(std::int64_t i, std::int64_t k) const {
    return left.data[i * left.row_step + k * left.column_step];
  }
  float b_at(std::int64_t k, std::int64_t j) const {
    return right.data[k * right.row_step + j * right.column_step];
  }
};

Numbers by_tiles(int threads, const Product& s, const Operands& x) {
  Threads pool(threads);
  Workspace workspace;
  KernelContext context{pool, workspace};
  Numbers c = x.c;
  if (s.beta == 0) c.assign(c.size(), std::numeric_limits<float>::quiet_NaN());  // is not to be read
  multiply<float>(context, s.rows, s.columns, s.depth, s.alpha, x.left, x.right, s.beta, c.data(), s.columns,
                  {s.bias ? x.bias.data() : nullptr, s.activation});
  return c;
}

double activated(double x, std::int32_t activation) {
  switch (activation) {
    case ATTN_ACTIVATION_RELU:
      return x > 0 ? x : 0;
    case ATTN_ACTIVATION_TANH:
      return std::tanh(x);
    case ATTN_ACTIVATION_SIGMOID:
      return 1 / (1 + std::exp(-x));
    default:
      return x;
  }
}

struct Errors {
  double tiles = 0, chain = 0;  // root mean square, relative to the sum of magnitudes
};

/// The errors of the tiles and of one chain of multiply-adds, which is what the other variants compute.
Errors compare(const Product& s, const Operands& x, const Numbers& found) {
  Errors errors;
  for (std::int64_t i = 0; i < s.rows; ++i) {
    for (std::int64_t j = 0; j < s.columns; ++j) {
      double sum = 0, magnitude = 0;
      float chain = 0;
      for (std::int64_t k = 0; k < s.depth; ++k) {
        const double term = double{x.a_at(i, k)} * double{x.b_at(k, j)};
        sum += term;
        magnitude += std::fabs(term);
        chain = std::fma(x.a_at(i, k), x.b_at(k, j), chain);
      }
      errors.tiles += std::pow((double{found[i * s.columns + j]} - sum) / magnitude, 2);
      errors.chain += std::pow((double{chain} - sum) / magnitude, 2);
    }
  }
  const auto count = static_cast<double>(s.rows * s.columns);
  return {std::sqrt(errors.tiles / count), std::sqrt(errors.chain / count)};
}

/// The largest error, where 1 is what rounding of the product's depth may make it in float32.
double worst_error(const Product& s, const Operands& x, const Numbers& found) {
  double worst = 0;
  for (std::int64_t i = 0; i < s.rows; ++i) {
    for (std::int64_t j = 0; j < s.columns; ++j) {
      double sum = 0, magnitude = 1;
      for (std::int64_t k = 0; k < s.depth; ++k) {
        const double term = double{x.a_at(i, k)} * double{x.b_at(k, j)};
        sum += term;
        magnitude += std::fabs(term);
      }
      double expected = double{s.alpha} * sum + double{s.beta} * double{x.c[i * s.columns + j]};
      if (s.bias) expected += double{x.bias[j]};
      const double error =
          std::fabs(activated(expected, s.activation) - double{found[i * s.columns + j]}) /
          (magnitude * std::max(1.0F, std::fabs(s.alpha)) * std::sqrt(double(s.depth)) * 6e-8);
      worst = error <= worst ? worst : error;  // NaN counts as an error
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("products on tiles are as accurate as chains of multiply-adds, at any scale of the numbers") {
  if (tiles_are_missing()) return;
  std::mt19937 generator(3);
  const Product shapes[] = {{40, 70, 128}, {16, 33, 256}, {5, 48, 512}, {33, 40, 1000}, {70, 30, 137}};
  for (const Product& s : shapes) {
    for (const Scale scale : {Scale::kOne, Scale::kWide, Scale::kTiny, Scale::kLarge}) {
      INFO(describe(s) << ", scale " << static_cast<int>(scale));
      const Operands x(s, scale, generator);
      const Errors errors = compare(s, x, by_tiles(1, s, x));
      INFO("tiles " << errors.tiles << ", chain " << errors.chain);
      CHECK(errors.tiles < 1.5 * errors.chain);
    }
  }
}

TEST_CASE("products on tiles are right in any layout and at any edge, with all that may follow") {
  if (tiles_are_missing()) return;
  std::mt19937 generator(5);
  const auto up_to = [&](unsigned largest) {
    return std::int64_t{1} + static_cast<std::int64_t>(generator() % largest);
  };
  const float alphas[] = {1, 0.5F, -2}, betas[] = {0, 1, 0.25F};
  for (int i = 0; i < 160; ++i) {
    Product s{up_to(i % 2 == 0 ? 20 : 100), up_to(150), 127 + up_to(i % 5 == 0 ? 600 : 90)};
    s.a_transposed = i % 2 == 1;
    s.b_transposed = i / 2 % 2 == 1;
    s.alpha = alphas[i % 3];
    s.beta = betas[i / 3 % 3];
    s.bias = i / 4 % 2 == 1;
    s.activation = i / 8 % 4;
    INFO(describe(s));
    const Operands x(s, Scale::kOne, generator);
    const Numbers found = by_tiles(1, s, x);
    CHECK(worst_error(s, x, found) < 4);
    CHECK(by_tiles(2, s, x) == found);
  }
  const Product large{700, 90, 300};  // more rows than are packed at a time
  const Operands x(large, Scale::kOne, generator);
  CHECK(worst_error(large, x, by_tiles(1, large, x)) < 4);
  CHECK(by_tiles(2, large, x) == by_tiles(1, large, x));
}

TEST_CASE("rows and columns of a product on tiles have the same bits alone, among others and when cut") {
  if (tiles_are_missing()) return;
  std::mt19937 generator(6);
  Workspace workspace;
  for (const bool b_transposed : {false, true}) {
    for (const bool a_transposed : {false, true}) {
      Product s{75, 131, 300, a_transposed, b_transposed};
      s.bias = true;
      INFO(describe(s));
      const Operands x(s, Scale::kOne, generator);
      const Numbers found = by_tiles(1, s, x);
      for (const std::int64_t height : {1, 5, 16, 17, 32, 40, 75}) {
        for (const std::int64_t width : {1, 16, 50, 131}) {
          INFO(height << " rows and " << width << " columns");
          const std::int64_t row = s.rows - height, column = s.columns - width;
          Numbers part(static_cast<std::size_t>(height * width));
          multiply_here<float>(
              workspace, height, width, s.depth, 1,
              {x.left.data + row * x.left.row_step, x.left.row_step, x.left.column_step},
              {x.right.data + column * x.right.column_step, x.right.row_step, x.right.column_step}, 0,
              part.data(), width, {x.bias.data() + column, ATTN_ACTIVATION_NONE});
          bool equal = true;
          for (std::int64_t i = 0; i < height; ++i) {
            equal =
                equal && std::memcmp(part.data() + i * width, found.data() + (row + i) * s.columns + column,
                                     static_cast<std::size_t>(width) * sizeof(float)) == 0;
          }
          CHECK(equal);
        }
      }
    }
  }
}

TEST_CASE("zeros after the last inner index do not change a product on tiles") {
  if (tiles_are_missing()) return;
  std::mt19937 generator(7);
  const Product s{20, 40, 145}, padded{20, 40, 200};
  const Operands x(s, Scale::kOne, generator);
  Operands longer(padded, Scale::kOne, generator);
  longer.a.assign(longer.a.size(), 0);
  longer.b.assign(longer.b.size(), 0);
  for (std::int64_t k = 0; k < s.depth; ++k) {
    for (std::int64_t i = 0; i < s.rows; ++i) longer.a[i * padded.depth + k] = x.a_at(i, k);
    for (std::int64_t j = 0; j < s.columns; ++j) longer.b[j * padded.depth + k] = x.b_at(k, j);
  }
  CHECK(by_tiles(1, padded, longer) == by_tiles(1, s, x));
}

TEST_CASE("infinity and NaN in an operand leave no finite number in a product on tiles") {
  if (tiles_are_missing()) return;
  std::mt19937 generator(8);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float odd_nan = 0;  // all bits of the payload set
  const std::uint32_t bits = 0xffffffffU;
  std::memcpy(&odd_nan, &bits, sizeof odd_nan);
  for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::signaling_NaN(), odd_nan}) {
    for (const std::int64_t rows : {std::int64_t{3}, std::int64_t{40}}) {
      const Product s{rows, 50, 177};
      INFO(describe(s) << ", " << bad);
      Operands x(s, Scale::kOne, generator);
      x.a[1 * s.depth + 60] = bad;
      x.b[7 * s.depth + 3] = bad;
      const Numbers found = by_tiles(1, s, x);
      bool as_expected = true;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < s.columns; ++j) {
          as_expected = as_expected && std::isfinite(found[i * s.columns + j]) == (i != 1 && j != 7);
        }
      }
      CHECK(as_expected);
    }
  }
}

TEST_CASE("large and small numbers keep their places in a product on tiles") {
  if (tiles_are_missing()) return;
  constexpr float large = 3.3e38F, small = std::numeric_limits<float>::min();
  const Product s{2, 3, 140};
  std::mt19937 generator(9);
  Operands x(s, Scale::kOne, generator);
  x.a.assign(x.a.size(), 0);
  x.b.assign(x.b.size(), 0);
  x.a[0] = large;
  x.b[0] = 1;             // 3.3e38
  x.b[s.depth] = 1e-30F;  // 3.3e8
  x.a[s.depth + 1] = small;
  x.b[2 * s.depth + 1] = 1;  // the smallest number that is not denormal
  const Numbers found = by_tiles(1, s, x);
  CHECK(found[0] == large);
  CHECK(std::fabs(found[1] - 3.3e8F) < 100);
  CHECK(found[5] == small);
  CHECK(found[2] == 0);
}

}  // namespace attn::eigen::test
#endif
