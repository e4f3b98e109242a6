#include "attn/experiment/learning_curves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "attn/core/error.h"

namespace attn {
namespace {

constexpr std::size_t most_points_with_dots = 30;
constexpr int usual_height = 440;
constexpr int line_height = 20;            // of a legend
constexpr std::size_t longest_label = 70;  // bytes that fit below a chart

std::string unit_of(const std::string& metric) {
  if (metric == "loss" || metric == "valid_loss") return "nats per target token";
  return metric;
}

std::string label_of(const RunComparison& comparison, const ComparedRow& row) {
  std::string label;
  for (std::size_t i = 0; i < comparison.keys.size(); ++i) {
    const std::string& key = comparison.keys[i];
    label += fmt::format("{}{}={}", label.empty() ? "" : ", ", key.substr(key.rfind('.') + 1), row.keys[i]);
  }
  // Runs that have little in common are told apart by their names.
  if (label.empty() || label.size() > longest_label) label = row.name;
  if (row.members.size() > 1) label += fmt::format(" (n = {})", row.members.size());
  return label;
}

ChartSeries series_of(const ComparedRow& row, std::span<const RunHistory> runs, const std::string& metric) {
  std::map<double, std::vector<double>> by_epoch;
  for (const std::size_t member : row.members) {
    for (const EpochMetrics& epoch : runs[member].epochs) {
      if (const auto found = epoch.find(metric); found != epoch.end())
        by_epoch[epoch.find("epoch")->second].push_back(found->second);
    }
  }
  ChartSeries series;
  for (const auto& [epoch, values] : by_epoch) {
    const Statistic statistic = statistic_of(values);
    series.x.push_back(epoch);
    series.y.push_back(statistic.mean);
    if (row.members.size() < 2) continue;
    series.low.push_back(statistic.mean - statistic.deviation.value_or(0.0));
    series.high.push_back(statistic.mean + statistic.deviation.value_or(0.0));
  }
  series.markers = series.x.size() <= most_points_with_dots;
  return series;
}

}  // namespace

std::string usual_curve(std::span<const RunHistory> runs) {
  for (const RunHistory& run : runs) {
    const auto key = run.keys.find("validation.metric");
    const std::string metric = key == run.keys.end() ? "" : "valid_" + key->second;
    if (std::any_of(run.epochs.begin(), run.epochs.end(),
                    [&](const EpochMetrics& epoch) { return epoch.count(metric) > 0; }))
      return metric;
  }
  return "loss";
}

LineChart learning_curves(const RunComparison& comparison, std::span<const RunHistory> runs,
                          const std::string& metric) {
  LineChart chart;
  chart.title = metric;
  chart.x.label = "epoch";
  chart.y.label = unit_of(metric);
  chart.y.logarithmic = metric.ends_with("loss") || metric.ends_with("perplexity");
  for (const ComparedRow& row : comparison.rows) {
    ChartSeries series = series_of(row, runs, metric);
    if (series.x.empty()) continue;
    series.name = label_of(comparison, row);
    chart.series.push_back(std::move(series));
  }
  if (chart.series.empty()) {
    std::set<std::string> there;
    for (const RunHistory& run : runs) {
      for (const EpochMetrics& epoch : run.epochs) {
        for (const auto& [name, value] : epoch) there.insert(name);
      }
    }
    fail(ExitCode::usage, "--metric: no run has '{}' in its metrics.jsonl; there are: {}", metric,
         there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", ")));
  }
  // Room for a long legend, beside the lines or below them.
  chart.height = usual_height + line_height * static_cast<int>(chart.series.size());
  return chart;
}

}  // namespace attn
