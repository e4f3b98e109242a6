#include <cmath>
#include <limits>

#include "harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

Operation softmax(int32_t masking, int32_t causal = 0, int64_t offset = 0) {
  return Operation(ATTN_OP_MASKED_SOFTMAX).params(attn_masked_softmax_params{0, 0, masking, causal, offset});
}

Operation gradient(int32_t masking) {
  return Operation(ATTN_OP_MASKED_SOFTMAX_GRADIENT).params(attn_masked_softmax_params{0, 0, masking, 0, 0});
}

/// Weights of scores that are all equal: row i spreads evenly over its first visible[i] keys.
Values even_rows(const std::vector<int>& visible, int keys) {
  Values weights;
  for (const int count : visible) {
    for (int key = 0; key < keys; ++key) weights.push_back(key < count ? 1.0 / count : 0.0);
  }
  return weights;
}

// softmax of (1, 2, 3), and of (1, 2)
constexpr double of_three[] = {0.09003057317038046, 0.24472847105479764, 0.6652409557748218};
constexpr double of_two[] = {0.2689414213699951, 0.7310585786300049};

}  // namespace

TEST_CASE("masked softmax without a mask is softmax, at any size of scores") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    Operation operation =
        softmax(ATTN_MASK_EXACT).input(real({2, 3}, {1, 2, 3, 10001, 10002, 10003})).input(absent());
    const Tensor expected =
        real({2, 3}, {of_three[0], of_three[1], of_three[2], of_three[0], of_three[1], of_three[2]});
    check_equal(backend.run(Operation(operation).output(real.output({2, 3})))[0], expected);
    check_equal(backend.run(Operation(operation).aliased_output(0))[0], expected);
  });
}

TEST_CASE("an exact mask gives masked keys the weight 0 and a row without keys only zeros") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const double nan_value = std::numeric_limits<double>::quiet_NaN();
    // what is behind the mask does not matter, whatever it is
    const Operation operation = softmax(ATTN_MASK_EXACT)
                                    .input(real({4, 1, 3}, {1, 2, nan_value, 1, 2, 3, 1, 2, 3, 1, 2, 3}))
                                    .input(i32({4}, {2, 0, -4, 99}))
                                    .output(real.output({4, 1, 3}));
    check_equal(backend.run(operation)[0], real({4, 1, 3}, {of_two[0], of_two[1], 0, 0, 0, 0, 0, 0, 0,
                                                            of_three[0], of_three[1], of_three[2]}));
  });
}

TEST_CASE("the book's mask replaces scores by -1e6, so that a row without keys is uniform") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const double third = 1.0 / 3;
    const Operation operation = softmax(ATTN_MASK_BOOK)
                                    .input(real({3, 1, 3}, {1, 2, 3, 1, 2, 3, -2e6, 1, 1}))
                                    .input(i32({3}, {2, 0, 1}))
                                    .output(real.output({3, 1, 3}));
    check_equal(backend.run(operation)[0],
                real({3, 1, 3}, {of_two[0], of_two[1], 0, third, third, third, 0, 0.5, 0.5}));
  });
}

TEST_CASE("lengths of a batch entry hold for all heads between batch and queries") {
  // [batch 2, heads 2, queries 2, keys 3]: leading entry l uses lengths[l / 2]
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation per_entry = softmax(ATTN_MASK_EXACT)
                                    .input(filled(real.dtype, {2, 2, 2, 3}, 0.25))
                                    .input(i32({2}, {1, 3}))
                                    .output(real.output({2, 2, 2, 3}));
    check_equal(backend.run(per_entry)[0], real({2, 2, 2, 3}, even_rows({1, 1, 1, 1, 3, 3, 3, 3}, 3)));
    const Operation per_query = softmax(ATTN_MASK_EXACT)
                                    .input(filled(real.dtype, {2, 2, 2, 3}, 0.25))
                                    .input(i32({2, 2}, {1, 2, 3, 0}))
                                    .output(real.output({2, 2, 2, 3}));
    check_equal(backend.run(per_query)[0], real({2, 2, 2, 3}, even_rows({1, 2, 1, 2, 3, 0, 3, 0}, 3)));
    const Operation one_batch = softmax(ATTN_MASK_EXACT)
                                    .input(filled(real.dtype, {2, 3}, 0.25))
                                    .input(i32({1, 2}, {2, 1}))
                                    .output(real.output({2, 3}));
    check_equal(backend.run(one_batch)[0], real({2, 3}, even_rows({2, 1}, 3)));
  });
}

TEST_CASE("a causal query sees no later key, counted from the offset") {
  struct Case {
    int64_t offset;
    std::vector<int> visible;
  };
  const std::vector<Case> cases = {{0, {1, 2, 3}},  {1, {2, 3, 4}},         {3, {4, 4, 4}},
                                   {-1, {0, 1, 2}}, {INT64_MAX, {4, 4, 4}}, {INT64_MIN, {0, 0, 0}}};
  for_each_backend_and_type([&](const Backend& backend, const Real& real) {
    for (const Case& c : cases) {
      CAPTURE(c.offset);
      const Operation operation = softmax(ATTN_MASK_EXACT, 1, c.offset)
                                      .input(filled(real.dtype, {3, 4}, -3))
                                      .input(absent())
                                      .output(real.output({3, 4}));
      check_equal(backend.run(operation)[0], real({3, 4}, even_rows(c.visible, 4)));
    }
    const Operation with_lengths = softmax(ATTN_MASK_EXACT, 1, 0)
                                       .input(filled(real.dtype, {1, 3, 3}, -3))
                                       .input(i32({1}, {2}))
                                       .output(real.output({1, 3, 3}));
    check_equal(backend.run(with_lengths)[0], real({1, 3, 3}, even_rows({1, 2, 2}, 3)));
  });
}

TEST_CASE("the gradient of softmax is weights times the deviation from the weighted mean") {
  // weights (1/4, 3/4), gradients (2, 6): the mean is 5
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation operation = gradient(ATTN_MASK_EXACT)
                                    .input(real({1, 2}, {0.25, 0.75}))
                                    .input(real({1, 2}, {2, 6}))
                                    .input(absent())
                                    .output(real.output({1, 2}));
    check_equal(backend.run(operation)[0], real({1, 2}, {-0.75, 0.75}));
  });
}

TEST_CASE("masked scores get no gradient, even where the book's mask gives them weight") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation exact = gradient(ATTN_MASK_EXACT)
                                .input(real({2, 1, 3}, {0.25, 0.75, 0, 0, 0, 0}))
                                .input(real({2, 1, 3}, {2, 6, 100, 1, 2, 3}))
                                .input(i32({2}, {2, 0}))
                                .output(real.output({2, 1, 3}));
    check_equal(backend.run(exact)[0], real({2, 1, 3}, {-0.75, 0.75, 0, 0, 0, 0}));
    // the second row has one visible key, whose score was as low as the masked ones
    const Operation book = gradient(ATTN_MASK_BOOK)
                               .input(real({2, 1, 2}, {0.5, 0.5, 0.5, 0.5}))
                               .input(real({2, 1, 2}, {1, 3, 1, 3}))
                               .input(i32({2}, {0, 1}))
                               .output(real.output({2, 1, 2}));
    check_equal(backend.run(book)[0], real({2, 1, 2}, {0, 0, -0.5, 0}));
  });
}

TEST_CASE("softmax over no key or no query is empty") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    for (const Sizes& sizes : {Sizes{2, 3, 0}, Sizes{2, 0, 3}, Sizes{0, 2, 3}}) {
      for (const int32_t masking : {ATTN_MASK_EXACT, ATTN_MASK_BOOK}) {
        const Operation operation = softmax(masking, 1)
                                        .input(real(sizes, {}))
                                        .input(filled(ATTN_I32, {sizes[0]}, 1))
                                        .output(real.output(sizes));
        check_equal(backend.run(operation)[0], real(sizes, {}));
      }
    }
  });
}
