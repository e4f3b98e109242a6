#include <string>

#include "harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

Operation gather(Tensor table, Tensor ids, Tensor y) {
  return Operation(ATTN_OP_GATHER_ROWS).input(std::move(table)).input(std::move(ids)).output(std::move(y));
}

Operation scatter(int32_t ignored_id, Tensor x, Tensor ids, Tensor table) {
  return Operation(ATTN_OP_SCATTER_ADD_ROWS)
      .params(attn_scatter_params{0, ignored_id})
      .input(std::move(x))
      .input(std::move(ids))
      .output(std::move(table));
}

bool contains(const char* text, const char* part) {
  return std::string(text).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("gather_rows looks rows up by id, for any shape of ids and any type") {
  for_each_backend([](const Backend& backend) {
    for (const int32_t dtype : {ATTN_F32, ATTN_F64, ATTN_I32, ATTN_BF16, ATTN_I8}) {
      CAPTURE(dtype);
      const Real real{dtype};
      const Tensor table = real({3, 2}, {1, 2, 3, 4, 5, 6});
      const auto found = [&](const Tensor& ids, Sizes sizes) {
        return backend.run(gather(table, ids, filled(dtype, std::move(sizes), 77)))[0];
      };
      check_equal(found(i32({3}, {2, 0, 2}), {3, 2}), real({3, 2}, {5, 6, 1, 2, 5, 6}));
      check_equal(found(i32({2, 1}, {1, 2}), {2, 1, 2}), real({2, 1, 2}, {3, 4, 5, 6}));
      check_equal(found(i32({}, {1}), {2}), real({2}, {3, 4}));
      check_equal(found(i32({0}, {}), {0, 2}), real({0, 2}, {}));
      check_equal(backend.run(gather(real({3}, {7, 8, 9}), i32({2}, {2, 1}), filled(dtype, {2}, 77)))[0],
                  real({2}, {9, 8}));
      check_equal(
          backend.run(gather(real({2, 1, 2}, {1, 2, 3, 4}), i32({1}, {1}), filled(dtype, {1, 1, 2}, 77)))[0],
          real({1, 1, 2}, {3, 4}));
    }
  });
}

TEST_CASE("gather_rows refuses an id outside the table and names operation, id and table size") {
  for_each_backend([](const Backend& backend) {
    attn_device_info info{};
    info.struct_size = sizeof info;
    REQUIRE(backend.table().device_info(0, &info, nullptr) == ATTN_OK);
    if (info.host_accessible == 0) return;  // a device need not look at its ids one by one
    for (const int bad : {3, -1}) {
      const Operation good =
          gather(Real{ATTN_F32}({3, 1}, {1, 2, 3}), i32({1}, {0}), Real{ATTN_F32}.output({1, 1}));
      const Operation wrong = gather(Real{ATTN_F32}({3, 1}, {1, 2, 3}),
                                     i32({2}, {0, static_cast<double>(bad)}), Real{ATTN_F32}.output({2, 1}));
      const attn_error error = backend.try_run({good, wrong});
      INFO(error.message);
      CHECK(error.status == ATTN_INVALID);
      CHECK(error.op_index == 1);
      CHECK(contains(error.message, "operation 1"));
      CHECK(contains(error.message, std::to_string(bad).c_str()));
      CHECK(contains(error.message, "3"));
    }
  });
}

TEST_CASE("scatter_add_rows adds each row to the row of its id") {
  for_each_backend_and_type([](const Backend& backend, const Real& real) {
    const Tensor x = real({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), ids = i32({2, 2}, {2, 0, 2, 1});
    const Tensor table = real({3, 2}, {10, 10, 20, 20, 30, 30});
    check_equal(backend.run(scatter(-1, x, ids, table))[0], real({3, 2}, {13, 14, 27, 28, 36, 38}));
    check_equal(backend.run(scatter(2, x, ids, table))[0], real({3, 2}, {13, 14, 27, 28, 30, 30}));
    check_equal(backend.run(scatter(-1, real({0, 2}, {}), i32({0}, {}), table))[0], table);
  });
}

TEST_CASE("scatter_add_rows adds in the order of the ids") {
  // (1e8 + 1) - 1e8 is 0 in f32, but 1e8 - 1e8 + 1 is 1
  for_each_backend([](const Backend& backend) {
    const Real real{ATTN_F32};
    const Tensor ids = i32({3}, {0, 0, 0});
    check_equal(backend.run(scatter(-1, real({3, 1}, {1e8, -1e8, 1}), ids, real({1, 1}, {0})))[0],
                real({1, 1}, {1}));
    check_equal(backend.run(scatter(-1, real({3, 1}, {1e8, 1, -1e8}), ids, real({1, 1}, {0})))[0],
                real({1, 1}, {0}));
  });
}
