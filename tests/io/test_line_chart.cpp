#include <cmath>
#include <cstdlib>
#include <limits>

#include "attn/io/atomic_file.h"
#include "attn/io/line_chart.h"
#include "support/catch.h"
#include "support/error_of.h"

using attn::test::contains;
using attn::test::error_of;
using Ticks = std::vector<double>;

namespace {

attn::LineChart learning_curve() {
  attn::LineChart chart{.title = "quickstart: loss & BLEU <small-world>",
                        .x = {.label = "epoch"},
                        .y = {.label = "loss per target token in nats", .logarithmic = true},
                        .series = {{.name = "training"}, {.name = "validation"}, {.name = "book \"loss\""}}};
  for (int i = 1; i <= 300; ++i) {
    for (std::size_t s = 0; s < 3; ++s) {
      chart.series[s].x.push_back(i);
      chart.series[s].y.push_back(4.0 / static_cast<double>(s + 1) * std::exp(-i / 60.0) +
                                  0.02 * std::sin(i * 0.7) + 0.05);
    }
  }
  return chart;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("ticks are round numbers inside the range", "[chart]") {
  CHECK(attn::chart_ticks(0, 300, 6, false) == Ticks{0, 50, 100, 150, 200, 250, 300});
  CHECK(attn::chart_ticks(-1, 1, 4, false) == Ticks{-1, -0.5, 0, 0.5, 1});
  CHECK(attn::chart_ticks(3, 17, 3, false) == Ticks{5, 10, 15});
  CHECK(attn::chart_ticks(1, 1000, 4, true) == Ticks{1, 10, 100, 1000});
  CHECK(attn::chart_ticks(1, 12, 8, true) == Ticks{1, 2, 5, 10});
  CHECK(attn::chart_ticks(1, 1e12, 4, true).size() <= 6);
  CHECK(attn::chart_ticks(3, 4, 4, true).size() >= 2);
  CHECK(attn::chart_ticks(1, 1, 4, false).empty());
}

TEST_CASE("a chart is the same SVG every time, with its text escaped", "[chart]") {
  const std::string svg = attn::to_svg(learning_curve());
  CHECK(svg == attn::to_svg(learning_curve()));
  CHECK(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 440\"", 0) == 0);
  CHECK(contains(svg, ">quickstart: loss &amp; BLEU &lt;small-world&gt;</text>"));
  CHECK(contains(svg, ">book &quot;loss&quot;</text>"));
  CHECK(contains(svg, ">epoch</text>"));
  CHECK(contains(svg, "#0072B2"));
  CHECK(count(svg, "<path d=\"M") == 6);  // three lines and their samples in the legend
  CHECK(svg.substr(svg.size() - 7) == "</svg>\n");
}

TEST_CASE("points that cannot be drawn leave a gap", "[chart]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  attn::LineChart chart{.title = "gap",
                        .x = {},
                        .y = {},
                        .series = {{.name = "", .x = {1, 2, 3, 4, 5}, .y = {1, 2, nan, 4, 5}}}};
  const std::string svg = attn::to_svg(chart);
  const std::string path = svg.substr(svg.find("<path d="), 80);
  CHECK(count(path, "M") == 2);
  CHECK_FALSE(contains(svg, "nan"));
  chart.series[0].y = {nan, nan, 3, nan, nan};
  CHECK(count(attn::to_svg(chart), "<circle") == 1);
  chart.y.logarithmic = true;
  chart.series[0].y = {1, 10, 0, -5, 100};
  CHECK_FALSE(contains(attn::to_svg(chart), "inf"));
}

TEST_CASE("a fit has the colour of its series and no place in the legend; marks carry their text",
          "[chart]") {
  attn::LineChart chart{.title = "",
                        .x = {.label = "", .logarithmic = true},
                        .y = {.label = "", .logarithmic = true},
                        .series = {{.name = "first", .x = {1, 10}, .y = {1, 10}},
                                   {.name = "second", .x = {1, 10}, .y = {2, 200}},
                                   {.name = "fit", .x = {1, 10}, .y = {1, 11}, .dashed = true, .of = 0}},
                        .marks = {{3, 18, "n = 3"}, {-1, 5, "not drawn"}, {1000, 5, "outside"}}};
  const std::string svg = attn::to_svg(chart);
  CHECK(count(svg, "#0072B2") == 3);  // line, sample, fit
  CHECK(count(svg, "#D55E00") == 2);
  CHECK_FALSE(contains(svg, ">fit<"));
  CHECK(contains(svg, ">n = 3</text>"));
  CHECK_FALSE(contains(svg, "not drawn"));
  CHECK_FALSE(contains(svg, "outside"));
}

TEST_CASE("charts without data, or with one value, are drawn", "[chart]") {
  for (const bool logarithmic : {false, true}) {
    attn::LineChart chart{.title = "", .x = {}, .y = {.label = "", .logarithmic = logarithmic}, .series = {}};
    CHECK(contains(attn::to_svg(chart), "</svg>"));
    chart.series = {{.name = "one", .x = {3}, .y = {7}}};
    const std::string svg = attn::to_svg(chart);
    CHECK(count(svg, "<circle") == 1);
    CHECK_FALSE(contains(svg, "nan"));
  }
  attn::LineChart uneven{.title = "", .x = {}, .y = {}, .series = {{.name = "odd", .x = {1, 2}, .y = {1}}}};
  CHECK(error_of([&] { (void)attn::to_svg(uneven); }));
}

TEST_CASE("sample charts for the eye", "[.sample]") {
  const char* const folder = std::getenv("ATTN_SAMPLE_FOLDER");
  REQUIRE(folder != nullptr);
  attn::write_file_atomically(std::string(folder) + "/curve.svg", attn::to_svg(learning_curve()));
  attn::LineChart cost{.title = "Measured time of one layer",
                       .x = {.label = "sequence length n", .logarithmic = true},
                       .y = {.label = "seconds", .logarithmic = true},
                       .series = {}};
  for (const char* name : {"convolution, kernel size 3, width 512", "recurrent network (GRU), width 512",
                           "self-attention, 8 heads, width 512 猫吃鱼"}) {
    attn::ChartSeries series{.name = name, .markers = true};
    for (int i = 4; i <= 14; ++i) {
      series.x.push_back(std::pow(2, i));
      series.y.push_back(1e-6 * std::pow(2, i * (1 + 0.3 * static_cast<double>(cost.series.size()))));
    }
    cost.series.push_back(series);
  }
  attn::write_file_atomically(std::string(folder) + "/cost.svg", attn::to_svg(cost));
  attn::LineChart bleu{.title = "BLEU",
                       .x = {.label = "update"},
                       .y = {.label = "BLEU"},
                       .series = {{.name = "", .x = {0, 100000, 250000, 1234567}, .y = {0, 55, 80, 97}}}};
  attn::write_file_atomically(std::string(folder) + "/bleu.svg", attn::to_svg(bleu));
}

TEST_CASE("a series without a line is dots alone, also in the legend", "[chart]") {
  attn::LineChart chart{.title = "fit", .x = {}, .y = {}, .series = {{.name = "curve"}, {.name = "points"}}};
  chart.series[0].x = chart.series[0].y = {0, 1, 2};
  chart.series[1].x = {0, 1, 2};
  chart.series[1].y = {2, 0, 1};
  chart.series[1].line = false;
  const std::string svg = attn::to_svg(chart);
  CHECK(count(svg, "<circle") == 4);
  CHECK(count(svg, "<path d=\"M") == 2);
}
