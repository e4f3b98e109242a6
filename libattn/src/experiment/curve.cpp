#include "curve.h"

#include <vector>

#include "attn/experiment/run_history.h"
#include "attn/io/atomic_file.h"
#include "attn/io/line_chart.h"

namespace attn {
namespace {

// The values of one key over the epochs that have it.
ChartSeries series_of(const std::vector<EpochMetrics>& epochs, const char* key, const char* name) {
  ChartSeries series{name};
  for (const EpochMetrics& epoch : epochs) {
    const auto value = epoch.find(key);
    if (value == epoch.end()) continue;
    series.x.push_back(epoch.find("epoch")->second);
    series.y.push_back(value->second);
  }
  series.markers = series.x.size() <= 30;
  return series;
}

}  // namespace

void write_learning_curve(const std::filesystem::path& metrics, const std::filesystem::path& svg,
                          const std::string& title) {
  const std::vector<EpochMetrics> epochs = read_metrics(metrics);
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
