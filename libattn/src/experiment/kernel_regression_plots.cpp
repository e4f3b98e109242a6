#include "kernel_regression_plots.h"

#include <algorithm>

#include "attn/figures/heat_map.h"
#include "attn/io/line_chart.h"

namespace attn {

std::string regression_plot(const std::string& title, const RegressionResult& result) {
  const RegressionPoints& points = result.points;
  LineChart chart{.title = title, .x = {.label = "x"}, .y = {.label = "y"}, .series = {}};
  chart.series.push_back({.name = "truth", .x = points.x_test, .y = points.truth});
  for (const RegressionCurve& curve : result.curves) {
    chart.series.push_back(
        {.name = curve.name(), .x = points.x_test, .y = curve.predictions, .dashed = true});
  }
  chart.series.push_back(
      {.name = "training points", .x = points.x_train, .y = points.y_train, .line = false});
  return to_svg(chart);
}

std::string regression_heat_map(const RegressionResult& result, PictureFormat format) {
  const RegressionPoints& points = result.points;
  HeatMap map;
  map.rows = {.count = points.x_test.size(), .title = "test point (query), sorted", .first = 1};
  map.columns = {.count = points.x_train.size(), .title = "training point (key), sorted", .first = 1};
  map.maximum = 0;
  map.colour_title = "attention weight";
  for (const RegressionCurve& curve : result.curves) {
    map.panels.push_back({.title = curve.name(), .values = curve.weights});
    map.maximum = std::max(map.maximum, *std::max_element(curve.weights.begin(), curve.weights.end()));
  }
  if (map.maximum == 0) map.maximum = 1;  // no kernel reaches any point
  return render(map, format);
}

std::string regression_learning_curve(const std::string& title, const RegressionResult& result) {
  LineChart chart{.title = title + ": leave-one-out loss",
                  .x = {.label = "epoch"},
                  .y = {.label = "half the sum of squared errors"},
                  .series = {}};
  ChartSeries loss{.name = "", .markers = true};
  for (std::size_t i = 0; i < result.epochs.size(); ++i) {
    loss.x.push_back(static_cast<double>(i + 1));
    loss.y.push_back(result.epochs[i].loss);
  }
  chart.series.push_back(std::move(loss));
  return to_svg(chart);
}

}  // namespace attn
