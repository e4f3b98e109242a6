#include "attn/experiment/chapter_example.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "attn/core/error.h"
#include "attn/experiment/training_run.h"
#include "attn/io/did_you_mean.h"
#include "example_run.h"

namespace attn {
namespace {

struct NamedKind {
  std::string_view name;
  std::unique_ptr<ExampleKind> (*make)();
};
constexpr std::array<NamedKind, 10> kinds{{
    {"masked-softmax", make_masked_softmax_example},
    {"batch-matrix-product", make_batch_product_example},
    {"additive-attention", make_additive_example},
    {"dot-product-attention", make_dot_product_example},
    {"multi-head-attention", make_multi_head_example},
    {"attention-weights", make_weights_example},
    {"position-wise-ffn", make_feed_forward_example},
    {"layer-and-batch-norm", make_normalisation_example},
    {"transformer-blocks", make_transformer_block_example},
    {"masked-loss", make_masked_loss_example},
}};

// The key that decides which other keys there are.
std::string kind_of(std::span<const yaml::Document> documents, std::span<const config::Override> overrides) {
  std::string kind, place;
  for (const yaml::Document& document : documents) {
    if (const yaml::Node* found = document.root.find("example")) {
      kind = found->text;
      place = found->position.text();
    } else if (place.empty()) {
      place = document.root.position.text();
    }
  }
  for (const config::Override& override : overrides) {
    if (override.path != "example") continue;
    kind = override.value.text;
    place = override.value.position.text();
  }
  const std::vector<std::string> names = example_kind_names();
  if (std::find(names.begin(), names.end(), kind) == names.end()) {
    fail(ExitCode::config, "{}: example: expected one of {}, found {}{}", place, fmt::join(names, ", "),
         kind.empty() ? "nothing" : "'" + kind + "'", did_you_mean(kind, names));
  }
  return kind;
}

std::string numbers_text(std::span<const double> values) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const double value : values) texts.push_back(fmt::format("{:.5g}", value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double difference = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = std::max(difference, std::abs(a[i] - b[i]));
  return difference;
}

std::span<const double> row_of(const ExampleValues& values, std::size_t row) {
  const auto width = static_cast<std::size_t>(values.shape.back());
  return std::span<const double>(values.values).subspan(row * width, width);
}

std::size_t rows_of(const ExampleValues& values) {
  return values.values.size() / static_cast<std::size_t>(values.shape.back());
}

// The other steps that have a row of these values, as "row 1 of the unscaled weights".
std::vector<std::string> places_of(const ExampleReport& report, std::span<const double> values,
                                   const ExampleComparison& comparison) {
  std::vector<std::string> places;
  for (const ExampleStep& step : report.steps) {
    if (step.name == comparison.step || step.result.shape.empty() ||
        static_cast<std::size_t>(step.result.shape.back()) != values.size())
      continue;
    for (std::size_t row = 0; row < rows_of(step.result); ++row) {
      if (largest_difference(row_of(step.result, row), values) <= comparison.tolerance)
        places.push_back(fmt::format("row {} of the {}", row + 1, step.name));
    }
  }
  return places;
}

void explain(ExampleComparison& comparison, const ExampleReport& report, const ExampleStep& step) {
  const std::size_t rows = rows_of(comparison.expected);
  std::vector<std::string> places;
  for (std::size_t row = 0; row < rows_of(step.result); ++row) {
    const std::span<const double> found = row_of(step.result, row),
                                  expected = row_of(comparison.expected, row % rows);
    const double difference = largest_difference(found, expected);
    if (difference <= comparison.tolerance) continue;
    comparison.remarks.push_back(fmt::format("row {} of the {} is {}, not {}: off by {:.4g}", row + 1,
                                             step.name, numbers_text(found), numbers_text(expected),
                                             difference));
    for (const std::string& place : places_of(report, expected, comparison)) {
      const std::string remark = fmt::format("{} is {}", numbers_text(expected), place);
      if (std::find(places.begin(), places.end(), remark) == places.end()) places.push_back(remark);
    }
  }
  comparison.remarks.insert(comparison.remarks.end(), places.begin(), places.end());
}

}  // namespace

std::unique_ptr<ExampleKind> make_example_kind(std::string_view name) {
  for (const NamedKind& kind : kinds) {
    if (kind.name == name) return kind.make();
  }
  return nullptr;
}

std::vector<std::string> example_kind_names() {
  std::vector<std::string> names;
  for (const NamedKind& kind : kinds) names.emplace_back(kind.name);
  return names;
}

const ExampleStep* ExampleReport::find(std::string_view name) const {
  const auto found =
      std::find_if(steps.begin(), steps.end(), [&](const ExampleStep& step) { return step.name == name; });
  return found == steps.end() ? nullptr : &*found;
}

ChapterExample::ChapterExample(std::span<const yaml::Document> documents,
                               std::span<const config::Override> overrides)
    : kind_name_(kind_of(documents, overrides)), kind_(make_example_kind(kind_name_)) {
  // Full precision: these numbers are looked at one by one.
  backend_.dtype = DType::f64;
  std::string kind = kind_name_;
  config::Schema schema;
  schema.field("example", kind, config::Text{}, "What is computed");
  schema.field("title", title_, config::Text{}, "Heading of the result");
  schema.field("seed", seed_, config::Integer{.minimum = 0}, "Seed of random numbers and parameters");
  kind_->describe(schema);
  schema.field("book.step", book_step_, config::Text{}, "Step to compare; empty: none");
  schema.field("book.values", book_values_, ExampleNumbers{.required = false},
               "What it should be: all of it, or one row that is compared with every row");
  schema.field("book.shape", book_shape_, config::Integer{.minimum = 1},
               "Which shape it should have, where its values are not known");
  schema.field("book.tolerance", book_tolerance_, config::Real{.minimum = 0},
               "Largest difference that still agrees, half of the last digit given");
  schema.field("book.source", book_source_, config::Text{}, "Who says so");
  const config::Integer not_negative{.minimum = 0};
  schema.field("backend.name", backend_.name, config::Text{.may_be_empty = false},
               "Backend plugin: a name, or the path of a .so file");
  schema.field("backend.device", backend_.device, not_negative, "Index of the device");
  schema.field("backend.threads", backend_.threads, not_negative, "CPU threads; 0: all cores");
  schema.field("backend.dtype", backend_.dtype,
               config::Choice<DType>{{{"f32", DType::f32}, {"f64", DType::f64}}}, "Element type");
  for (const yaml::Document& document : documents) schema.apply(document);
  for (const config::Override& override : overrides) schema.apply(override);
  if (!book_step_.empty() && book_values_.given() != book_shape_.empty())
    schema.problem("book.step", "needs either book.values or book.shape beside it");
  schema.check();
  yaml_ = schema.dump();
}

ExampleReport ChapterExample::run() const {
  ExampleRun run(open_device(backend_), backend_.dtype, seed_);
  try {
    kind_->compute(run);
  } catch (const Error& error) {
    // What an operation says of shapes is meant for programmers, but here a user chose them.
    if (error.code() != ExitCode::internal) throw;
    fail(ExitCode::config, "these shapes do not fit each other: {}", error.what());
  }
  ExampleReport report{title_.empty() ? kind_name_ : title_, {}, {}};
  std::move(run.steps().begin(), run.steps().end(), std::back_inserter(report.steps));
  if (!book_step_.empty()) report.comparison = compare(report);
  return report;
}

ExampleComparison ChapterExample::compare(const ExampleReport& report) const {
  const ExampleStep* step = report.find(book_step_);
  if (step == nullptr) {
    std::vector<std::string> names;
    for (const ExampleStep& each : report.steps) names.push_back(each.name);
    fail(ExitCode::config, "book.step: there is no step '{}'; the steps are {}", book_step_,
         fmt::join(names, ", "));
  }
  ExampleComparison comparison;
  comparison.step = book_step_;
  comparison.source = book_source_;
  comparison.tolerance = book_tolerance_;
  if (!book_shape_.empty()) {
    comparison.expected.shape = book_shape_;
    comparison.agrees = step->result.shape == book_shape_;
    if (!comparison.agrees) {
      comparison.remarks.push_back(
          fmt::format("the shape is {}, not {}", shape_text(step->result.shape), shape_text(book_shape_)));
    }
    return comparison;
  }
  comparison.expected = ExampleRun(nullptr, backend_.dtype, seed_).values(book_values_, "book.values");
  const std::vector<std::int64_t>&whole = step->result.shape, &part = comparison.expected.shape;
  if (part.size() > whole.size() || !std::equal(part.rbegin(), part.rend(), whole.rbegin())) {
    fail(ExitCode::config, "book.values: the shape {} is not the end of the shape {} of '{}'",
         shape_text(part), shape_text(whole), book_step_);
  }
  const std::size_t count = comparison.expected.values.size();
  for (std::size_t start = 0; start < step->result.values.size(); start += count) {
    comparison.difference =
        std::max(comparison.difference,
                 largest_difference(std::span<const double>(step->result.values).subspan(start, count),
                                    comparison.expected.values));
  }
  comparison.agrees = comparison.difference <= comparison.tolerance;
  if (!comparison.agrees) explain(comparison, report, *step);
  return comparison;
}

}  // namespace attn
