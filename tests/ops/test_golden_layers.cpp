#include <array>

#include "golden_run.h"
#include "support/catch.h"

namespace {

using namespace attn;
using namespace attn::test;

// The running statistics after one batch: 0.9 of the start (0 and 1) and 0.1 of the batch's, its variance
// unbiased.
void expect_running_statistics(const GoldenRun& g, const ops::BatchNormResult& result, std::int64_t rows) {
  std::vector<double> mean = result.mean.to_vector<double>(), variance = result.variance.to_vector<double>();
  const double unbiased = static_cast<double>(rows) / static_cast<double>(rows - 1);
  for (double& value : mean) value *= 0.1;
  for (double& value : variance) value = 0.9 + 0.1 * unbiased * value;
  g.expect("running mean", mean, g.golden.values("running_mean_1"));
  g.expect("running variance", variance, g.golden.values("running_var_1"));
}

void check_gru(const std::string& name, int layers) {
  for_every_backend(name, [layers](GoldenRun& g) {
    const Tensor x = g.leaf("x"), h0 = g.leaf_if_there("h0");
    std::vector<std::array<Tensor, 4>> parameters;
    for (int layer = 0; layer < layers; ++layer) {
      const auto one = [&](const char* part) { return g.leaf(fmt::format("{}_l{}", part, layer)); };
      parameters.push_back({one("weight_ih"), one("bias_ih"), one("weight_hh"), one("bias_hh")});
    }
    const std::int64_t steps = x.size(0), batch = x.size(1), hidden = parameters[0][2].size(1);
    Tensor states = x;
    std::vector<Tensor> last;
    for (int layer = 0; layer < layers; ++layer) {
      const auto& [weight_ih, bias_ih, weight_hh, bias_hh] = parameters[static_cast<std::size_t>(layer)];
      const Tensor initial = h0.defined() ? ops::slice_axis(h0, 0, layer, 1).reshaped({batch, hidden})
                                          : ops::full(x.detached(), {batch, hidden}, 0.0);
      states = ops::gru_sequence(ops::linear(states, weight_ih, bias_ih), initial, weight_hh, bias_hh);
      last.push_back(ops::slice_axis(states, 0, steps - 1, 1));
    }
    const Tensor h_n = ops::concatenate(last, 0);
    g.expect("out", states);
    g.expect("h_n", h_n);
    g.expect_gradients({{"cot_out", states}, {"cot_h_n", h_n}});
  });
}

}  // namespace

TEST_CASE("layer normalisation equals the reference values") {
  for (const char* name : {"layer_norm", "layer_norm_2axes"}) {
    for_every_backend(name, [](GoldenRun& g) {
      const Tensor x = g.leaf("x"), gamma = g.leaf("gamma"), beta = g.leaf("beta");
      const Tensor y = ops::layer_norm(x, gamma, beta, g.golden.scalar("eps")).output;
      g.expect("y", y);
      g.expect_gradients({{"cot_y", y}});
    });
  }
}

TEST_CASE("batch normalisation equals the reference values") {
  for_every_backend("batch_norm", [](GoldenRun& g) {
    const Tensor x = g.leaf("x"), gamma = g.leaf("gamma"), beta = g.leaf("beta");
    const auto result = ops::batch_norm(x, gamma, beta, g.golden.scalar("eps"));
    g.expect("y", result.output);
    expect_running_statistics(g, result, x.size(0));
    g.expect_gradients({{"cot_y", result.output}});
  });
}

TEST_CASE("batch normalisation of channels before steps equals the reference values") {
  for_every_backend("batch_norm_ncl", [](GoldenRun& g) {
    const Tensor x = g.leaf("x"), gamma = g.leaf("gamma"), beta = g.leaf("beta");
    const Tensor channels_last = ops::swap_axes(x, 1, 2);
    const Tensor rows = channels_last.reshaped({channels_last.shape().leading(), x.size(1)});
    const auto result = ops::batch_norm(rows, gamma, beta, g.golden.scalar("eps"));
    const Tensor y = ops::swap_axes(result.output.reshaped(channels_last.shape()), 1, 2);
    g.expect("y", y);
    expect_running_statistics(g, result, rows.size(0));
    g.expect_gradients({{"cot_y", y}});
  });
}

TEST_CASE("the normalisation example by hand is right") {
  for_every_backend("norm_toy", [](GoldenRun& g) {
    const Tensor x = g.constant("X"), one = g.numbers({1, 1}, {2}), zero = g.numbers({0, 0}, {2});
    g.expect("layer_norm", ops::layer_norm(x, one, zero, 1e-5).output);
    g.expect("batch_norm", ops::batch_norm(x, one, zero, 1e-5).output);
  });
}

TEST_CASE("convolution equals the reference values") {
  for (const std::int64_t kernel : {3, 5}) {
    for_every_backend(fmt::format("conv1d_same_k{}", kernel), [kernel](GoldenRun& g) {
      const Tensor x = g.leaf("x"), weight = g.leaf("W"), bias = g.leaf("b");
      const std::int64_t padding = kernel / 2;
      const Tensor y = ops::swap_axes(ops::conv_1d(ops::swap_axes(x, 1, 2), ops::swap_axes(weight, 1, 2),
                                                   bias, {kernel, 1, 1, padding, padding}),
                                      1, 2);
      g.expect("y", y);
      g.expect_gradients({{"cot_y", y}});
    });
  }
}

TEST_CASE("a gated recurrent unit over a sequence equals the reference values") {
  check_gru("gru_1layer", 1);
  check_gru("gru_2layer", 2);
  check_gru("gru_2layer_h0zero", 2);
}

TEST_CASE("the gradient of an embedding adds up repeated ids") {
  for_every_backend("embedding_repeated", [](GoldenRun& g) {
    const Tensor y = ops::embed(g.leaf("W"), g.integers("ids"), {});
    g.expect("y", y);
    g.expect_gradients({{"cot_y", y}});
  });
  for_every_backend("embedding_repeated", [](GoldenRun& g) {
    const Tensor y = ops::gather_rows(g.leaf("W"), g.integers("ids"));
    g.expect("y", y);
    g.expect_gradients({{"cot_y", y}});
  });
}

TEST_CASE("the ignored id of an embedding gets no gradient") {
  for_every_backend("embedding_repeated", [](GoldenRun& g) {
    const Tensor table = g.leaf("W");
    const Tensor y = ops::embed(table, g.integers("ids"), {}, {1.0, 0, 3, {}});
    g.expect("y", y);
    g.tape().backward(y, g.constant("cot_y"));
    g.expect("grad_W_padding_idx3", g.gradient("W"));
  });
}

TEST_CASE("the position-wise feed-forward network equals the reference values") {
  for_every_backend("positionwise_ffn", [](GoldenRun& g) {
    const Tensor x = g.leaf("x"), w1 = g.leaf("W1"), b1 = g.leaf("b1"), w2 = g.leaf("W2"), b2 = g.leaf("b2");
    const Tensor y = ops::linear(ops::linear(x, w1, b1, ATTN_ACTIVATION_RELU), w2, b2);
    g.expect("y", y);
    g.expect_gradients({{"cot_y", y}});
  });
}
