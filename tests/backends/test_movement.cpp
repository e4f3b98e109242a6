// Operations that move elements and work on any type.
#include "harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

/// Each case with every element type, bf16 and i8 included.
void for_each_type(const std::function<void(const Backend&, const Real&)>& test) {
  for_each_backend([&](const Backend& backend) {
    for (const int32_t dtype : {ATTN_F32, ATTN_F64, ATTN_I32, ATTN_BF16, ATTN_I8}) {
      CAPTURE(dtype);
      test(backend, Real{dtype});
    }
  });
}

Tensor overwritten(const Real& real, Sizes sizes) {
  return filled(real.dtype, std::move(sizes), 77);
}

Operation permute(std::vector<int32_t> axes) {
  attn_permute_params params{};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) params.axes[axis] = axes[axis];
  return Operation(ATTN_OP_PERMUTE).params(params);
}

Operation slice(uint32_t kind, const Sizes& start) {
  attn_slice_params params{};
  for (std::size_t axis = 0; axis < start.size(); ++axis) params.start[axis] = start[axis];
  return Operation(kind).params(params);
}

Operation concatenate(int32_t axis) {
  return Operation(ATTN_OP_CONCATENATE).params(attn_concatenate_params{0, axis});
}

Values counted(int count, int first = 0) {
  Values values;
  for (int i = 0; i < count; ++i) values.push_back(first + i);
  return values;
}

}  // namespace

TEST_CASE("copy keeps the elements and takes a new shape") {
  for_each_type([](const Backend& backend, const Real& real) {
    const Operation operation =
        Operation(ATTN_OP_COPY).input(real({2, 3}, counted(6))).output(overwritten(real, {3, 1, 2}));
    check_equal(backend.run(operation)[0], real({3, 1, 2}, counted(6)));
    const Operation scalar = Operation(ATTN_OP_COPY).input(real({1, 1}, {9})).output(overwritten(real, {}));
    check_equal(backend.run(scalar)[0], real({}, {9}));
    const Operation empty = Operation(ATTN_OP_COPY).input(real({0, 3}, {})).output(overwritten(real, {7, 0}));
    check_equal(backend.run(empty)[0], real({7, 0}, {}));
  });
}

TEST_CASE("permute puts axis axes[i] of x at place i of y") {
  for_each_type([](const Backend& backend, const Real& real) {
    const Tensor x = real({2, 3, 2}, counted(12));
    const auto permuted = [&](std::vector<int32_t> axes, Sizes sizes) {
      return backend.run(permute(std::move(axes)).input(x).output(overwritten(real, std::move(sizes))))[0];
    };
    check_equal(permuted({0, 1, 2}, {2, 3, 2}), x);
    check_equal(permuted({0, 2, 1}, {2, 2, 3}), real({2, 2, 3}, {0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11}));
    check_equal(permuted({1, 0, 2}, {3, 2, 2}), real({3, 2, 2}, {0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
    // not its own inverse: tells axes from their inverse
    check_equal(permuted({1, 2, 0}, {3, 2, 2}), real({3, 2, 2}, {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}));
    check_equal(permuted({2, 0, 1}, {2, 2, 3}), real({2, 2, 3}, {0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));

    const Operation six = permute({5, 4, 3, 2, 1, 0})
                              .input(real({1, 2, 1, 2, 1, 1}, counted(4)))
                              .output(overwritten(real, {1, 1, 2, 1, 2, 1}));
    check_equal(backend.run(six)[0], real({1, 1, 2, 1, 2, 1}, {0, 2, 1, 3}));
    const Operation empty = permute({1, 0}).input(real({0, 3}, {})).output(overwritten(real, {3, 0}));
    check_equal(backend.run(empty)[0], real({3, 0}, {}));
    const Operation scalar = permute({}).input(real({}, {5})).output(overwritten(real, {}));
    check_equal(backend.run(scalar)[0], real({}, {5}));
  });
}

TEST_CASE("slice cuts a box out of x") {
  for_each_type([](const Backend& backend, const Real& real) {
    const Tensor x = real({3, 4}, counted(12));
    const auto cut = [&](const Sizes& start, Sizes sizes) {
      return backend.run(slice(ATTN_OP_SLICE, start).input(x).output(overwritten(real, std::move(sizes))))[0];
    };
    check_equal(cut({1, 1}, {2, 2}), real({2, 2}, {5, 6, 9, 10}));
    check_equal(cut({0, 0}, {3, 4}), x);
    check_equal(cut({2, 3}, {1, 1}), real({1, 1}, {11}));
    check_equal(cut({3, 0}, {0, 4}), real({0, 4}, {}));
  });
}

TEST_CASE("slice_add adds x into a box of y and leaves the rest") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Operation operation = slice(ATTN_OP_SLICE_ADD, {1, 0})
                                    .input(real({1, 2}, {10, 20}))
                                    .output(real({2, 3}, {1, 2, 3, 4, 5, 6}));
    check_equal(backend.run(operation)[0], real({2, 3}, {1, 2, 3, 14, 25, 6}));
  });
}

TEST_CASE("concatenate joins along any axis and skips empty parts") {
  for_each_type([](const Backend& backend, const Real& real) {
    const Operation rows = concatenate(0)
                               .input(real({1, 2}, {1, 2}))
                               .input(real({0, 2}, {}))
                               .input(real({2, 2}, {3, 4, 5, 6}))
                               .output(overwritten(real, {3, 2}));
    check_equal(backend.run(rows)[0], real({3, 2}, {1, 2, 3, 4, 5, 6}));
    const Operation columns = concatenate(1)
                                  .input(real({2, 1}, {1, 2}))
                                  .input(real({2, 2}, {3, 4, 5, 6}))
                                  .output(overwritten(real, {2, 3}));
    check_equal(backend.run(columns)[0], real({2, 3}, {1, 3, 4, 2, 5, 6}));
    const Operation middle = concatenate(1)
                                 .input(real({2, 1, 2}, counted(4)))
                                 .input(real({2, 1, 2}, counted(4, 10)))
                                 .output(overwritten(real, {2, 2, 2}));
    check_equal(backend.run(middle)[0], real({2, 2, 2}, {0, 1, 10, 11, 2, 3, 12, 13}));
    Operation many = concatenate(0);
    for (int i = 0; i < 15; ++i) many.input(real({1}, {static_cast<double>(i)}));
    check_equal(backend.run(many.output(overwritten(real, {15})))[0], real({15}, counted(15)));
  });
}
