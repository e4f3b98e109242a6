#include "attn/inspection/positions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "attn/cli/main.h"
#include "attn/core/error.h"
#include "attn/figures/heat_map.h"
#include "attn/io/atomic_file.h"
#include "attn/io/line_chart.h"
#include "commands.h"
#include "model_options.h"

namespace attn::dump {
namespace {

constexpr std::int64_t longest = 1'000'000;  // so that a slip of the finger does not fill the memory

struct Options {
  ModelOptions model;
  std::int64_t length = 60, width = 32, shifts = 64;
  double base = 10000.0;
  std::string side = "encoder", precision = "f32", output, plot, format = "svg";
  std::vector<std::int64_t> columns{6, 7, 8, 9};
  bool similarity = false;
};

PositionTable learned_table(const Options& options) {
  const TranslationSystem system = load(options.model);
  const std::string path = options.side + ".embedding.positions";
  const ParameterHandle parameter = system.model->parameters().find(path);
  if (parameter == nullptr) {
    fail(ExitCode::usage,
         "{} has no learned positions ({}); for sinusoidal ones leave out --model and give --width {}",
         options.model.model, path, system.config.hidden_size);
  }
  PositionTable table{"learned", parameter->shape[0], parameter->shape[1]};
  table.encoding = parameter->tensor.to_vector<double>();
  table.checkpoint_sha256 = system.checkpoint_sha256;
  return table;
}

PositionTable make_table(const Options& options) {
  PositionTable table;
  if (options.model.model.empty()) {
    table = sinusoidal_table(options.length, options.width, options.base);
    if (options.width >= 2) table.shifts = options.shifts;
  } else {
    table = learned_table(options);
  }
  table.dtype = options.precision == "f64" ? DType::f64 : DType::f32;
  table.similarity = options.similarity;
  return table;
}

std::string column_chart(const PositionTable& table, const std::vector<std::int64_t>& columns) {
  LineChart chart;
  chart.title = fmt::format("{} positional encoding, width {}", table.type, table.width);
  chart.x.label = "row (position)";
  for (const std::int64_t column : columns) {
    ChartSeries series{fmt::format("column {}", column)};
    for (std::int64_t position = 0; position < table.count; ++position) {
      series.x.push_back(static_cast<double>(position));
      series.y.push_back(table.encoding[static_cast<std::size_t>(position * table.width + column)]);
    }
    chart.series.push_back(std::move(series));
  }
  return to_svg(chart);
}

HeatMap heat_map(const PositionTable& table) {
  double largest = 1.0;
  if (table.type != "sinusoidal") {
    largest = 0.0;
    for (const double value : table.encoding) largest = std::max(largest, std::abs(value));
    if (largest == 0.0) largest = 1.0;
  }
  return {.title = fmt::format("{} positional encoding", table.type),
          .rows = {.count = static_cast<std::size_t>(table.count), .title = "row (position)"},
          .columns = {.count = static_cast<std::size_t>(table.width), .title = "column (encoding dimension)"},
          .panels = {{.values = table.encoding}},
          .minimum = -largest,
          .maximum = largest,
          .palette = Palette::blue_red};
}

void draw(const Options& options, const PositionTable& table, const Session& session) {
  const PictureFormat format = picture_format(options.format);
  const auto write = [&](const char* what, const std::string& picture) {
    const std::string name = fmt::format("{}-{}.{}", options.plot, what, options.format);
    write_file_atomically(name, picture);
    session.messages.info("wrote {}", name);
  };
  write("columns", convert_svg(column_chart(table, options.columns), format));
  write("heat-map", render(heat_map(table), format));
}

// Columns that a narrow table does not have are a mistake only if they were asked for.
void check_columns(Options& options, const PositionTable& table, bool asked) {
  std::erase_if(options.columns, [&](std::int64_t column) { return !asked && column >= table.width; });
  if (options.columns.empty()) options.columns = {0};
  for (const std::int64_t column : options.columns) {
    if (column < table.width) continue;
    fail(ExitCode::usage, "--columns: there is no column {}; the encoding has columns 0 to {}", column,
         table.width - 1);
  }
}

int run(Options options, const CLI::App& parser, const Session& session) {
  if (options.output.empty() && options.plot.empty())
    fail(ExitCode::usage, "nothing to write; give --output FILE, --plot NAME, or both");
  if (!options.model.model.empty()) {
    for (const char* name : {"--length", "--width", "--base", "--shifts"}) {
      if (parser.count(name) > 0)
        fail(ExitCode::usage, "{} is for sinusoidal positions; learned ones are as the model has them", name);
    }
  }
  const PositionTable table = make_table(options);
  check_columns(options, table, parser.count("--columns") > 0);
  if (!options.output.empty()) {
    const double error = write_positions(options.output, table, session.command_line);
    session.messages.info("wrote {}: {} {} positions of width {}", options.output, table.count, table.type,
                          table.width);
    if (table.shifts > 0) {
      session.messages.info(
          "a rotation moves every position by 1 to {} with an error of at most {:.2g} in {}", table.shifts,
          error, options.precision);
    }
  }
  if (!options.plot.empty()) draw(options, table, session);
  return static_cast<int>(ExitCode::ok);
}

void declare(CLI::App& parser, Options& options) {
  parser.add_option("--length", options.length, "Positions, from 0 on (default 60)")
      ->check(CLI::Range(std::int64_t{1}, longest))
      ->type_name("N");
  parser.add_option("--width", options.width, "Columns, even or odd (default 32)")
      ->check(CLI::Range(std::int64_t{1}, longest))
      ->type_name("N");
  parser.add_option("--base", options.base, "Of the wavelengths, 2 pi base^(2j / width) (default 10000)")
      ->check(CLI::PositiveNumber)
      ->type_name("X");
  parser
      .add_option(
          "--shifts", options.shifts,
          "Write the rotations that move positions by 1 to N, with their errors (default 64; 0: none)")
      ->check(CLI::Range(0, 100000))
      ->type_name("N");
  parser.add_option("--model", options.model.model, "Learned positions of this model instead")
      ->type_name("MODEL");
  parser.add_option("--side", options.side, "Of --model: encoder (default) or decoder")
      ->check(CLI::IsMember({"encoder", "decoder"}))
      ->type_name("SIDE");
  parser.add_option("--backend", options.model.backend, "Of --model: backend that loads it (default eigen)")
      ->type_name("NAME|PATH");
  parser.add_option("--precision", options.precision, "Of the stored encoding: f32 (default) or f64")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->type_name("TYPE");
  parser.add_flag("--similarity", options.similarity, "Also write the cosines between all positions");
  parser.add_option("-o,--output", options.output, "HDF5 file, complete or not at all")->type_name("FILE");
  parser
      .add_option("--plot", options.plot,
                  "Draw NAME-columns and NAME-heat-map: some columns as lines, and the whole table")
      ->type_name("NAME");
  parser.add_option("--columns", options.columns, "Of --plot: which columns are lines (default 6,7,8,9)")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->type_name("N,...");
  parser.add_option("--format", options.format, "Of --plot: svg (default), png or pdf")
      ->check(CLI::IsMember(picture_format_names()))
      ->type_name("FORMAT");
}

}  // namespace

Command add_positions(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* parser = app.add_subcommand("positions", "Write and draw positional encodings");
  cli::set_examples(
      *parser,
      {{"attn-dump positions --plot positions", "the two figures of Dive into Deep Learning"},
       {"attn-dump positions --length 1000 --width 512 --similarity --output positions.h5",
        "sinusoidal encodings with wavelengths, rotations and cosines"},
       {"attn-dump positions --model runs/learned --output learned.h5", "those of a trained model"}});
  declare(*parser, *options);
  return {parser, [options, parser](const Session& session) { return run(*options, *parser, session); }};
}

}  // namespace attn::dump
