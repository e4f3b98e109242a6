#include "attn/training/optimizer.h"
#include "support/catch.h"
#include "support/golden_module.h"

namespace {

using namespace attn;
using namespace attn::test;

std::vector<double> part_of(const std::vector<double>& values, std::size_t step) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(step * 6);
  return {begin, begin + 6};
}

// Three steps of one parameter under the gradients of a case.
void check_three_steps(const std::string& name, OptimizerConfig config) {
  for (const Setting& setting : settings()) {
    GoldenModule run(name, setting);
    const GoldenCase& golden = run.golden();
    if (config.kind != OptimizerConfig::Kind::sgd) {
      config.beta1 = golden.scalar("beta1");
      config.beta2 = golden.scalar("beta2");
      config.epsilon = golden.scalar("eps");
      config.weight_decay = golden.scalar("weight_decay");
    }
    const ParameterHandle parameter = run.scope().parameter("p", {2, 3}, Initialization::zeros());
    run.start();
    run.load("p", "p0");
    Optimizer optimizer(run.store(), config);
    for (std::size_t step = 0; step < 3; ++step) {
      parameter->gradient.assign<double>(part_of(golden.values("g"), step));
      optimizer.step(golden.scalar("lr"), optimizer.gradient_norm());
      run.check(parameter->tensor.to_vector<double>(), part_of(golden.values("p"), step), "p");
      if (config.kind == OptimizerConfig::Kind::sgd) continue;
      run.check(run.store().part(optimizer.m(), *parameter).to_vector<double>(),
                part_of(golden.values("m"), step), "m");
      run.check(run.store().part(optimizer.v(), *parameter).to_vector<double>(),
                part_of(golden.values("v"), step), "v");
    }
    CHECK(optimizer.steps() == 3);
  }
}

// Two parameters whose gradients are a and b; steps of 1 from zero, so that a parameter becomes minus what
// the clipping leaves.
void check_clipping(double clip_norm, const std::string& a, const std::string& b) {
  for (const Setting& setting : settings()) {
    GoldenModule run("grad_clip", setting);
    const ParameterHandle first = run.scope().parameter("a", {2, 3}, Initialization::zeros());
    const ParameterHandle second = run.scope().parameter("b", {4}, Initialization::zeros());
    run.start();
    OptimizerConfig config;
    config.kind = OptimizerConfig::Kind::sgd;
    config.clip_norm = clip_norm;
    Optimizer optimizer(run.store(), config);
    first->gradient.assign<double>(run.golden().values("a"));
    second->gradient.assign<double>(run.golden().values("b"));
    const double norm = optimizer.gradient_norm();
    run.check({norm}, run.golden().values("norm"), "norm");
    optimizer.step(-1.0, norm);
    run.check(first->tensor, a);
    run.check(second->tensor, b);
  }
}

}  // namespace

TEST_CASE("Adam on a parameter store equals the reference values") {
  check_three_steps("adam_3steps", {OptimizerConfig::Kind::adam});
  check_three_steps("adam_l2_3steps", {OptimizerConfig::Kind::adam});
  check_three_steps("adam_transformer_3steps", {OptimizerConfig::Kind::adam});
}

TEST_CASE("AdamW on a parameter store equals the reference values") {
  check_three_steps("adamw_3steps", {OptimizerConfig::Kind::adamw});
}

TEST_CASE("SGD on a parameter store equals the reference values") {
  check_three_steps("sgd_3steps", {OptimizerConfig::Kind::sgd});
}

TEST_CASE("all gradients together are clipped by their norm") {
  const GoldenCase golden("grad_clip");
  check_clipping(golden.scalar("theta"), "a_clipped", "b_clipped");
}

TEST_CASE("gradients below the limit, or without one, stay as they are") {
  const GoldenCase golden("grad_clip");
  check_clipping(golden.scalar("theta_big"), "a", "b");
  check_clipping(0.0, "a", "b");
}

TEST_CASE("an optimizer has only the moments that it needs") {
  ParameterStore store(Device::open("reference"), DType::f64);
  Scope(store).parameter("p", {3}, Initialization::ones());
  store.materialise(1);
  const Optimizer plain(store, {OptimizerConfig::Kind::sgd});
  CHECK_FALSE(plain.m().defined());
  OptimizerConfig with_momentum{OptimizerConfig::Kind::sgd};
  with_momentum.momentum = 0.9;
  const Optimizer momentum(store, with_momentum);
  CHECK(momentum.m().defined());
  CHECK_FALSE(momentum.v().defined());
}
