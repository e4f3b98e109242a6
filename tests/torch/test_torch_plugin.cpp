// What the cases for all backends cannot see: LibTorch's own memory, and its exceptions.
#include <malloc.h>
#include <sys/resource.h>

#include <fstream>
#include <string>

#include "../backends/harness.h"
#include "support/catch.h"

using namespace attn::test;

namespace {

const Plugin& torch_plugin() {
  REQUIRE(plugins().size() == 1);
  return plugins().front();
}

/// The process may take `bytes` more of address space than it has, for as long as the object lives.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(std::size_t bytes) {
    std::ifstream statistics("/proc/self/statm");
    std::size_t pages = 0;
    statistics >> pages;
    REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
    rlimit limited = before_;
    limited.rlim_cur = pages * 4096 + bytes;
    REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  }
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;

 private:
  rlimit before_{};
};

Operation linear_gradient(int64_t rows) {
  Operation operation(ATTN_OP_LINEAR_GRADIENT);
  operation.params(attn_linear_params{0, 0, ATTN_ACTIVATION_TANH, 0});
  operation.input(filled(ATTN_F64, {rows, 8}, 0.5)).input(filled(ATTN_F64, {8, 8}, 0.25));
  operation.input(filled(ATTN_F64, {rows, 8}, 0.5)).input(filled(ATTN_F64, {rows, 8}, 1));
  operation.output(absent()).output(absent()).output(filled(ATTN_F64, {8}, 0));
  return operation;
}

Operation attention() {
  Operation operation(ATTN_OP_ATTENTION);
  attn_attention_params params{};
  params.heads = 2;
  params.scale = 0.5;
  params.dropout_rate = 0.25;
  operation.params(params);
  for (int input = 0; input < 3; ++input) operation.input(filled(ATTN_F32, {3, 5, 8}, 0.5));
  operation.input(i32({3}, {0, 2, 5})).input(i32({4}, {1, 2, 3, 4}));
  operation.output(filled(ATTN_F32, {3, 5, 8}, 0)).output(filled(ATTN_F32, {3, 2, 5}, 0)).output(absent());
  return operation;
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__)  // whose shadow memory no limit leaves room for

TEST_CASE("an operation that runs out of memory on the way says so, and later ones run") {
  const Backend backend(torch_plugin());
  constexpr int64_t rows = 2'000'000;  // the gradient before the activation needs 128 MB
  std::vector<double> x(rows * 8, 0.5), weight(64, 0.25), d_bias(8);
  const attn_tensor rows_of_8{x.data(), ATTN_F64, 2, {rows, 8}}, none{nullptr, ATTN_F64, -1, {}};
  const attn_tensor tensors[] = {rows_of_8, {weight.data(), ATTN_F64, 2, {8, 8}}, rows_of_8, rows_of_8, none,
                                 none,      {d_bias.data(), ATTN_F64, 1, {8}}};
  const attn_linear_params params{sizeof params, 0, ATTN_ACTIVATION_TANH, 0};
  const attn_op op{ATTN_OP_LINEAR_GRADIENT, 4, 3, tensors, &params};
  const attn_batch batch{sizeof batch, 1, &op, 0, nullptr, 0};
  attn_error error{};
  backend.run(linear_gradient(4));  // what LibTorch sets up once is there
  {
    const AddressSpaceLimit limit(32 << 20);
    CHECK(backend.table().run(backend.context(), &batch, &error) == ATTN_OUT_OF_MEMORY);
  }
  const std::string text = error.message;
  INFO(text);
  CHECK(error.status == ATTN_OUT_OF_MEMORY);
  CHECK(error.op_index == 0);
  CHECK(text.find("memory") != std::string::npos);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(backend.table().run(backend.context(), &batch, &error) == ATTN_OK);
  CHECK(d_bias[0] == rows * 0.5 * (1 - 0.5 * 0.5));
}

TEST_CASE("operations free what they allocate") {
  const Backend backend(torch_plugin());
  const auto in_use = [&] {
    for (int i = 0; i < 100; ++i) {
      backend.run(attention());
      backend.run(linear_gradient(100));
    }
    return mallinfo2().uordblks;
  };
  in_use();  // caches fill
  const auto before = in_use(), after = in_use();
  CHECK(after <= before + 16384);  // a tensor lost in each run would be five times as much
}

#endif

TEST_CASE("a context closes while another goes on") {
  const Backend backend(torch_plugin());
  { const Backend other(torch_plugin()); }
  const std::vector<Tensor> outputs = backend.run(linear_gradient(4));
  check_equal(outputs[2], filled(ATTN_F64, {8}, 4 * 0.75));
}
