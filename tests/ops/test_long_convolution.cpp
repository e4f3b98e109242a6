#include <algorithm>
#include <cmath>

#include "attn/ops/ops.h"
#include "attn/runtime/random.h"
#include "support/catch.h"

namespace {

using namespace attn;

using Values = std::vector<double>;

Values random_values(std::int64_t count, const char* name) {
  RandomSequence random(17, name);
  return normal_values(random, count, 1.0);
}

struct Case {
  std::int64_t batch, steps;
  ops::Window window;
};

constexpr std::int64_t channels = 5, outputs = 7;

Values convolve(const char* backend, const Case& c, int threads = 1) {
  const auto device = Device::open(backend, {.threads = threads});
  const auto tensor = [&](const Shape& shape, const char* name) {
    return Tensor::from<double>(device, random_values(shape.elements(), name), shape);
  };
  return ops::conv_1d(tensor({c.batch, c.steps, channels}, "x"),
                      tensor({outputs, c.window.kernel, channels}, "weight"), tensor({outputs}, "bias"),
                      c.window)
      .to_vector<double>();
}

}  // namespace

TEST_CASE("convolution of a long sequence equals the reference, at its ends as within") {
  for (const std::int64_t batch : {1, 3}) {
    for (const std::int64_t kernel : {1, 2, 3, 6}) {
      for (const std::int64_t stride : {1, 2, 3}) {
        for (const auto& [before, after] : {std::pair{0, 0}, {1, 1}, {5, 0}, {0, 4}, {400, 300}}) {
          for (const std::int64_t dilation : {1, 2}) {
            const Case c{batch, 800, {kernel, stride, dilation, before, after}};
            CAPTURE(batch, kernel, stride, dilation, before, after);
            const Values found = convolve("eigen", c), expected = convolve("reference", c);
            REQUIRE(found.size() == expected.size());
            double worst = 0;
            for (std::size_t i = 0; i < found.size(); ++i)
              worst = std::max(worst, std::abs(found[i] - expected[i]));
            CHECK(worst < 1e-12);
          }
        }
      }
    }
  }
}

TEST_CASE("convolution of a long sequence has the same bits with any number of threads, in any batch") {
  const Case alone{1, 700, {3, 1, 1, 1, 1}};
  const Values one = convolve("eigen", alone, 1);
  CHECK(convolve("eigen", alone, 2) == one);
  Case among = alone;
  among.batch = 2;
  Values first = convolve("eigen", among, 2);
  first.resize(one.size());
  CHECK(first == one);
  // A sequence so short that it is computed in another way: equal where both see the same steps.
  Case shorter = alone;
  shorter.steps = 200;
  const Values part = convolve("eigen", shorter, 1);
  CHECK(std::equal(part.begin(), part.begin() + 199 * outputs, one.begin()));
}
