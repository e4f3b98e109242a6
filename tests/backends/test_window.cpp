#include "harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

Operation windowed(uint32_t kind, int64_t kernel, int64_t stride, int64_t dilation, int64_t padding) {
  return Operation(kind).params(attn_window_params{0, 0, kernel, stride, dilation, padding});
}

struct Case {
  int64_t kernel, stride, dilation, padding;
  Sizes y;
  Values unfolded;  // of [1,4,1] = 1, 2, 3, 4
  Values folded;    // of ones in the shape of y: how often each step is read
};

const Case cases[] = {
    {2, 1, 1, 0, {1, 3, 2}, {1, 2, 2, 3, 3, 4}, {1, 2, 2, 1}},
    {3, 1, 1, 1, {1, 4, 3}, {0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 0}, {2, 3, 3, 2}},
    {2, 2, 1, 0, {1, 2, 2}, {1, 2, 3, 4}, {1, 1, 1, 1}},
    {2, 1, 2, 0, {1, 2, 2}, {1, 3, 2, 4}, {1, 1, 1, 1}},
    {2, 1, 2, 2, {1, 4, 2}, {0, 1, 0, 2, 1, 3, 2, 4}, {2, 2, 1, 1}},  // causal: no zeros after the last step
    {1, 3, 1, 0, {1, 3, 1}, {1, 4, 0}, {1, 0, 0, 1}},                 // more positions than steps
    {2, 1, 1, 9, {1, 2, 2}, {0, 0, 0, 0}, {0, 0, 0, 0}},              // padding alone
    {2, 1, 1, 0, {1, 0, 2}, {}, {0, 0, 0, 0}},
};

}  // namespace

TEST_CASE("unfold_1d lays the window of each position out as a row") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    for (const Case& c : cases) {
      CAPTURE(c.kernel, c.stride, c.dilation, c.padding);
      const Operation operation = windowed(ATTN_OP_UNFOLD_1D, c.kernel, c.stride, c.dilation, c.padding)
                                      .input(real({1, 4, 1}, {1, 2, 3, 4}))
                                      .output(real.output(c.y));
      check_equal(backend.run(operation)[0], real(c.y, c.unfolded));
    }
  });
}

TEST_CASE("unfold_1d keeps batch entries apart and channels together") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation operation = windowed(ATTN_OP_UNFOLD_1D, 2, 1, 1, 1)
                                    .input(real({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}))
                                    .output(real.output({2, 2, 4}));
    check_equal(backend.run(operation)[0], real({2, 2, 4}, {0, 0, 1, 2, 1, 2, 3, 4, 0, 0, 5, 6, 5, 6, 7, 8}));
  });
}

TEST_CASE("fold_1d sums the windows back onto the steps") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    for (const Case& c : cases) {
      CAPTURE(c.kernel, c.stride, c.dilation, c.padding);
      const Operation operation = windowed(ATTN_OP_FOLD_1D, c.kernel, c.stride, c.dilation, c.padding)
                                      .input(filled(real.dtype, c.y, 1))
                                      .output(real.output({1, 4, 1}));
      check_equal(backend.run(operation)[0], real({1, 4, 1}, c.folded));
    }
    const Operation channels = windowed(ATTN_OP_FOLD_1D, 2, 1, 1, 0)
                                   .input(real({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}))
                                   .output(real.output({1, 3, 2}));
    check_equal(backend.run(channels)[0], real({1, 3, 2}, {1, 2, 8, 10, 7, 8}));
  });
}
