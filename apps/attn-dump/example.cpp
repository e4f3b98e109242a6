#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attn/cli/main.h"
#include "attn/cli/output.h"
#include "attn/core/error.h"
#include "attn/experiment/chapter_example.h"
#include "attn/io/atomic_file.h"
#include "attn/io/did_you_mean.h"
#include "commands.h"

namespace attn::dump {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string source, backend, plot, output;
  std::vector<std::string> sets;
  std::optional<std::int64_t> seed;
  bool list = false, json = false, all = false, config = false;
};

constexpr std::size_t most_shown = 80, most_operands_shown = 24, rows_shown = 3, columns_shown = 6;

// ---- numbers as text

/// Whole numbers as such, others with four decimals, all equally wide.
std::vector<std::string> aligned(const std::vector<double>& values) {
  const bool whole = std::all_of(values.begin(), values.end(),
                                 [](double v) { return v == std::floor(v) && std::abs(v) < 1e9; });
  std::vector<std::string> texts;
  std::size_t width = 0;
  for (const double value : values) {
    texts.push_back(whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4f}", value));
    width = std::max(width, texts.back().size());
  }
  for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
  return texts;
}

/// The rows of an array, matrices apart; of many numbers only the first.
std::string rows_text(const ExampleValues& values, std::size_t most) {
  if (values.shape.empty()) return fmt::format("   {:.4f}\n", values.values.front());
  const std::vector<std::string> texts = aligned(values.values);
  const bool whole = texts.size() <= most;
  const auto columns = static_cast<std::size_t>(values.shape.back());
  const std::size_t rows =
      values.shape.size() > 1 ? static_cast<std::size_t>(values.shape[values.shape.size() - 2]) : 1;
  std::string text;
  for (std::size_t row = 0; row * columns < texts.size(); ++row) {
    if (!whole && row >= std::min(rows, rows_shown)) {
      text += "   ...\n";
      break;
    }
    if (row > 0 && row % rows == 0) text += "\n";
    text += "  ";
    const std::size_t shown = whole ? columns : std::min(columns, columns_shown);
    for (std::size_t column = 0; column < shown; ++column) text += " " + texts[row * columns + column];
    text += shown < columns ? " ...\n" : "\n";
  }
  return text;
}

std::string shape_text(const ExampleValues& values) {
  return values.shape.empty() ? "one number" : fmt::format("({})", fmt::join(values.shape, ", "));
}

std::string comparison_text(const ExampleComparison& comparison) {
  if (comparison.agrees && comparison.expected.values.empty()) {
    return fmt::format("Check: the step '{}' has the shape of {}, {}.\n", comparison.step, comparison.source,
                       shape_text(comparison.expected));
  }
  if (comparison.agrees) {
    return fmt::format("Check: the step '{}' agrees with {} (largest difference {:.2g}).\n", comparison.step,
                       comparison.source, comparison.difference);
  }
  std::string text =
      fmt::format("Check: the step '{}' differs from {}:\n", comparison.step, comparison.source);
  for (const std::string& remark : comparison.remarks) text += fmt::format("   {}\n", remark);
  return text;
}

std::string text_report(const ExampleReport& report, bool all) {
  std::string text = report.title + "\n\n";
  for (const ExampleStep& step : report.steps) {
    const bool given = step.formula.empty();
    const std::size_t most = all ? step.result.values.size() : given ? most_operands_shown : most_shown;
    text += fmt::format("{} {}{}\n{}", step.name, shape_text(step.result), given ? "" : " = " + step.formula,
                        rows_text(step.result, most));
    for (const std::string& line : step.arithmetic) text += fmt::format("      {}\n", line);
    text += "\n";
  }
  if (report.comparison) text += comparison_text(*report.comparison);
  return text;
}

// ---- JSON

// Nested lists, as the configuration has them.
Json nested(const ExampleValues& values, std::size_t axis, std::size_t& next) {
  if (axis == values.shape.size()) return values.values[next++];
  Json list = Json::array();
  for (std::int64_t i = 0; i < values.shape[axis]; ++i) list.push_back(nested(values, axis + 1, next));
  return list;
}
Json nested(const ExampleValues& values) {
  std::size_t next = 0;
  return nested(values, 0, next);
}

std::string json_report(const ExampleReport& report) {
  Json json{{"title", report.title}, {"steps", Json::array()}};
  for (const ExampleStep& step : report.steps) {
    json["steps"].push_back({{"name", step.name},
                             {"formula", step.formula},
                             {"shape", step.result.shape},
                             {"values", nested(step.result)}});
  }
  if (report.comparison) {
    const ExampleComparison& comparison = *report.comparison;
    json["comparison"] = {
        {"step", comparison.step},
        {"source", comparison.source},
        {"expected_shape", comparison.expected.shape},
        {"expected", comparison.expected.values.empty() ? Json() : nested(comparison.expected)},
        {"tolerance", comparison.tolerance},
        {"difference", comparison.difference},
        {"agrees", comparison.agrees},
        {"remarks", comparison.remarks}};
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// ---- the command

/// A YAML file where the name has a '/' or ends like one, otherwise one of those that are built in.
yaml::Document document_of(const std::string& source) {
  if (source.find('/') != std::string::npos || source.ends_with(".yaml") || source.ends_with(".yml"))
    return yaml::load(source);
  std::vector<std::string> names;
  for (const BuiltInExample& example : built_in_examples()) {
    if (example.name == source) return yaml::parse(example.yaml, "configs/d2l/" + source + ".yaml");
    names.emplace_back(example.name);
  }
  fail(ExitCode::usage, "there is no example '{}'{}; --list shows all, and a file is named with its '.yaml'",
       source, did_you_mean(source, names));
}

std::vector<config::Override> overrides_of(const Options& options) {
  std::vector<config::Override> overrides;
  for (const std::string& assignment : options.sets) overrides.push_back(config::parse_set(assignment));
  if (!options.backend.empty())
    overrides.push_back(config::parse_flag("--backend", "backend.name", yaml::quote(options.backend)));
  if (options.seed) overrides.push_back(config::parse_flag("--seed", "seed", std::to_string(*options.seed)));
  return overrides;
}

std::string list_text(bool json) {
  Json entries = Json::array();
  std::string text;
  for (const BuiltInExample& example : built_in_examples()) {
    const yaml::Document document = yaml::parse(example.yaml, std::string(example.name));
    const yaml::Node* title = document.root.find("title");
    entries.push_back({{"name", example.name}, {"title", title != nullptr ? title->text : ""}});
    text += fmt::format("{:<30}{}\n", example.name, title != nullptr ? title->text : "");
  }
  return json ? entries.dump() + "\n" : text;
}

// The weights to draw: the first step that has some.
std::string picture_of(const ExampleReport& report, PictureFormat format) {
  const auto step = std::find_if(report.steps.begin(), report.steps.end(),
                                 [](const ExampleStep& each) { return each.is_weights; });
  if (step == report.steps.end())
    fail(ExitCode::usage, "--plot draws attention weights, and '{}' has none", report.title);
  return example_heat_map(report.title, *step, format);
}

int run(const Options& options, const Session& session) {
  cli::StandardOutput out;
  if (options.list) {
    out.write(list_text(options.json));
    out.finish();
    return static_cast<int>(ExitCode::ok);
  }
  const std::string source = options.source.empty() ? "worked-self-attention" : options.source;
  const PictureFormat format =
      options.plot.empty() ? PictureFormat::svg : picture_format_of_file(options.plot);
  const std::vector<yaml::Document> documents{document_of(source)};
  const ChapterExample example(documents, overrides_of(options));
  if (options.config) {
    out.write(example.yaml());
    out.finish();
    return static_cast<int>(ExitCode::ok);
  }
  const ExampleReport report = example.run();
  if (!options.plot.empty()) write_file_atomically(options.plot, picture_of(report, format));
  if (!options.output.empty()) save_example(options.output, example, report, session.command_line);
  out.write(options.json ? json_report(report) : text_report(report, options.all));
  out.finish();
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command add_example(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* parser =
      app.add_subcommand("example", "Compute a small example of the attention chapters step by step");
  cli::set_examples(
      *parser, {{"attn-dump example", "self-attention of two queries, every number written out"},
                {"attn-dump example --list", "what there is"},
                {"attn-dump example worked-self-attention --set 'queries=[[1, 2], [2, 1]]'",
                 "the same with another number"},
                {"attn-dump example additive-attention --plot weights.svg", "with a heat-map of the weights"},
                {"attn-dump example self-attention --dump-config > mine.yaml", "a file to change and run"}});
  parser->add_option("NAME|CONFIG", options->source,
                     "A name from --list, or a YAML file; default: worked-self-attention");
  parser->add_option("--set", options->sets, "Override a key, as --set 'valid_lengths=[1, 5]'")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser->add_option("--seed", options->seed, "Seed of random numbers and parameters (key seed)");
  parser->add_option("--backend", options->backend, "Backend: a name or a plugin file (key backend.name)");
  parser->add_option("--plot", options->plot,
                     "Draw the attention weights: a file ending in .svg, .png or .pdf");
  parser->add_option("-o,--output", options->output, "Write every step to this HDF5 file");
  parser->add_flag("--all", options->all, "Print every number of large results too");
  parser->add_flag("--list", options->list, "Print the examples that are built in");
  parser->add_flag("--dump-config", options->config, "Print the configuration with all its keys, and end");
  parser->add_flag("--json", options->json, "Print the result as JSON");
  return {parser, [options](const Session& session) { return run(*options, session); }};
}

}  // namespace attn::dump
