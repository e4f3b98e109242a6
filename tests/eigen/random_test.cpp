#include "random.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/catch.h"

namespace attn::eigen::test {

TEST_CASE("dropout masks are those of the shared generator at any offset and length") {
  const std::int32_t random[4] = {123, -5, 7, 9};
  const std::uint32_t stream = 11;
  const double rate = 0.3;
  const DropoutMask<float> mask(random, stream, rate);
  const std::int64_t beyond_32_bits = 4 * (std::int64_t{1} << 32);
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1}, std::int64_t{6}, beyond_32_bits - 13}) {
    for (const std::int64_t count : {0, 1, 5, 64, 301}) {
      std::vector<float> factors(static_cast<std::size_t>(count), -1.0f);
      mask.fill(first, count, factors.data());
      int wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const auto element = static_cast<std::uint64_t>(first + i);
        std::uint32_t words[4];
        attn_dropout_block(random, stream, element / 4, words);
        const bool kept = words[element % 4] >= attn_dropout_threshold(rate);
        wrong += factors[static_cast<std::size_t>(i)] != (kept ? mask.scale() : 0.0f) ? 1 : 0;
      }
      INFO("elements " << first << " to " << first + count);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("what is dropped is 0 even if it was not finite") {
  const std::int32_t random[4] = {1, 2, 3, 4};
  const DropoutMask<double> mask(random, 0, 0.5);
  std::vector<double> x(100, INFINITY), factors(100);
  mask.fill(0, 100, factors.data());
  mask.apply(0, 100, x.data(), x.data());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == (factors[i] == 0 ? 0.0 : INFINITY));
}

TEST_CASE("with rate 0 everything is kept and no random numbers are needed") {
  const DropoutMask<float> mask(nullptr, 0, 0);
  std::vector<float> factors(3);
  mask.fill(0, 3, factors.data());
  CHECK_FALSE(mask.active());
  CHECK(factors == std::vector<float>(3, 1.0f));
}

}  // namespace attn::eigen::test
