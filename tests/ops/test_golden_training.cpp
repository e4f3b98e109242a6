#include <cmath>

#include "golden_run.h"
#include "support/catch.h"

namespace {

using namespace attn;
using namespace attn::test;

// The labels [batch, steps] in a row, -1 from the valid length on.
Tensor masked_labels(const GoldenRun& g) {
  std::vector<std::int32_t> labels = g.golden.integers("label");
  const auto lengths = g.golden.integers("valid_lens");
  const std::size_t steps = labels.size() / lengths.size();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (static_cast<std::int32_t>(i % steps) >= lengths[i / steps]) labels[i] = -1;
  }
  return g.whole_numbers(labels, {static_cast<std::int64_t>(labels.size())});
}

Tensor token_losses(const GoldenRun& g, const Tensor& logits, const ops::CrossEntropyOptions& options) {
  return ops::cross_entropy(logits.reshaped({logits.shape().leading(), logits.size(-1)}), masked_labels(g),
                            options);
}

double valid_tokens(const GoldenRun& g) {
  double count = 0;
  for (const std::int32_t length : g.golden.integers("valid_lens")) count += length;
  return count;
}

// Gradients of the sum of the token losses times `factor`.
void expect_logit_gradient(GoldenRun& g, const Tensor& losses, double factor, const std::string& dataset) {
  g.tape().backward(ops::affine(ops::sum(losses), factor, 0.0));
  g.expect(dataset, g.gradient("logits"));
}

std::vector<double> part_of(const std::vector<double>& values, std::size_t step, std::size_t size) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(step * size);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

void check_adam(const std::string& name, bool decoupled) {
  for_every_backend(name, [decoupled](GoldenRun& g) {
    const double beta1 = g.golden.scalar("beta1"), beta2 = g.golden.scalar("beta2");
    const Tensor p = g.constant("p0"), m = ops::full(p, p.shape(), 0.0), v = ops::full(p, p.shape(), 0.0);
    const auto size = static_cast<std::size_t>(p.elements());
    const auto gradients = g.golden.values("g");
    for (std::size_t step = 0; step < 3; ++step) {
      const double t = static_cast<double>(step) + 1;
      const Tensor control =
          g.numbers({g.golden.scalar("lr"), 1 - std::pow(beta1, t), 1 - std::pow(beta2, t), 1.0}, {4});
      ops::adam(p, m, v, g.numbers(part_of(gradients, step, size), p.shape()), control,
                {beta1, beta2, g.golden.scalar("eps"), g.golden.scalar("weight_decay"), decoupled});
      g.expect("p", p.to_vector<double>(), part_of(g.golden.values("p"), step, size));
      g.expect("m", m.to_vector<double>(), part_of(g.golden.values("m"), step, size));
      g.expect("v", v.to_vector<double>(), part_of(g.golden.values("v"), step, size));
    }
  });
}

}  // namespace

TEST_CASE("masked cross entropy equals the reference values") {
  for_every_backend("cross_entropy_masked", [](GoldenRun& g) {
    const Tensor logits = g.leaf("logits");
    const std::int64_t batch = logits.size(0), steps = logits.size(1);
    const Tensor losses = token_losses(g, logits, {});
    g.expect("token_loss", losses);
    g.expect("loss_sum", ops::sum(losses));
    const std::array<int, 1> over_steps{1};
    const Tensor per_sequence = ops::mean(losses.reshaped({batch, steps}), over_steps);
    g.expect("d2l_per_seq", per_sequence);
    g.expect("d2l_sum", ops::sum(per_sequence));
    g.tape().backward(ops::sum(per_sequence));
    g.expect("grad_logits_d2l_sum", g.gradient("logits"));
    expect_logit_gradient(g, token_losses(g, logits, {}), 1.0, "grad_logits_sum");
    expect_logit_gradient(g, token_losses(g, logits, {}), 1.0 / valid_tokens(g), "grad_logits_mean");
  });
}

TEST_CASE("cross entropy with uniform smoothing equals the reference values") {
  for_every_backend("cross_entropy_smooth", [](GoldenRun& g) {
    const Tensor logits = g.leaf("logits");
    const ops::CrossEntropyOptions options{g.golden.scalar("smoothing"), ATTN_SMOOTH_UNIFORM, -1};
    const Tensor losses = token_losses(g, logits, options);
    g.expect("token_loss", losses);
    g.expect("loss_sum", ops::sum(losses));
    g.expect("nll_token", token_losses(g, logits, {}));
    expect_logit_gradient(g, losses, 1.0, "grad_logits_sum");
    expect_logit_gradient(g, token_losses(g, logits, options), 1.0 / valid_tokens(g), "grad_logits_mean");
  });
}

TEST_CASE("cross entropy with smoothing over the other classes equals the reference values") {
  for_every_backend("cross_entropy_smooth_kl", [](GoldenRun& g) {
    const Tensor logits = g.leaf("logits");
    const auto pad = static_cast<std::int32_t>(g.golden.scalar("pad_id"));
    const Tensor losses = token_losses(g, logits, {g.golden.scalar("smoothing"), ATTN_SMOOTH_OTHERS, pad});
    g.expect("loss_sum", ops::sum(losses));
    expect_logit_gradient(g, losses, 1.0, "grad_logits_sum");
  });
}

TEST_CASE("the masked loss example of the book is right") {
  for_every_backend("cross_entropy_toy", [](GoldenRun& g) {
    const Tensor logits = ops::full(g.constant("per_seq"), {12, 10}, 1.0);
    const Tensor labels = g.whole_numbers({1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1}, {12});
    const std::array<int, 1> over_steps{1};
    g.expect("per_seq", ops::mean(ops::cross_entropy(logits, labels).reshaped({3, 4}), over_steps));
  });
}

TEST_CASE("gradient clipping equals the reference values") {
  const auto check = [](GoldenRun& g, double max_norm, double epsilon, const std::string& a,
                        const std::string& b) {
    const std::vector<Tensor> tensors{g.constant("a"), g.constant("b")};
    const Tensor square = ops::squared_norm(tensors);
    g.expect("norm", ops::sqrt(square));
    ops::clip_by_norm(tensors, square, max_norm, epsilon);
    g.expect(a, tensors[0]);
    g.expect(b, tensors[1]);
  };
  for_every_backend("grad_clip", [&](GoldenRun& g) {
    check(g, g.golden.scalar("theta"), 0.0, "a_clipped", "b_clipped");
    check(g, g.golden.scalar("theta"), 1e-6, "a_torch", "b_torch");
    check(g, g.golden.scalar("theta_big"), 0.0, "a", "b");
  });
}

TEST_CASE("clipping gradients that are all 0 leaves them") {
  for_every_backend("grad_clip", [](GoldenRun& g) {
    const std::vector<Tensor> tensors{g.numbers({0, 0}, {2})};
    ops::clip_by_norm(tensors, ops::squared_norm(tensors), 1.0);
    g.expect("zeros", tensors[0].to_vector<double>(), {0, 0});
  });
}

TEST_CASE("three steps of Adam equal the reference values") {
  check_adam("adam_3steps", false);
  check_adam("adam_l2_3steps", false);
  check_adam("adam_transformer_3steps", false);
  check_adam("adamw_3steps", true);
}

TEST_CASE("three steps of stochastic gradient descent equal the reference values") {
  for_every_backend("sgd_3steps", [](GoldenRun& g) {
    const Tensor p = g.constant("p0");
    const auto size = static_cast<std::size_t>(p.elements());
    const auto gradients = g.golden.values("g");
    for (std::size_t step = 0; step < 3; ++step) {
      ops::sgd(p, {}, g.numbers(part_of(gradients, step, size), p.shape()),
               g.numbers({g.golden.scalar("lr"), 1, 1, 1}, {4}), 0.0, 0.0);
      g.expect("p", p.to_vector<double>(), part_of(g.golden.values("p"), step, size));
    }
  });
}
