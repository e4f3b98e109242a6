#include <set>

#include "attn/ops/operation.h"
#include "scenario.h"
#include "support/catch.h"

namespace {

using namespace attn;
using namespace attn::test;

// What moves or sets data without computing.
const std::set<std::uint32_t> without_cost{
    ATTN_OP_FILL,  ATTN_OP_COPY,        ATTN_OP_CAST,        ATTN_OP_SELECT,    ATTN_OP_PERMUTE,
    ATTN_OP_SLICE, ATTN_OP_CONCATENATE, ATTN_OP_GATHER_ROWS, ATTN_OP_UNFOLD_1D, ATTN_OP_KV_APPEND};

// Descriptors of what was run, with copies of the tensors.
struct Seen {
  std::uint32_t kind;
  std::vector<attn_tensor> tensors;
  std::size_t inputs;
};

std::vector<Seen> seen_on(const std::string& backend, const std::vector<Scenario>& scenarios) {
  std::vector<Seen> seen;
  const auto device = Device::open(backend);
  device->set_observer([&](const attn_op& op, const char* name) {
    const auto* operation = ops::find_operation(op.kind);
    REQUIRE(operation != nullptr);
    CHECK(std::string(name) == operation->name);
    seen.push_back({op.kind, {op.tensors, op.tensors + op.input_count + op.output_count}, op.input_count});
  });
  for (const Scenario& scenario : scenarios) {
    (void)evaluate(device, scenario, input_values(scenario),
                   {.times = 2, .gradients = scenario.differentiable});
  }
  device->set_observer({});
  return seen;
}

std::string everything() {
  return ATTN_TEST_PLUGINS "/accepts_all.so";
}

}  // namespace

TEST_CASE("operations have distinct names and increasing kinds") {
  std::set<std::string> names;
  std::uint32_t before = 0;
  for (const ops::Operation* operation : ops::all_operations()) {
    INFO(operation->name);
    CHECK(operation->kind > before);
    before = operation->kind;
    CHECK(names.insert(operation->name).second);
    CHECK_FALSE(std::string(operation->name).empty());
    CHECK(ops::find_operation(operation->kind) == operation);
  }
  CHECK(ops::find_operation(0) == nullptr);
  CHECK(ops::find_operation(before + 1) == nullptr);
}

TEST_CASE("fused operations have a decomposition, primitives have none") {
  for (const ops::Operation* operation : ops::all_operations()) {
    INFO(operation->name);
    CHECK((operation->decomposition != nullptr) == (operation->kind >= ATTN_OP_LINEAR));
  }
}

TEST_CASE("operations that compute have a cost, those that move data have none") {
  for (const ops::Operation* operation : ops::all_operations()) {
    INFO(operation->name);
    CHECK((operation->flops == nullptr) == (without_cost.count(operation->kind) == 1));
  }
}

TEST_CASE("every operation of the list is exercised by the checks for all operations") {
  std::set<std::uint32_t> kinds;
  for (const Seen& one : seen_on(everything(), all_scenarios())) kinds.insert(one.kind);
  for (const ops::Operation* operation : ops::all_operations()) {
    INFO(operation->name);
    CHECK(kinds.count(operation->kind) == 1);
  }
}

TEST_CASE("every primitive is run by the checks for all operations on the reference backend") {
  std::set<std::uint32_t> kinds;
  for (const Seen& one : seen_on("reference", all_scenarios())) kinds.insert(one.kind);
  for (const ops::Operation* operation : ops::all_operations()) {
    INFO(operation->name);
    CHECK(kinds.count(operation->kind) == (operation->kind < ATTN_OP_LINEAR ? 1u : 0u));
  }
}

TEST_CASE("no two outputs of an operation share memory") {
  for (const Seen& one : seen_on(everything(), all_scenarios())) {
    std::set<const void*> addresses;
    for (std::size_t i = one.inputs; i < one.tensors.size(); ++i) {
      const attn_tensor& output = one.tensors[i];
      if (output.rank < 0) continue;
      INFO(ops::find_operation(one.kind)->name);
      CHECK(output.data != nullptr);
      CHECK(addresses.insert(output.data).second);
    }
  }
}

TEST_CASE("the costs of operations count what they compute") {
  const auto device = reference_device();
  const auto zeros = [&](const Shape& shape) { return Tensor::zeros(device, shape, DType::f32); };
  const auto flops = [](std::uint32_t kind, ops::Tensors inputs, const ops::Params& params,
                        const ops::TensorSpecs& outputs) {
    const ops::Operation& operation = *ops::find_operation(kind);
    return operation.flops(ops::Call{&operation, std::move(inputs), params}, outputs);
  };
  CHECK(flops(ATTN_OP_MATMUL, {zeros({2, 3, 5}), zeros({2, 5, 4})}, attn_matmul_params{}, {{{2, 3, 4}}}) ==
        2 * 2 * 3 * 4 * 5);
  CHECK(flops(ATTN_OP_MATMUL, {zeros({5, 3}), zeros({5, 4})}, attn_matmul_params{0, 1, 0, 0, 1, 0},
              {{{3, 4}}}) == 2 * 3 * 4 * 5);
  CHECK(flops(ATTN_OP_LINEAR, {zeros({2, 3, 5}), zeros({4, 5}), zeros({4})}, attn_linear_params{},
              {{{2, 3, 4}}}) == 2 * 3 * 4 * (2 * 5 + 1));
  // Two products of queries x keys x width, and 5 for each weight of the softmax.
  attn_attention_params attention{};
  attention.heads = 2;
  CHECK(flops(ATTN_OP_ATTENTION, {zeros({1, 3, 8}), zeros({1, 5, 8}), zeros({1, 5, 8}), {}, {}}, attention,
              {{{1, 3, 8}}, {{1, 2, 3}}, {{1, 2, 3, 5}}}) == 2 * 2 * 3 * 5 * 8 + 5 * 2 * 3 * 5);
}

TEST_CASE("the bytes that an operation moves are its inputs and wanted outputs") {
  const auto device = reference_device();
  const Tensor x = Tensor::zeros(device, {2, 3}, DType::f64);
  ops::Call call{ops::find_operation(ATTN_OP_COPY), {x, {}}, {}};
  CHECK(ops::bytes_moved(call, {{{2, 3}, DType::f64}, {{5}, DType::i32}}) == 48 + 48 + 20);
  call.wanted = 1u;
  CHECK(ops::bytes_moved(call, {{{2, 3}, DType::f64}, {{5}, DType::i32}}) == 48 + 48);
}
