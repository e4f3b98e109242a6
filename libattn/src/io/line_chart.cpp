#include "attn/io/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "attn/core/error.h"

namespace attn {
namespace {

// Okabe and Ito's palette without its yellow, which is too light for a line on white; black comes last.
constexpr std::array<const char*, 7> colours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                "#E69F00", "#56B4E9", "#000000"};
constexpr double font_size = 13;
constexpr double title_size = 16;
// Fonts differ between viewers; this is wide for most, so that nothing is clipped.
constexpr double character_width = 0.6;
constexpr double line_height = 20;
constexpr double sample_width = 26;
constexpr double gap = 10;

std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        // XML 1.0 has no other control characters.
        escaped += static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' ? '?' : c;
    }
  }
  return escaped;
}

/// Estimated width in pixels; East Asian characters are about twice as wide as Latin ones.
double text_width(std::string_view text, double size) {
  double units = 0;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x80 || (code >= 0xC0 && code < 0xE0)) units += 1;
    if (code >= 0xE0) units += 1.8;
  }
  return units * size * character_width;
}

std::string pixels(double value) {
  // Rounding first keeps "-0" out.
  return fmt::format("{:g}", std::round(value * 100) / 100 + 0.0);
}

std::string tick_text(double value, double step, bool logarithmic) {
  const double size = std::abs(value);
  if (value == 0) return "0";
  if (size >= 1e7 || size < 1e-4) {
    std::string text = fmt::format("{:.6g}", value);
    return text;
  }
  if (logarithmic) return fmt::format("{:.6g}", value);
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 8);
  return fmt::format("{:.{}f}", value, decimals);
}

/// Data range and its place on the page.
struct Scale {
  double minimum = 0;
  double maximum = 1;
  bool logarithmic = false;
  double begin = 0;  ///< pixel of the minimum
  double end = 1;    ///< pixel of the maximum
  std::vector<double> ticks = {};

  double transformed(double value) const { return logarithmic ? std::log10(value) : value; }
  double pixel(double value) const {
    const double part =
        (transformed(value) - transformed(minimum)) / (transformed(maximum) - transformed(minimum));
    return begin + part * (end - begin);
  }
  std::string text(double tick) const {
    return tick_text(tick, ticks.size() > 1 ? ticks[1] - ticks[0] : 1, logarithmic);
  }
};

bool usable(double value, bool logarithmic) {
  return std::isfinite(value) && (!logarithmic || value > 0);
}

Scale scale_of(const ChartAxis& axis, const std::vector<const std::vector<double>*>& columns,
               bool with_margin) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const auto* column : columns) {
    for (const double value : *column) {
      if (!usable(value, axis.logarithmic)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) {
    low = axis.logarithmic ? 1 : 0;
    high = axis.logarithmic ? 10 : 1;
  }
  Scale scale{.logarithmic = axis.logarithmic};
  if (low == high) {
    const double room = low == 0 ? 1 : std::abs(low) * 0.1;
    low = axis.logarithmic ? low / 2 : low - room;
    high = axis.logarithmic ? high * 2 : high + room;
  } else if (with_margin && axis.logarithmic) {
    const double room = std::pow(high / low, 0.04);
    low /= room;
    high *= room;
  } else if (with_margin) {
    const double room = (high - low) * 0.04;
    // A quantity that is never negative gets no negative axis.
    low = low >= 0 ? std::max(0.0, low - room) : low - room;
    high += room;
  }
  if (axis.minimum && usable(*axis.minimum, axis.logarithmic)) low = *axis.minimum;
  if (axis.maximum && usable(*axis.maximum, axis.logarithmic)) high = *axis.maximum;
  if (!(high > low)) high = axis.logarithmic ? low * 10 : low + 1;
  scale.minimum = low;
  scale.maximum = high;
  return scale;
}

class Drawing {
 public:
  explicit Drawing(const LineChart& chart) : chart_(chart) { place_scales(); }

  std::string svg() {
    text_ += fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"{2}\" fill=\"#222\">\n",
        chart_.width, chart_.height, pixels(font_size));
    text_ += fmt::format("<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
                         escape(chart_.title));
    write(title_x(), 26, "middle", chart_.title,
          fmt::format(R"( font-size="{}" font-weight="bold")", title_size));
    axes();
    lines();
    marks();
    legend();
    return text_ + "</svg>\n";
  }

 private:
  double title_x() const { return (x_.begin + x_.end) / 2; }

  void place_scales() {
    std::vector<const std::vector<double>*> xs;
    std::vector<const std::vector<double>*> ys;
    double legend_width = 0;
    for (const ChartSeries& series : chart_.series) {
      xs.push_back(&series.x);
      ys.push_back(&series.y);
      ys.push_back(&series.low);
      ys.push_back(&series.high);
      if (series.of) continue;
      ++legend_entries_;
      legend_width = std::max(legend_width, sample_width + gap + text_width(series.name, font_size));
    }
    has_legend_ = legend_entries_ > 1 || (chart_.series.size() == 1 && !chart_.series[0].name.empty());
    // Beside the lines where the names are short, else below, so that it never covers data.
    legend_right_ = has_legend_ && legend_width < chart_.width * 0.3;
    const double below =
        has_legend_ && !legend_right_ ? line_height * static_cast<double>(legend_entries_) : 0;
    x_ = scale_of(chart_.x, xs, false);
    y_ = scale_of(chart_.y, ys, true);
    y_.end = chart_.title.empty() ? 18 : 44;
    y_.begin = chart_.height - 32 - (chart_.x.label.empty() ? 0 : 22) - below;
    y_.ticks = chart_ticks(y_.minimum, y_.maximum, std::max(2, static_cast<int>((y_.begin - y_.end) / 55)),
                           y_.logarithmic);
    double widest = 0;
    for (const double tick : y_.ticks) widest = std::max(widest, text_width(y_.text(tick), font_size));
    x_.begin = 16 + widest + gap + (chart_.y.label.empty() ? 0 : 22);
    x_.end = chart_.width - 24 - (legend_right_ ? legend_width + gap : 0);
    x_.ticks = fitting_ticks();
  }

  /// As many ticks as have room beside one another.
  std::vector<double> fitting_ticks() {
    for (int wanted = std::max(2, static_cast<int>((x_.end - x_.begin) / 70)); wanted > 2; --wanted) {
      x_.ticks = chart_ticks(x_.minimum, x_.maximum, wanted, x_.logarithmic);
      double previous = -std::numeric_limits<double>::infinity();
      bool fits = true;
      for (const double tick : x_.ticks) {
        const double half = text_width(x_.text(tick), font_size) / 2;
        fits = fits && x_.pixel(tick) - half > previous + 6;
        previous = x_.pixel(tick) + half;
      }
      if (fits) return x_.ticks;
    }
    return chart_ticks(x_.minimum, x_.maximum, 2, x_.logarithmic);
  }

  void write(double x, double y, std::string_view anchor, std::string_view content,
             std::string_view more = "") {
    if (content.empty()) return;
    text_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", pixels(x), pixels(y),
                         anchor, more, escape(content));
  }

  void rule(double x1, double y1, double x2, double y2, std::string_view colour) {
    text_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"/>\n", pixels(x1),
                         pixels(y1), pixels(x2), pixels(y2), colour);
  }

  void axes() {
    for (const double tick : y_.ticks) {
      rule(x_.begin, y_.pixel(tick), x_.end, y_.pixel(tick), "#e4e4e4");
      write(x_.begin - 8, y_.pixel(tick) + font_size * 0.35, "end", y_.text(tick));
    }
    for (const double tick : x_.ticks) {
      rule(x_.pixel(tick), y_.begin, x_.pixel(tick), y_.begin + 5, "#222");
      write(x_.pixel(tick), y_.begin + 20, "middle", x_.text(tick));
    }
    rule(x_.begin, y_.begin, x_.end, y_.begin, "#222");
    rule(x_.begin, y_.begin, x_.begin, y_.end, "#222");
    write(title_x(), y_.begin + 42, "middle", chart_.x.label);
    const double middle = (y_.begin + y_.end) / 2;
    write(18, middle, "middle", chart_.y.label,
          fmt::format(R"svg( transform="rotate(-90 18 {})")svg", pixels(middle)));
  }

  const char* colour(std::size_t index) const {
    return colours[chart_.series[index].of.value_or(index) % colours.size()];
  }

  std::string stroke(std::size_t index) const {
    const bool dashed = chart_.series[index].dashed || index >= colours.size();
    return fmt::format(R"svg(fill="none" stroke="{}" stroke-width="2" stroke-linejoin="round"{})svg",
                       colour(index), dashed ? R"svg( stroke-dasharray="6 4")svg" : "");
  }

  void lines() {
    text_ += fmt::format(
        "<clipPath id=\"plot\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n"
        "<g clip-path=\"url(#plot)\">\n",
        pixels(x_.begin - 4), pixels(y_.end - 4), pixels(x_.end - x_.begin + 8),
        pixels(y_.begin - y_.end + 8));
    for (std::size_t i = 0; i < chart_.series.size(); ++i) band(i);
    for (std::size_t i = 0; i < chart_.series.size(); ++i) line(i);
    text_ += "</g>\n";
  }

  std::string dot(const std::string& x, const std::string& y, std::size_t index) const {
    return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\" fill=\"{}\"/>\n", x, y, colour(index));
  }

  void marks() {
    for (const ChartMark& mark : chart_.marks) {
      if (!usable(mark.x, x_.logarithmic) || !usable(mark.y, y_.logarithmic)) continue;
      const double x = x_.pixel(mark.x);
      const double y = y_.pixel(mark.y);
      if (x < x_.begin || x > x_.end || y > y_.begin || y < y_.end) continue;
      text_ += fmt::format(
          "<circle cx=\"{}\" cy=\"{}\" r=\"6\" fill=\"none\" stroke=\"#222\" stroke-width=\"1.5\"/>\n",
          pixels(x), pixels(y));
      // To the right below, where a rising line is not; to the left above, if there is no room.
      const bool fits = x + 8 + text_width(mark.text, font_size - 2) <= x_.end;
      write(fits ? x + 8 : x - 8, fits ? y + 15 : y - 8, fits ? "start" : "end", mark.text,
            fmt::format(R"( font-size="{}")", font_size - 2));
    }
  }

  void band(std::size_t index) {
    const ChartSeries& series = chart_.series[index];
    if (series.low.empty() && series.high.empty()) return;
    if (series.low.size() != series.x.size() || series.high.size() != series.x.size()) {
      fail(ExitCode::internal, "the band of '{}' has {} and {} values for {} points", series.name,
           series.low.size(), series.high.size(), series.x.size());
    }
    // Down to the edge of the picture where a logarithmic axis has no place for a value.
    const auto pixel = [&](double y) { return usable(y, y_.logarithmic) ? y_.pixel(y) : y_.begin; };
    std::string path, back;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!usable(series.x[i], x_.logarithmic) || !usable(series.high[i], y_.logarithmic)) continue;
      const std::string x = pixels(x_.pixel(series.x[i]));
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", x, pixels(pixel(series.high[i])));
      back.insert(0, fmt::format("L{} {}", x, pixels(pixel(series.low[i]))));
    }
    if (!path.empty())
      text_ +=
          fmt::format("<path d=\"{}{}Z\" fill=\"{}\" fill-opacity=\"0.15\"/>\n", path, back, colour(index));
  }

  void line(std::size_t index) {
    const ChartSeries& series = chart_.series[index];
    if (series.x.size() != series.y.size()) {
      fail(ExitCode::internal, "the line '{}' has {} x and {} y values", series.name, series.x.size(),
           series.y.size());
    }
    std::string path;
    std::string dots;
    bool pen_down = false;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const bool visible = usable(series.x[i], x_.logarithmic) && usable(series.y[i], y_.logarithmic);
      if (visible) {
        const std::string x = pixels(x_.pixel(series.x[i]));
        const std::string y = pixels(y_.pixel(series.y[i]));
        path += fmt::format("{}{} {}", pen_down ? "L" : "M", x, y);
        // A point between two gaps would be an invisible line.
        const bool alone =
            !pen_down && (i + 1 == series.x.size() || !usable(series.y[i + 1], y_.logarithmic));
        if (series.markers || alone || !series.line) {
          dots += dot(x, y, index);
        }
      }
      pen_down = visible;
    }
    if (!path.empty() && series.line) text_ += fmt::format("<path d=\"{}\" {}/>\n", path, stroke(index));
    text_ += dots;
  }

  void legend() {
    if (!has_legend_) return;
    const double x = legend_right_ ? x_.end + 16 : x_.begin;
    double y = legend_right_ ? y_.end + 8 : y_.begin + 32 + (chart_.x.label.empty() ? 8 : 28);
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      if (chart_.series[i].of) continue;
      if (chart_.series[i].line) {
        text_ += fmt::format("<path d=\"M{} {}h{}\" {}/>\n", pixels(x), pixels(y), pixels(sample_width),
                             stroke(i));
      } else {
        text_ += dot(pixels(x + sample_width / 2), pixels(y), i);
      }
      write(x + sample_width + 6, y + font_size * 0.35, "start", chart_.series[i].name);
      y += line_height;
    }
  }

  const LineChart& chart_;
  Scale x_;
  Scale y_;
  std::size_t legend_entries_ = 0;
  bool has_legend_ = false;
  bool legend_right_ = false;
  std::string text_;
};

std::vector<double> linear_ticks(double minimum, double maximum, int wanted) {
  const double rough = (maximum - minimum) / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  }
  std::vector<double> ticks;
  const double first = std::ceil(minimum / step - 1e-9);
  const double last = std::floor(maximum / step + 1e-9);
  const auto count = static_cast<std::size_t>(std::max(0.0, last - first + 1));
  for (std::size_t i = 0; i < count; ++i) ticks.push_back((first + static_cast<double>(i)) * step);
  return ticks;
}

std::vector<double> logarithmic_ticks(double minimum, double maximum, int wanted) {
  const auto first = static_cast<int>(std::floor(std::log10(minimum) + 1e-9));
  const auto last = static_cast<int>(std::ceil(std::log10(maximum) - 1e-9));
  const int stride = std::max(1, (last - first) / std::max(1, wanted));
  const bool between = (last - first) * 3 <= wanted;
  std::vector<double> ticks;
  for (int exponent = first; exponent <= last; exponent += stride) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      // Powers of ten read from text are exact where pow() may not be.
      const double value = factor * (exponent >= 0 ? std::pow(10, exponent) : 1 / std::pow(10, -exponent));
      const bool inside = value >= minimum * (1 - 1e-9) && value <= maximum * (1 + 1e-9);
      if (inside && (factor == 1.0 || between)) ticks.push_back(value);
    }
  }
  return ticks;
}

}  // namespace

std::vector<double> chart_ticks(double minimum, double maximum, int wanted, bool logarithmic) {
  if (!(maximum > minimum) || wanted < 1) return {};
  if (!logarithmic) return linear_ticks(minimum, maximum, wanted);
  if (minimum <= 0) return {};
  std::vector<double> ticks = logarithmic_ticks(minimum, maximum, wanted);
  // Less than a decade: round steps say more than one power of ten.
  return ticks.size() >= 2 ? ticks : linear_ticks(minimum, maximum, wanted);
}

std::string to_svg(const LineChart& chart) {
  return Drawing(chart).svg();
}

}  // namespace attn
