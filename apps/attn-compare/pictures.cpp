#include "pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "attn/io/line_chart.h"

namespace attn::compare {
namespace {

struct Group {
  std::string backend;
  Pass pass = Pass::forward;
  std::int64_t batch = 1, layers = 1, width = 1;

  auto operator<=>(const Group&) const = default;
};

Group group_of(const std::string& backend, Pass pass, std::int64_t batch, const EncoderOptions& encoder) {
  return {backend, pass, batch, encoder.layers, encoder.width};
}

std::string name_of_file(const char* what, const Group& group, const ComplexityReport& report) {
  std::string name = fmt::format("{}-{}-{}-d{}", what, std::filesystem::path(group.backend).stem().string(),
                                 name_of(group.pass), group.width);
  std::set<std::int64_t> batches, layers;
  for (const ComplexityCell& cell : report.cells) {
    batches.insert(cell.batch);
    layers.insert(cell.encoder.layers);
  }
  if (batches.size() > 1) name += fmt::format("-batch{}", group.batch);
  if (layers.size() > 1) name += fmt::format("-layers{}", group.layers);
  return name;
}

std::string title_of(const char* what, const Group& group) {
  std::string title = fmt::format("{}, d = {}, {}", what, group.width,
                                  group.pass == Pass::forward ? "forward" : "forward + backward");
  if (group.batch > 1) title += fmt::format(", batch {}", group.batch);
  if (group.layers > 1) title += fmt::format(", {} layers", group.layers);
  return title + fmt::format(" ({})", std::filesystem::path(group.backend).stem().string());
}

double value_of(const ComplexityCell& cell, bool time) {
  if (time) return cell.timing ? cell.timing->representative : std::nan("");
  return cell.cost.flops;
}

std::string words_of(const EncoderOptions& options) {
  std::string words = label_of(options);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

void add_series(LineChart& chart, const ComplexityReport& report, const Group& group, bool time) {
  for (const ComplexityFit& fit : report.fits) {
    if (!fit.over_length || group_of(fit.backend, fit.pass, fit.batch, fit.encoder) != group) continue;
    ChartSeries series{.name = words_of(fit.encoder), .markers = true};
    for (const ComplexityCell& cell : report.cells) {
      if (group_of(cell.backend, cell.pass, cell.batch, cell.encoder) != group ||
          label_of(cell.encoder) != label_of(fit.encoder))
        continue;
      series.x.push_back(static_cast<double>(cell.length));
      series.y.push_back(value_of(cell, time));
    }
    const std::optional<PowerLaw>& law = time ? fit.seconds : fit.flops;
    if (law) series.name += fmt::format(": slope {:.2f}", law->exponent);
    chart.series.push_back(std::move(series));
  }
  const std::size_t measured = chart.series.size();
  std::size_t index = 0;
  for (const ComplexityFit& fit : report.fits) {
    if (!fit.over_length || group_of(fit.backend, fit.pass, fit.batch, fit.encoder) != group) continue;
    const std::optional<PowerLaw>& law = time ? fit.seconds : fit.flops;
    if (law && index < measured) {
      const std::vector<double>& x = chart.series[index].x;
      chart.series.push_back({.name = "",
                              .x = {law->first_x, x.back()},
                              .y = {law->at(law->first_x), law->at(x.back())},
                              .dashed = true,
                              .of = index});
    }
    ++index;
  }
}

// The value of a series at x, interpolated on logarithmic axes.
double interpolated(const ChartSeries& series, double x) {
  for (std::size_t i = 1; i < series.x.size(); ++i) {
    if (x < series.x[i - 1] || x > series.x[i]) continue;
    const double part = std::log(x / series.x[i - 1]) / std::log(series.x[i] / series.x[i - 1]);
    return series.y[i - 1] * std::pow(series.y[i] / series.y[i - 1], part);
  }
  return std::nan("");
}

void add_marks(LineChart& chart, const ComplexityReport& report, const Group& group, bool time) {
  for (const ComplexityCrossover& crossover : report.crossovers) {
    if (crossover.attention.kind != EncoderKind::self_attention ||
        group_of(crossover.backend, crossover.pass, crossover.batch, crossover.attention) != group)
      continue;
    if (time && (!crossover.by_time || crossover.by_time->kind != Crossing::Kind::at)) continue;
    const double x = time ? crossover.by_time->x : crossover.by_count;
    const auto own = std::find_if(chart.series.begin(), chart.series.end(), [&](const ChartSeries& series) {
      return series.name.rfind(words_of(crossover.attention), 0) == 0;
    });
    if (own == chart.series.end()) continue;
    chart.marks.push_back(
        {x, interpolated(*own, x), fmt::format("{} at n = {:.0f}", name_of(crossover.other.kind), x)});
  }
}

}  // namespace

std::vector<Picture> pictures_of(const ComplexityReport& report) {
  std::vector<Group> groups;
  for (const ComplexityFit& fit : report.fits) {
    const Group group = group_of(fit.backend, fit.pass, fit.batch, fit.encoder);
    if (fit.over_length && std::find(groups.begin(), groups.end(), group) == groups.end())
      groups.push_back(group);
  }
  std::vector<Picture> pictures;
  for (const Group& group : groups) {
    for (const bool time : {true, false}) {
      LineChart chart{.title = title_of(time ? "Measured time" : "Counted operations", group),
                      .x = {.label = "sequence length n", .logarithmic = true},
                      .y = {.label = time ? "seconds" : "floating-point operations", .logarithmic = true},
                      .series = {},
                      .width = 820,
                      .height = 620};
      add_series(chart, report, group, time);
      add_marks(chart, report, group, time);
      pictures.push_back({name_of_file(time ? "time" : "flops", group, report), to_svg(chart)});
    }
  }
  return pictures;
}

}  // namespace attn::compare
