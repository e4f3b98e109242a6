#include <cmath>

#include "attn/inspection/complexity_cost.h"
#include "attn/ops/ops.h"
#include "attn/runtime/random.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

struct Model {
  Model(const std::shared_ptr<Device>& device, const EncoderOptions& options, std::int64_t batch,
        std::int64_t steps, DType type = DType::f32)
      : store(device, type), encoder(make_sequence_encoder(Scope(store), options)) {
    store.materialise(3);
    RandomSequence random(5, "x");
    const std::vector<double> values = normal_values(random, batch * steps * options.width, 1.0);
    x = Tensor::from<double>(device, values, {batch, steps, options.width}, type);
  }

  ParameterStore store;
  std::unique_ptr<SequenceEncoder> encoder;
  Tensor x;
};

ComplexityCost cost_of(const std::string& backend, const EncoderOptions& options, std::int64_t batch,
                       std::int64_t steps, Pass pass) {
  Model model(Device::open(backend), options, batch, steps);
  return count_cost(*model.encoder, model.store, model.x, pass);
}

std::int64_t chain_of(const EncoderOptions& options, std::int64_t steps, Pass pass = Pass::forward) {
  return count_sequential_operations(Device::open("reference"), options, steps, pass);
}

}  // namespace

TEST_CASE("counted flops and parameters equal the closed forms", "[cost]") {
  for (const EncoderKind kind : all_encoder_kinds()) {
    for (const Pass pass : {Pass::forward, Pass::forward_backward}) {
      for (const std::int64_t layers : {1, 2, 3}) {
        for (const std::int64_t batch : {1, 2}) {
          for (const std::int64_t steps : {1, 7, 8, 40}) {
            EncoderOptions options{.kind = kind, .width = 12, .layers = layers, .kernel = 3, .heads = 4};
            options.window = 5;
            CAPTURE(name_of(kind), name_of(pass), layers, batch, steps);
            const ComplexityCost cost = cost_of("reference", options, batch, steps, pass);
            CHECK(cost.flops == closed_form_flops(options, batch, steps, pass));
            CHECK(static_cast<double>(cost.parameters) == closed_form_parameters(options));
          }
        }
      }
    }
  }
}

TEST_CASE("counts do not depend on the backend", "[cost]") {
  for (const EncoderKind kind : all_encoder_kinds()) {
    const EncoderOptions options{.kind = kind, .width = 8, .layers = 2, .kernel = 4, .heads = 2, .window = 6};
    CAPTURE(name_of(kind));
    const ComplexityCost decomposed = cost_of("reference", options, 1, 20, Pass::forward_backward);
    const ComplexityCost fused = cost_of("eigen", options, 1, 20, Pass::forward_backward);
    CHECK(decomposed.flops == fused.flops);
    CHECK(decomposed.bytes == fused.bytes);
    CHECK(decomposed.activation_bytes == fused.activation_bytes);
  }
}

TEST_CASE("the textbook's numbers: projections 4 n d^2 and attention 2 n^2 d multiplications", "[cost]") {
  const double n = 50, d = 16;
  EncoderOptions options{.kind = EncoderKind::multi_head_attention, .width = 16, .heads = 4};
  const ComplexityCost cost = cost_of("reference", options, 1, 50, Pass::forward);
  CHECK(cost.flops_of("linear") == 2 * 4 * n * d * d);
  // Two flops a multiplication with its addition; five for the softmax of each score.
  CHECK(cost.flops_of("attention") == 2 * 2 * n * n * d + 5 * 4 * n * n);
  CHECK(cost.flops_of("conv_1d") == 0);
  CHECK(cost.flops == cost.flops_of("linear") + cost.flops_of("attention"));
  CHECK(cost.operations.size() == 2);
  CHECK(cost.operations[0].uses == 4);
}

TEST_CASE("bytes and activations are those of the tensors", "[cost]") {
  const EncoderOptions options{.kind = EncoderKind::convolution, .width = 4, .kernel = 3};
  const ComplexityCost cost = cost_of("reference", options, 1, 10, Pass::forward);
  const double x = 10 * 4 * 4, weight = 4 * 3 * 4 * 4, bias = 4 * 4;
  CHECK(cost.bytes == x + weight + bias + x);
  CHECK(cost.activation_bytes == 2 * x);
}

TEST_CASE("sequential operations grow with the length for recurrences only", "[cost]") {
  for (const EncoderKind kind : all_encoder_kinds()) {
    const EncoderOptions options{.kind = kind, .width = 8, .kernel = 3, .heads = 2, .window = 4};
    CAPTURE(name_of(kind));
    for (const Pass pass : {Pass::forward, Pass::forward_backward}) {
      const std::int64_t at_16 = chain_of(options, 16, pass), at_32 = chain_of(options, 32, pass),
                         at_64 = chain_of(options, 64, pass);
      if (is_recurrent(kind)) {
        CHECK(at_64 - at_32 == 2 * (at_32 - at_16));
        CHECK((at_32 - at_16) % 16 == 0);
        CHECK(at_32 - at_16 >= 16 * 3);
      } else {
        CHECK(at_16 == at_64);
        CHECK(at_32 == at_64);
      }
    }
  }
}

TEST_CASE("sequential operations of one layer, counted by hand", "[cost]") {
  // unfold, product, bias
  CHECK(chain_of({.kind = EncoderKind::convolution}, 20) == 3);
  CHECK(chain_of({.kind = EncoderKind::convolution, .layers = 3}, 20) == 3 * 3 + 2);
  // The inputs' share is two operations and a slice, then each step has product, sum and tanh; the first
  // step's product does not wait for anything. 20 states are concatenated in two rounds.
  CHECK(chain_of({.kind = EncoderKind::rnn}, 20) == 3 + 20 * 3 - 1 + 2);
  // Heads apart, scores, softmax, product, heads together.
  CHECK(chain_of({.kind = EncoderKind::self_attention}, 20) == 5);
  // The same between two projections.
  CHECK(chain_of({.kind = EncoderKind::multi_head_attention, .heads = 4}, 20) == 7);
}

TEST_CASE("operations that a backend lacks are named", "[cost]") {
  const EncoderOptions options{.kind = EncoderKind::self_attention};
  CHECK(decomposed_operations(Device::open("reference"), options, Pass::forward) ==
        std::vector<std::string>{"attention"});
  CHECK(decomposed_operations(Device::open("reference"), options, Pass::forward_backward) ==
        std::vector<std::string>{"attention", "attention_gradient"});
  for (const EncoderKind kind : all_encoder_kinds()) {
    CHECK(decomposed_operations(Device::open("eigen"), {.kind = kind}, Pass::forward_backward).empty());
  }
}

TEST_CASE("the same encoder with wrong sizes is an error that names them", "[cost]") {
  ParameterStore store(Device::open("reference"), DType::f32);
  const auto message = [&](const EncoderOptions& options) {
    const auto error = error_of([&] { (void)make_sequence_encoder(Scope(store), options); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::config);
    return std::string(error->what());
  };
  CHECK(contains(message({.width = 0}), "width of an encoder is 0"));
  CHECK(contains(message({.kernel = 0}), "kernel"));
  CHECK(contains(message({.layers = -1}), "layers"));
  CHECK(contains(message({.kind = EncoderKind::windowed_attention, .window = 0}), "window"));
  CHECK(contains(message({.kind = EncoderKind::multi_head_attention, .width = 10, .heads = 4}),
                 "do not divide"));
}
