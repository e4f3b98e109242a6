// All kernels through the functions of the plugin: the same bits at any number of threads and every time, all
// of every output and nothing else.
#include <set>

#include "operations.h"
#include "support/catch.h"

namespace attn::eigen::test {
namespace {

using List = std::vector<Operation> (*)(std::int32_t);

void check(List operations) {
  for (const std::int32_t real : {ATTN_F32, ATTN_F64}) {
    for (const Operation& operation : operations(real)) {
      const auto expected = operation.run(1);
      for (const int threads : {1, 2, 3}) {
        INFO(operation.name() << (real == ATTN_F64 ? " in f64" : " in f32") << " with " << threads
                              << " threads");
        CHECK((operation.run(threads) == expected));
      }
    }
  }
}

}  // namespace

TEST_CASE("basic operations give the same bits at any number of threads") {
  check(basic_operations);
}
TEST_CASE("data movement gives the same bits at any number of threads") {
  check(moving_operations);
}
TEST_CASE("layers give the same bits at any number of threads") {
  check(layer_operations);
}
TEST_CASE("attention and recurrent sequences give the same bits at any number of threads") {
  check(attention_operations);
}
TEST_CASE("losses and optimizers give the same bits at any number of threads") {
  check(training_operations);
}

TEST_CASE("every kind of operation is among those that are tested with several threads") {
  std::set<std::uint32_t> tested;
  for (const List list :
       {basic_operations, moving_operations, layer_operations, attention_operations, training_operations}) {
    for (const Operation& operation : list(ATTN_F32)) tested.insert(operation.kind());
  }
  for (std::uint32_t kind = ATTN_OP_FILL; kind <= ATTN_OP_SQUARED_NORM; ++kind)
    CHECK(tested.count(kind) == 1);
  for (std::uint32_t kind = ATTN_OP_LINEAR; kind <= ATTN_OP_CACHED_ATTENTION; ++kind)
    CHECK(tested.count(kind) == 1);
}

}  // namespace attn::eigen::test
