#pragma once
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// One line of a chart. Points that are not finite, or not positive on a logarithmic axis, leave a gap.
struct ChartSeries {
  std::string name;
  std::vector<double> x = {};
  std::vector<double> y = {};  ///< as many as x
  bool dashed = false;
  bool markers = false;  ///< a dot at every point, for few points
  bool line = true;      ///< false: dots alone, for observations
  /// Index of a series of the chart that this one belongs to, as its fit: drawn in the same colour and not in
  /// the legend.
  std::optional<std::size_t> of = {};
  /// A shaded band around the line, as many values as x, or none: standard deviations, for instance.
  std::vector<double> low = {}, high = {};
};

/// A ring around a point, with a text beside it.
struct ChartMark {
  double x = 0;
  double y = 0;
  std::string text;
};

struct ChartAxis {
  std::string label;
  bool logarithmic = false;
  std::optional<double> minimum = {};  ///< default: from the data
  std::optional<double> maximum = {};
};

/// A line chart, for learning curves and the like.
struct LineChart {
  std::string title;
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartSeries> series;
  std::vector<ChartMark> marks = {};
  int width = 760;  ///< of the viewBox, in pixels at 100 %
  int height = 440;
};

/// Round tick values that lie within [minimum, maximum], about `wanted` of them: steps of 1, 2 or 5 times a
/// power of ten; on a logarithmic axis powers of ten, with 2 and 5 between them where there is room.
std::vector<double> chart_ticks(double minimum, double maximum, int wanted, bool logarithmic);

/// The chart as an SVG document: colours that people with colour blindness can tell apart (Okabe and Ito
/// 2008), a white background, text as text. The same chart gives the same bytes. Throws Error
/// (ExitCode::internal) when a series has more x than y or the other way round, or a band of another length.
std::string to_svg(const LineChart& chart);

}  // namespace attn
