#include <cmath>

#include "golden_run.h"
#include "support/catch.h"

namespace {

using namespace attn;
using namespace attn::test;

// Calls `run` once for each way of masking that the case allows.
void for_every_masking(const std::string& name,
                       const std::function<void(GoldenRun&, const ops::Mask&)>& run) {
  for (const attn_masking masking : maskings_for(GoldenCase(name))) {
    INFO("masking " << masking);
    for_every_backend(name, [&](GoldenRun& g) {
      run(g, {g.golden.has("valid_lens") ? g.integers("valid_lens") : Tensor{}, false, 0, masking});
    });
  }
}

}  // namespace

TEST_CASE("masked softmax equals the reference values") {
  for (const char* kind : {"none", "1d", "2d", "len0_1d", "len0_2d"}) {
    for_every_masking(std::string("masked_softmax_") + kind, [](GoldenRun& g, const ops::Mask& mask) {
      const Tensor y = ops::masked_softmax(g.leaf("X"), mask);
      g.expect("Y", y);
      g.expect_gradients({{"cot_Y", y}});
    });
  }
}

TEST_CASE("scaled dot-product attention equals the reference values") {
  for (const char* kind : {"none", "1d", "2d", "causal"}) {
    for_every_masking(std::string("scaled_dot_product_") + kind, [](GoldenRun& g, const ops::Mask& mask) {
      const Tensor q = g.leaf("q"), k = g.leaf("k"), v = g.leaf("v");
      const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(-1)));
      g.expect("scores", ops::matmul(q, k, {.transpose_b = true, .alpha = scale}));
      const auto result = ops::attention(q, k, v, {1, scale, mask, {}, true});
      g.expect("out", result.output);
      g.expect("weights", result.weights);
      g.expect_gradients({{"cot_out", result.output}});
    });
  }
}

TEST_CASE("a causal mask equals increasing valid lengths") {
  for_every_backend("scaled_dot_product_causal", [](GoldenRun& g) {
    const Tensor q = g.leaf("q"), k = g.leaf("k"), v = g.leaf("v");
    const auto result = ops::attention(q, k, v, {1, 0.5, {{}, true, 0, ATTN_MASK_EXACT}, {}, true});
    g.expect("out", result.output);
    g.expect("weights", result.weights);
    g.expect_gradients({{"cot_out", result.output}});
  });
}

TEST_CASE("scaled dot-product attention put together from products equals the reference values") {
  for_every_masking("scaled_dot_product_1d", [](GoldenRun& g, const ops::Mask& mask) {
    const Tensor q = g.leaf("q"), k = g.leaf("k"), v = g.leaf("v");
    const Tensor weights = ops::masked_softmax(ops::matmul(q, k, {.transpose_b = true, .alpha = 0.5}), mask);
    const Tensor out = ops::matmul(weights, v);
    g.expect("out", out);
    g.expect_gradients({{"cot_out", out}});
  });
}

TEST_CASE("additive attention equals the reference values") {
  for (const char* kind : {"none", "1d", "2d"}) {
    for_every_masking(std::string("additive_attention_") + kind, [](GoldenRun& g, const ops::Mask& mask) {
      const Tensor queries = g.leaf("queries"), keys = g.leaf("keys"), values = g.leaf("values");
      const Tensor w_q = g.leaf("W_q"), w_k = g.leaf("W_k"), w_v = g.leaf("w_v");
      const auto result =
          ops::additive_attention(ops::linear(queries, w_q), ops::linear(keys, w_k), w_v, values, mask, {});
      g.expect("out", result.output);
      g.expect("weights", result.weights);
      g.expect_gradients({{"cot_out", result.output}});
    });
  }
}

TEST_CASE("the additive attention example of the book gives uniform weights") {
  for_every_masking("additive_attention_toy", [](GoldenRun& g, const ops::Mask& mask) {
    const auto result = ops::additive_attention(ops::linear(g.constant("queries"), g.constant("W_q")),
                                                ops::linear(g.constant("keys"), g.constant("W_k")),
                                                g.constant("w_v"), g.constant("values"), mask, {});
    g.expect("out", result.output);
    g.expect("weights", result.weights);
  });
}

TEST_CASE("multi-head attention equals the reference values") {
  for (const char* kind : {"bias", "causal", "diff_sizes", "valid_lens"}) {
    for_every_masking(std::string("mha_") + kind, [](GoldenRun& g, const ops::Mask& mask) {
      const Tensor q = g.golden.has("X") ? g.leaf("X") : g.leaf("q");
      const Tensor k = g.golden.has("Y") ? g.leaf("Y") : g.golden.has("k") ? g.leaf("k") : q;
      const Tensor v = g.golden.has("v") ? g.leaf("v") : k;
      const Tensor w_q = g.leaf("W_q"), w_k = g.leaf("W_k"), w_v = g.leaf("W_v"), w_o = g.leaf("W_o");
      const Tensor b_q = g.leaf_if_there("b_q"), b_k = g.leaf_if_there("b_k"), b_v = g.leaf_if_there("b_v"),
                   b_o = g.leaf_if_there("b_o");
      const auto heads = ops::attention(ops::linear(q, w_q, b_q), ops::linear(k, w_k, b_k),
                                        ops::linear(v, w_v, b_v), {2, 0.5, mask, {}, true});
      const Tensor out = ops::linear(heads.output, w_o, b_o);
      g.expect("weights", heads.weights);
      g.expect("out", out);
      g.expect_gradients({{"cot_out", out}});
    });
  }
}

TEST_CASE("the worked example by hand is right") {
  for_every_backend("worked_example", [](GoldenRun& g) {
    const Tensor q = g.constant("Q").reshaped({1, 2, 2}), k = g.constant("K").reshaped({1, 2, 2}),
                 v = g.constant("V").reshaped({1, 2, 2});
    const auto result = ops::attention(q, k, v, {1, 1.0 / std::sqrt(2.0), {}, {}, true});
    g.expect("out_closed", result.output);
    g.expect("weights_closed", result.weights);
    g.expect("out", result.output);
  });
}
