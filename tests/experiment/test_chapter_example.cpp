// The small examples of the chapters: against the reference file, closed forms, and on every backend.
#include <cmath>
#include <filesystem>
#include <set>

#include "attn/experiment/chapter_example.h"
#include "attn/io/hdf5.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/golden_module.h"
#include "support/text_files.h"

namespace {

using namespace attn;
using namespace attn::test;

ExampleReport computed(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  std::vector<config::Override> overrides;
  for (const std::string& set : sets) overrides.push_back(config::parse_set(set));
  const std::vector<yaml::Document> documents{yaml::parse(yaml, "example.yaml")};
  return ChapterExample(documents, overrides).run();
}

ExampleReport built_in(const std::string& name, const std::vector<std::string>& sets = {}) {
  for (const BuiltInExample& example : built_in_examples()) {
    if (example.name == name) return computed(std::string(example.yaml), sets);
  }
  FAIL("there is no example " << name);
  return {};
}

const std::vector<double>& step(const ExampleReport& report, const std::string& name) {
  const ExampleStep* found = report.find(name);
  INFO("step " << name);
  REQUIRE(found != nullptr);
  return found->result.values;
}

/// The backends that are there, as settings of an example.
std::set<std::string> backends() {
  std::set<std::string> names;
  for (const Setting& setting : settings()) names.insert("backend.name=" + setting.device->backend().name());
  return names;
}

// What a configuration is refused with.
std::string refusal(const std::string& yaml) {
  const auto error = error_of([&] { computed(yaml); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ExitCode::config);
  return error->what();
}

const std::string small =
    "example: dot-product-attention\nqueries: [[1, 2]]\nkeys: [[0, 1], [1, 1]]\nvalues: [[1], [2]]\n";

TEST_CASE("the worked example has the reference's numbers on every backend") {
  const GoldenCase golden("worked_example");
  for (const std::string& backend : backends()) {
    INFO(backend);
    const ExampleReport report = built_in("worked-self-attention", {backend});
    CHECK(step(report, "scores") == std::vector<double>{2, 3, 0, 2});
    CHECK(relative_difference(step(report, "scaled scores"), golden.values("scores")) < 1e-14);
    CHECK(relative_difference(step(report, "weights"), golden.values("weights_closed")) < 1e-14);
    CHECK(relative_difference(step(report, "output"), golden.values("out_closed")) < 1e-14);
    // Without the division, 1 / (1 + exp(s1 - s0)) of every row.
    const double first = 1.0 / (1.0 + std::exp(1.0)), second = 1.0 / (1.0 + std::exp(2.0));
    CHECK(relative_difference(step(report, "unscaled weights"), {first, 1 - first, second, 1 - second}) <
          1e-14);
  }
}

TEST_CASE("the worked example says where 0.27 and 0.73 come from") {
  const ExampleReport report = built_in("worked-self-attention");
  REQUIRE(report.comparison.has_value());
  CHECK_FALSE(report.comparison->agrees);
  CHECK(report.comparison->difference == Approx(0.8044296825 - 0.73).margin(1e-9));
  REQUIRE(report.comparison->remarks.size() == 3);
  CHECK(report.comparison->remarks[0] ==
        "row 1 of the weights is 0.33024, 0.66976, not 0.27, 0.73: off by 0.06024");
  CHECK(report.comparison->remarks[2] == "0.27, 0.73 is row 1 of the unscaled weights");
}

TEST_CASE("every number of the worked example is written out") {
  const ExampleReport report = built_in("worked-self-attention");
  CHECK(report.find("scores")->arithmetic[0] == "1*0 + 2*1 = 2    1*1 + 2*1 = 3");
  CHECK(contains(report.find("weights")->arithmetic[1], "e^0 / (e^0 + e^1.4142) = 0.19557"));
  CHECK(contains(report.find("output")->arithmetic[0], "0.33024*0.5 + 0.66976*1 = 0.83488"));
}

TEST_CASE("a changed number changes the result") {
  const ExampleReport report = built_in("worked-self-attention", {"queries=[[0, 0], [2, 0]]"});
  CHECK(step(report, "weights")[0] == 0.5);
  CHECK(step(report, "output")[0] == 0.75);
  CHECK(step(report, "output")[2] == Approx(0.9022148412534785));
}

TEST_CASE("every example that a book gives numbers or shapes for agrees with it, on every backend") {
  std::size_t compared = 0;
  for (const BuiltInExample& example : built_in_examples()) {
    if (example.name == "worked-self-attention") continue;
    INFO(example.name);
    for (const std::string& backend : backends()) {
      INFO(backend);
      const ExampleReport report = computed(std::string(example.yaml), {backend});
      CHECK_FALSE(report.title.empty());
      if (!report.comparison) continue;
      CHECK(report.comparison->agrees);
      ++compared;
    }
  }
  CHECK(compared == 10 * backends().size());
}

TEST_CASE("the toy examples weigh 2 and 6 keys evenly") {
  const GoldenCase golden("additive_attention_toy");
  for (const std::string name : {"additive-attention", "dot-product-attention"}) {
    INFO(name);
    const ExampleReport report = built_in(name);
    CHECK(relative_difference(step(report, "weights"), golden.values("weights")) < 1e-14);
    CHECK(relative_difference(step(report, "output"), golden.values("out")) < 1e-14);
    CHECK(report.find("weights")->masked == std::vector<std::uint8_t>{0, 0, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                                                      0, 0, 0, 0, 0, 0, 1, 1, 1, 1});
  }
}

TEST_CASE("the scores that additive attention shows are those its weights come from") {
  const ExampleReport report =
      built_in("additive-attention", {"keys=normal(2, 10, 2)", "valid_lengths=[10, 10]"});
  const std::vector<double>&scores = step(report, "scores"), &weights = step(report, "weights");
  for (std::size_t row = 0; row < 2; ++row) {
    double sum = 0.0;
    for (std::size_t key = 0; key < 10; ++key) sum += std::exp(scores[row * 10 + key]);
    for (std::size_t key = 0; key < 10; ++key)
      CHECK(weights[row * 10 + key] == Approx(std::exp(scores[row * 10 + key]) / sum));
  }
}

TEST_CASE("multi-head attention weighs the valid keys of equal inputs evenly in every head") {
  const ExampleStep* weights = nullptr;
  const ExampleReport report = built_in("multi-head-attention");
  weights = report.find("weights");
  REQUIRE(weights != nullptr);
  CHECK(weights->result.shape == std::vector<std::int64_t>{2, 5, 4, 6});
  for (std::size_t i = 0; i < weights->result.values.size(); ++i) {
    const double valid = i < 120 ? 3.0 : 2.0;
    CHECK(weights->result.values[i] ==
          Approx(static_cast<double>(i % 6) < valid ? 1.0 / valid : 0.0).margin(1e-12));
  }
}

TEST_CASE("valid lengths may differ from query to query") {
  const ExampleReport report = built_in("masked-softmax", {"valid_lengths=[[1, 3], [2, 4]]"});
  const std::vector<double>& weights = step(report, "weights");
  CHECK(weights[0] == 1.0);
  CHECK(weights[6] > 0.0);
  CHECK(weights[7] == 0.0);
  CHECK(weights[15] > 0.0);
}

TEST_CASE("the dumped configuration gives the same result") {
  for (const BuiltInExample& example : built_in_examples()) {
    INFO(example.name);
    const std::vector<yaml::Document> documents{yaml::parse(example.yaml, "a.yaml")};
    const ChapterExample first(documents, {});
    const ExampleReport again = computed(first.yaml()), once = first.run();
    for (std::size_t i = 0; i < once.steps.size(); ++i)
      CHECK(again.steps[i].result.values == once.steps[i].result.values);
  }
}

TEST_CASE("what is wrong with an example is one sentence with its place") {
  CHECK(contains(refusal("example: dot-product-atention\n"),
                 "example.yaml:1:10: example: expected one of masked-softmax"));
  CHECK(contains(refusal("example: dot-product-atention\n"), "did you mean 'dot-product-attention'"));
  CHECK(contains(refusal("title: x\n"), "found nothing"));
  CHECK(contains(refusal(small + "heads: 2\n"), "example.yaml:5:1: unknown key 'heads'"));
  CHECK(contains(refusal(small + "valid_lengths: [1, 2]\n"), "valid_lengths must be one number"));
  CHECK(contains(refusal(small + "valid_lengths: [1.5]\n"), "whole numbers"));
  CHECK(contains(refusal("example: dot-product-attention\nqueries: [[1, 2], [3]]\n"),
                 "example.yaml:2:10: queries: lists of one depth have 2 and 1 elements"));
  CHECK(contains(refusal("example: dot-product-attention\nqueries: [[1, [2]]]\n"), "not equally deep"));
  CHECK(contains(refusal("example: dot-product-attention\nqueries: nomal(2, 3)\n"), "expected nested lists"));
  CHECK(
      contains(refusal("example: dot-product-attention\nqueries: normal(2, 0)\n"), "expected nested lists"));
  CHECK(contains(refusal("example: dot-product-attention\nqueries: ones(4096, 4096)\n"), "more than"));
  CHECK(contains(refusal("example: dot-product-attention\nqueries: [[1, 2]]\n"), "keys is missing"));
  CHECK(contains(refusal("example: dot-product-attention\nqueries: [[1]]\nkeys: [[1, 2]]\nvalues: [[1]]\n"),
                 "queries have 1 numbers and keys 2"));
  CHECK(
      contains(refusal("example: multi-head-attention\nqueries: ones(2, 4, 10)\nhidden_size: 10\nheads: 3\n"),
               "3 heads do not divide"));
  CHECK(contains(refusal(small + "book:\n  step: weight\n  values: [1]\n"), "the steps are queries, keys"));
  CHECK(contains(refusal(small + "book:\n  step: weights\n  values: [1, 2, 3]\n"),
                 "is not the end of the shape"));
}

TEST_CASE("a book's shape that differs is said") {
  const ExampleReport report = computed(small + "book:\n  step: output\n  shape: [2, 2]\n");
  REQUIRE(report.comparison.has_value());
  CHECK_FALSE(report.comparison->agrees);
  CHECK(report.comparison->remarks == std::vector<std::string>{"the shape is (1, 1), not (2, 2)"});
}

TEST_CASE("weights become a heat-map, other steps do not") {
  const ExampleReport report = built_in("self-attention");
  const std::string svg = example_heat_map("maps", *report.find("weights"), PictureFormat::svg);
  CHECK(contains(svg, "<svg"));
  const auto error = error_of([&] { example_heat_map("maps", *report.find("output"), PictureFormat::svg); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ExitCode::usage);
}

TEST_CASE("the steps of an example are written to HDF5 in their shapes") {
  const std::vector<yaml::Document> documents{yaml::parse(small, "a.yaml")};
  const ChapterExample example(documents, {});
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "example.h5";
  save_example(path, example, example.run(), "attn-dump example a.yaml");
  const hdf5::File file = hdf5::open_checked(path, "attn.example", 1);
  CHECK(file.group("/step").names() == std::vector<std::string>{"01_queries", "02_keys", "03_values",
                                                                "04_scores", "05_scaled_scores", "06_weights",
                                                                "07_output", "08_unscaled_weights"});
  CHECK(file.read<double>("/step/04_scores", {1, 2}) == std::vector<double>{2, 3});
  CHECK(file.dataset("/step/04_scores").string_attribute("formula") == "Q K^T");
}

}  // namespace
