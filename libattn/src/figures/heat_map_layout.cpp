#include "figures/heat_map_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn::figures {
namespace {

constexpr double margin = 12;
constexpr double panel_gap = 14;
constexpr double largest_text_cell = 20, smallest_text_cell = 3, text_panel = 640;
constexpr double largest_number_cell = 18, number_panel = 360;
constexpr double shortest_bar = 120, longest_bar = 420;

double text_cell(std::size_t count) {
  return std::clamp(std::floor(text_panel / static_cast<double>(count)), smallest_text_cell,
                    largest_text_cell);
}

std::vector<Tick> text_ticks(const HeatMapAxis& axis, double cell) {
  std::vector<Tick> ticks;
  const auto stride = static_cast<std::size_t>(std::max(1.0, std::ceil((label_size + 1) / cell)));
  for (std::size_t i = 0; i < axis.count; i += stride) {
    ticks.push_back({static_cast<double>(i) + 0.5, visible_text(axis.labels[i])});
  }
  return ticks;
}

std::vector<Tick> number_ticks(const HeatMapAxis& axis) {
  const double last = axis.first + axis.step * static_cast<double>(axis.count - 1);
  std::vector<Tick> ticks;
  for (const double number : round_numbers(std::min(axis.first, last), std::max(axis.first, last), 6)) {
    ticks.push_back({(number - axis.first) / axis.step + 0.5, number_text(number)});
  }
  if (ticks.empty()) ticks.push_back({0.5, number_text(axis.first)});
  return ticks;
}

AxisLayout lay_out_axis(const HeatMapAxis& axis, const Typesetter& typesetter) {
  AxisLayout layout;
  layout.numeric = axis.labels.empty();
  const auto count = static_cast<double>(axis.count);
  if (layout.numeric) {
    layout.cell = std::min(largest_number_cell, number_panel / count);
    // Whole units, where there are any, keep the edges of the cells sharp.
    if (layout.cell > 2) layout.cell = std::floor(layout.cell);
    layout.ticks = number_ticks(axis);
  } else {
    layout.cell = text_cell(axis.count);
    layout.ticks = text_ticks(axis, layout.cell);
  }
  layout.extent = layout.cell * count;
  for (const Tick& tick : layout.ticks) {
    layout.label_extent =
        std::max(layout.label_extent, typesetter.measure(tick.text, label_size, label_limit).width);
  }
  return layout;
}

/// Cells of an axis with texts on both sides are square.
void make_square(HeatMapLayout& layout, const HeatMap& map, const Typesetter& typesetter) {
  if (layout.rows.numeric || layout.columns.numeric) return;
  const double cell = std::min(layout.rows.cell, layout.columns.cell);
  for (auto [axis, texts] : {std::pair(&layout.rows, &map.rows), std::pair(&layout.columns, &map.columns)}) {
    axis->cell = cell;
    axis->extent = cell * static_cast<double>(texts->count);
    axis->ticks = text_ticks(*texts, cell);
    axis->label_extent = 0;
    for (const Tick& tick : axis->ticks) {
      axis->label_extent =
          std::max(axis->label_extent, typesetter.measure(tick.text, label_size, label_limit).width);
    }
  }
}

void lay_out_grid(HeatMapLayout& layout, const HeatMap& map) {
  const std::size_t panels = map.panels.size();
  const std::size_t even_lines = std::max<std::size_t>((panels + 3) / 4, 1);
  const std::size_t wanted =
      map.panels_per_line > 0 ? map.panels_per_line : (panels + even_lines - 1) / even_lines;
  layout.panels_per_line = std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(panels, 1));
  layout.lines = (panels + layout.panels_per_line - 1) / layout.panels_per_line;
  for (const HeatMapPanel& panel : map.panels) {
    if (!panel.title.empty()) layout.panel_title_extent = axis_title_size + 8;
    layout.any_masked =
        layout.any_masked || std::find(panel.masked.begin(), panel.masked.end(), 1) != panel.masked.end();
  }
}

void place_bar(HeatMapLayout& layout, const HeatMap& map, const Typesetter& typesetter, double grid_width,
               double grid_height) {
  layout.bar_x = layout.grid_x + grid_width + 20;
  layout.bar_y = layout.grid_y;
  layout.bar_height = std::clamp(grid_height, shortest_bar, longest_bar);
  for (const double number : round_numbers(map.minimum, map.maximum, 5)) {
    layout.bar_label_extent = std::max(layout.bar_label_extent,
                                       typesetter.measure(number_text(number), label_size, no_limit).width);
  }
  if (layout.any_masked) {
    layout.bar_label_extent =
        std::max(layout.bar_label_extent, typesetter.measure("masked", label_size, no_limit).width);
  }
}

}  // namespace

std::vector<double> round_numbers(double minimum, double maximum, int wanted) {
  std::vector<double> numbers;
  if (!(maximum > minimum)) return numbers;
  const double rough = (maximum - minimum) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double digit = rough / power;
  const double step = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  const double slack = step * 1e-9;
  for (double i = std::ceil((minimum - slack) / step); i * step <= maximum + slack; ++i) {
    numbers.push_back(i * step + 0.0);  // + 0.0: no negative zero
  }
  return numbers;
}

std::string number_text(double value) {
  const double rounded = std::abs(value) < 1e-12 ? 0.0 : value;
  return fmt::format("{:.6g}", rounded);
}

HeatMapLayout lay_out(const HeatMap& map, const Typesetter& typesetter) {
  HeatMapLayout layout;
  layout.rows = lay_out_axis(map.rows, typesetter);
  layout.columns = lay_out_axis(map.columns, typesetter);
  make_square(layout, map, typesetter);
  lay_out_grid(layout, map);

  const double axis_title = axis_title_size + 8;
  const double above = layout.columns.numeric ? 0
                                              : layout.columns.label_extent + label_gap +
                                                    (map.columns.title.empty() ? 0 : axis_title);
  const double below = layout.columns.numeric ? label_size + label_gap + tick_length + 4 +
                                                    (map.columns.title.empty() ? 0 : axis_title)
                                              : 0;
  const double left = layout.rows.label_extent + label_gap + (layout.rows.numeric ? tick_length : 0) +
                      (map.rows.title.empty() ? 0 : axis_title);
  layout.grid_x = margin + left;
  layout.grid_y = margin + (map.title.empty() ? 0 : title_size + 12) + above + layout.panel_title_extent;
  layout.step_x = layout.columns.extent + panel_gap;
  layout.step_y = layout.rows.extent + panel_gap + layout.panel_title_extent;
  const double grid_width = layout.step_x * static_cast<double>(layout.panels_per_line) - panel_gap;
  const double grid_height =
      layout.step_y * static_cast<double>(layout.lines) - panel_gap - layout.panel_title_extent;
  place_bar(layout, map, typesetter, grid_width, grid_height);

  const double bar_title = map.colour_title.empty() ? 0 : axis_title;
  layout.width =
      layout.bar_x + bar_width + tick_length + label_gap + layout.bar_label_extent + bar_title + margin;
  const double bar_bottom = layout.bar_y + layout.bar_height + (layout.any_masked ? 30 : 0) + label_size / 2;
  layout.height = std::ceil(std::max(layout.grid_y + grid_height + below, bar_bottom) + margin);
  // The titles may be wider than everything else.
  const double title = typesetter.measure(map.title, title_size, no_limit).width + 2 * margin;
  layout.width = std::ceil(std::max(layout.width, title));
  layout.grid_x = std::round(layout.grid_x);
  layout.grid_y = std::round(layout.grid_y);
  layout.bar_x = std::round(layout.bar_x);
  layout.bar_y = layout.grid_y;
  return layout;
}

}  // namespace attn::figures
