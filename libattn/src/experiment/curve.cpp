#include "curve.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "attn/io/atomic_file.h"
#include "attn/io/line_chart.h"

namespace attn {
namespace {

using Json = nlohmann::json;

// The values of one key over the epochs that have it.
ChartSeries series_of(const std::vector<Json>& epochs, const char* key, const char* name) {
  ChartSeries series{name};
  for (const Json& epoch : epochs) {
    if (!epoch.contains(key) || !epoch[key].is_number()) continue;
    series.x.push_back(epoch["epoch"].get<double>());
    series.y.push_back(epoch[key].get<double>());
  }
  series.markers = series.x.size() <= 30;
  return series;
}

std::vector<Json> read_epochs(const std::filesystem::path& metrics) {
  std::vector<Json> epochs;
  std::istringstream lines(read_file(metrics));
  for (std::string line; std::getline(lines, line);) {
    Json entry = Json::parse(line, nullptr, false);
    if (entry.is_object() && entry.contains("epoch")) epochs.push_back(std::move(entry));
  }
  return epochs;
}

}  // namespace

void write_learning_curve(const std::filesystem::path& metrics, const std::filesystem::path& svg,
                          const std::string& title) {
  const std::vector<Json> epochs = read_epochs(metrics);
  if (epochs.size() < 2) return;
  LineChart chart;
  chart.title = title + ": loss";
  chart.x.label = "epoch";
  chart.y.label = "nats per target token";
  chart.y.logarithmic = true;
  chart.series.push_back(series_of(epochs, "loss", "training"));
  if (ChartSeries valid = series_of(epochs, "valid_loss", "validation"); !valid.x.empty())
    chart.series.push_back(std::move(valid));
  write_file_atomically(svg, to_svg(chart));
}

}  // namespace attn
