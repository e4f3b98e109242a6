#include "attn/nn/attention.h"
#include "support/error_of.h"
#include "support/golden_module.h"

namespace {

using namespace attn;
using namespace attn::test;

const std::vector<std::string> additive_cases = {"additive_attention_none", "additive_attention_1d",
                                                 "additive_attention_2d"};
const std::vector<std::string> dot_product_cases = {"scaled_dot_product_none", "scaled_dot_product_1d",
                                                    "scaled_dot_product_2d", "scaled_dot_product_causal"};

void load_additive(GoldenModule& run) {
  run.start();
  run.load("W_q.weight", "W_q");
  run.load("W_k.weight", "W_k");
  run.load("w_v.weight", "w_v");
}

// Leaves out the rows of `values`, `width` elements each, for which `dropped` is true.
std::vector<double> without_rows(const std::vector<double>& values, std::size_t width,
                                 const std::vector<bool>& dropped) {
  std::vector<double> kept;
  for (std::size_t row = 0; row < dropped.size(); ++row) {
    if (dropped[row]) continue;
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * width);
    kept.insert(kept.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  return kept;
}

std::vector<bool> empty_rows(const GoldenModule& run) {
  std::vector<bool> empty;
  for (const std::int32_t length : run.golden().integers("valid_lens")) empty.push_back(length == 0);
  return empty;
}

// Where the inputs of a multi-head attention case stand: the dataset of each operand.
struct HeadsCase {
  std::string name, query, key, value;
  bool bias = false;
};
const std::vector<HeadsCase> heads_cases = {{"mha_valid_lens", "X", "Y", "Y"},
                                            {"mha_causal", "X", "X", "X"},
                                            {"mha_diff_sizes", "q", "k", "v"},
                                            {"mha_bias", "X", "X", "X", true}};

// A case of multi-head attention that has been run forward and backward.
class HeadsRun {
 public:
  HeadsRun(const HeadsCase& heads, const Setting& setting, attn_masking masking)
      : run(heads.name, setting), heads_(heads) {
    const auto width = [&](const std::string& dataset) { return run.golden().shape(dataset).back(); };
    const MultiHeadAttention attention(run.scope(), {width(heads.query),
                                                     width(heads.key),
                                                     width(heads.value),
                                                     8,
                                                     2,
                                                     0.0,
                                                     heads.bias,
                                                     masking,
                                                     {AttentionKind::cross, 3}});
    run.start();
    for (const std::string projection : {"q", "k", "v", "o"}) {
      run.load("W_" + projection + ".weight", "W_" + projection);
      if (heads.bias) run.load("W_" + projection + ".bias", "b_" + projection);
    }
    for (const std::string& dataset : {heads.query, heads.key, heads.value}) {
      if (!leaf(dataset).defined()) leaves_.push_back({dataset, run.watch(dataset)});
    }
    Context context;
    record_weights(context, seen);
    output = attention(leaf(heads.query), leaf(heads.key), leaf(heads.value), run.mask(), context);
    run.backward(output, "cot_out");
  }

  Tensor leaf(const std::string& dataset) const {
    for (const auto& [name, tensor] : leaves_) {
      if (name == dataset) return tensor;
    }
    return {};
  }
  void check_projection(const std::string& projection) const {
    run.check_gradient_of("W_" + projection + ".weight", "grad_W_" + projection);
    if (heads_.bias) run.check_gradient_of("W_" + projection + ".bias", "grad_b_" + projection);
  }

  GoldenModule run;
  Tensor output;
  std::vector<SeenWeights> seen;

 private:
  HeadsCase heads_;
  std::vector<std::pair<std::string, Tensor>> leaves_;
};

}  // namespace

TEST_CASE("additive attention reproduces the reference, gradients included") {
  for (const Setting& setting : settings()) {
    for (const std::string& name : additive_cases) {
      INFO(name);
      GoldenModule run(name, setting);
      const AdditiveAttention attention(run.scope(), 5, 3, 4, 0.0);
      load_additive(run);
      const Tensor query = run.watch("queries"), key = run.watch("keys"), value = run.watch("values");
      Context context;
      std::vector<SeenWeights> seen;
      record_weights(context, seen);
      const Tensor output = attention(query, attention.project_keys(key), value, run.mask(), context);
      run.check(output, "out");
      REQUIRE(seen.size() == 1);
      CHECK(seen[0].shape == Shape{2, 1, 3, 5});
      run.check(seen[0].values, run.golden().values("weights"), "weights");
      run.backward(output, "cot_out");
      run.check_gradient(query, "grad_queries");
      run.check_gradient(key, "grad_keys");
      run.check_gradient(value, "grad_values");
      run.check_gradient_of("W_q.weight", "grad_W_q");
      run.check_gradient_of("W_k.weight", "grad_W_k");
      run.check_gradient_of("w_v.weight", "grad_w_v");
    }
  }
}

TEST_CASE("additive attention to equal keys averages the values of the valid ones, as in the book") {
  for (const Setting& setting : settings()) {
    GoldenModule run("additive_attention_toy", setting);
    const AdditiveAttention attention(run.scope(), 20, 2, 8, 0.1);  // no dropout outside training
    load_additive(run);
    Context context;
    const Tensor output = attention(run.input("queries"), attention.project_keys(run.input("keys")),
                                    run.input("values"), run.mask("valid_lens", ATTN_MASK_EXACT), context);
    run.check(output.to_vector<double>(), {2, 3, 4, 5, 10, 11, 12, 13}, "out");
  }
}

TEST_CASE("scaled dot-product attention reproduces the reference with the book's masking") {
  for (const Setting& setting : settings()) {
    for (const std::string& name : dot_product_cases) {
      INFO(name);
      GoldenModule run(name, setting);
      const Tensor query = run.watch("q"), key = run.watch("k"), value = run.watch("v");
      Context context;
      std::vector<SeenWeights> seen;
      record_weights(context, seen);
      const Tensor output = DotProductAttention(0.5)(query, key, value, run.mask(), context);
      run.check(output, "out");
      REQUIRE(seen.size() == 1);
      run.check(seen[0].values, run.golden().values("weights"), "weights");
      run.backward(output, "cot_out");
      run.check_gradient(query, "grad_q");
      run.check_gradient(key, "grad_k");
      run.check_gradient(value, "grad_v");
    }
  }
}

TEST_CASE("a causal mask is the lengths 1, 2, 3, ...") {
  for (const Setting& setting : settings()) {
    GoldenModule run("scaled_dot_product_causal", setting);
    const Tensor query = run.watch("q"), key = run.watch("k"), value = run.watch("v");
    ops::Mask mask;
    mask.causal = true;
    Context context;
    const Tensor output = DotProductAttention(0.0)(query, key, value, mask, context);
    run.check(output, "out");
    run.backward(output, "cot_out");
    run.check_gradient(query, "grad_q");
    run.check_gradient(key, "grad_k");
    run.check_gradient(value, "grad_v");
  }
}

TEST_CASE("exact masking gives a query without keys zeros and leaves the other queries as they are") {
  for (const Setting& setting : settings()) {
    GoldenModule run("scaled_dot_product_2d", setting);
    const Tensor query = run.watch("q"), key = run.watch("k"), value = run.watch("v");
    Context context;
    std::vector<SeenWeights> seen;
    record_weights(context, seen);
    const Tensor output =
        DotProductAttention(0.0)(query, key, value, run.mask("valid_lens", ATTN_MASK_EXACT), context);
    const std::vector<bool> empty = empty_rows(run);
    const auto zeros = [](std::size_t count) { return std::vector<double>(count, 0.0); };
    std::vector<bool> full(empty);
    full.flip();
    const auto values = output.to_vector<double>();
    CHECK(without_rows(values, 6, full) == zeros(6));
    run.check(without_rows(values, 6, empty), without_rows(run.golden().values("out"), 6, empty), "out");
    REQUIRE(seen.size() == 1);
    CHECK(without_rows(seen[0].values, 5, full) == zeros(5));
    run.check(without_rows(seen[0].values, 5, empty), without_rows(run.golden().values("weights"), 5, empty),
              "weights");
    // The book's uniform row does not depend on query and key, so their gradients are the same.
    run.backward(output, "cot_out");
    run.check_gradient(query, "grad_q");
    run.check_gradient(key, "grad_k");
    for (const double gradient : run.gradient(value)) CHECK(std::isfinite(gradient));
  }
}

TEST_CASE("multi-head attention reproduces the reference with the book's masking") {
  for (const Setting& setting : settings()) {
    for (const HeadsCase& heads : heads_cases) {
      INFO(heads.name);
      const HeadsRun heads_run(heads, setting, ATTN_MASK_BOOK);
      const GoldenModule& run = heads_run.run;
      run.check(heads_run.output, "out");
      REQUIRE(heads_run.seen.size() == 1);
      CHECK(heads_run.seen[0].kind == AttentionKind::cross);
      CHECK(heads_run.seen[0].layer == 3);
      run.check(heads_run.seen[0].values, run.golden().values("weights"), "weights");
      for (const std::string& dataset : {heads.query, heads.key, heads.value})
        run.check_gradient(heads_run.leaf(dataset), "grad_" + dataset);
      for (const std::string projection : {"q", "k", "v", "o"}) heads_run.check_projection(projection);
    }
  }
}

TEST_CASE("multi-head attention with exact masking differs from the book only where a query has no keys") {
  for (const Setting& setting : settings()) {
    for (const HeadsCase& heads : heads_cases) {
      INFO(heads.name);
      const HeadsRun heads_run(heads, setting, ATTN_MASK_EXACT);
      const GoldenModule& run = heads_run.run;
      if (heads.name != "mha_diff_sizes") {
        run.check(heads_run.output, "out");
        for (const std::string projection : {"q", "k", "v", "o"}) heads_run.check_projection(projection);
        continue;
      }
      const std::vector<bool> empty = empty_rows(run);
      std::vector<bool> full(empty);
      full.flip();
      const auto output = heads_run.output.to_vector<double>();
      CHECK(without_rows(output, 8, full) == std::vector<double>(8, 0.0));
      run.check(without_rows(output, 8, empty), without_rows(run.golden().values("out"), 8, empty), "out");
      run.check_gradient(heads_run.leaf("q"), "grad_q");
      run.check_gradient(heads_run.leaf("k"), "grad_k");
      heads_run.check_projection("q");
      heads_run.check_projection("k");
      for (const double gradient : run.gradient(heads_run.leaf("v"))) CHECK(std::isfinite(gradient));
    }
  }
}

TEST_CASE("attention to projected keys and values is the same as attention to the operands") {
  for (const Setting& setting : settings()) {
    GoldenModule run("mha_valid_lens", setting);
    const MultiHeadAttention attention(run.scope(), {8, 8, 8, 8, 2, 0.0, false, ATTN_MASK_EXACT, {}});
    run.start();
    for (const std::string projection : {"q", "k", "v", "o"})
      run.load("W_" + projection + ".weight", "W_" + projection);
    Context context;
    const KeyValueCache memory = attention.project(run.input("Y"), run.input("Y"));
    run.check(attention.attend(run.input("X"), memory, run.mask(), context), "out");
  }
}

TEST_CASE("heads that do not divide the width are a configuration error that names both") {
  ParameterStore store(Device::open("reference"), DType::f64);
  const auto error = error_of([&] {
    MultiHeadAttention(Scope(store), {8, 8, 8, 8, 3, 0.0, false, ATTN_MASK_EXACT, {}});
  });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
  CHECK(contains(error->what(), "3 heads"));
  CHECK(contains(error->what(), "width 8"));
}

TEST_CASE("dropout of attention weights acts in training only and is reproduced by its counter") {
  for (const Setting& setting : settings()) {
    GoldenModule run("scaled_dot_product_none", setting);
    const DotProductAttention attention(0.5);
    const auto output = [&](Context context) {
      return attention(run.input("q"), run.input("k"), run.input("v"), {}, context).to_vector<double>();
    };
    const auto counter = [&](std::int32_t step) {
      return Context(
          Tensor::from<std::int32_t>(setting.device, std::vector<std::int32_t>{9, 0, step, 0}, {4}));
    };
    CHECK(output(counter(1)) == output(counter(1)));
    CHECK(output(counter(1)) != output(counter(2)));
    CHECK(output(counter(1)) != output(Context()));
    run.check(output(Context()), run.golden().values("out"), "out");
  }
}
