#include <fmt/format.h>

#include <algorithm>

#include "attn/core/error.h"
#include "attn/core/sha256.h"
#include "attn/experiment/chapter_example.h"
#include "attn/figures/heat_map.h"
#include "attn/io/hdf5.h"

namespace attn {
namespace {

constexpr int format_version = 1;

std::string dataset_name(std::size_t index, const std::string& step) {
  std::string name = fmt::format("{:02}_{}", index + 1, step);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::string panel_title(const std::vector<std::int64_t>& outer, std::size_t panel) {
  if (outer.empty()) return {};
  const auto last = static_cast<std::size_t>(outer.back());
  return fmt::format("{} {}", outer.size() == 1 ? "sentence" : "head", panel % last + 1);
}

// Few rows or columns are counted one by one; a numeric axis would put ticks between them.
HeatMapAxis counted(std::size_t count, const std::string& title) {
  constexpr std::size_t most_labels = 20;
  HeatMapAxis axis{.count = count, .title = title, .first = 1};
  for (std::size_t i = 1; count <= most_labels && i <= count; ++i)
    axis.labels.push_back(fmt::format("{}", i));
  return axis;
}

}  // namespace

std::string example_heat_map(const std::string& title, const ExampleStep& step, PictureFormat format) {
  std::vector<std::int64_t> shape = step.result.shape;
  if (!step.is_weights || shape.size() < 2)
    fail(ExitCode::usage, "'{}' are no attention weights, so there is nothing to plot", step.name);
  // One query a sentence: a panel of its own would be a single line.
  const bool sentences_are_rows = shape.size() == 3 && shape[1] == 1;
  if (sentences_are_rows) shape = {shape[0], shape[2]};
  const auto columns = static_cast<std::size_t>(shape.back()),
             rows = static_cast<std::size_t>(shape[shape.size() - 2]);
  const std::vector<std::int64_t> outer(shape.begin(), shape.end() - 2);
  HeatMap map;
  map.title = title;
  map.rows = counted(rows, sentences_are_rows ? "sentence" : "query");
  map.columns = counted(columns, "key");
  map.colour_title = "attention weight";
  if (outer.size() == 2) {
    map.title += "; a line for each sentence";
    map.panels_per_line = static_cast<std::size_t>(outer.back());
  }
  const std::size_t size = rows * columns;
  const auto begin = [](const auto& values, std::size_t at) {
    return values.begin() + static_cast<std::ptrdiff_t>(at);
  };
  for (std::size_t at = 0; at < step.result.values.size(); at += size) {
    HeatMapPanel panel{.title = panel_title(outer, at / size), .values = {}};
    panel.values.assign(begin(step.result.values, at), begin(step.result.values, at + size));
    if (!step.masked.empty()) panel.masked.assign(begin(step.masked, at), begin(step.masked, at + size));
    map.panels.push_back(std::move(panel));
  }
  return render(map, format);
}

void save_example(const std::filesystem::path& path, const ChapterExample& example,
                  const ExampleReport& report, const std::string& command_line) {
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    hdf5::Header header{.format = "attn.example", .format_version = format_version};
    header.creator = "attn-dump";
    header.command_line = command_line;
    header.backend = example.backend().name;
    header.seed = example.seed();
    header.config_sha256 = sha256_hex(example.yaml());
    hdf5::write_header(file, header);
    file.set_attribute("example", example.kind());
    file.set_attribute("title", report.title);
    hdf5::Group steps = file.create_group("/step");
    for (std::size_t i = 0; i < report.steps.size(); ++i) {
      const ExampleStep& step = report.steps[i];
      hdf5::Dataset dataset = steps.write(dataset_name(i, step.name), step.result.values,
                                          {step.result.shape.begin(), step.result.shape.end()});
      dataset.describe(step.name, "1");
      dataset.set_attribute("formula", step.formula);
    }
    file.write_string("/meta/config_yaml", example.yaml());
  });
}

}  // namespace attn
