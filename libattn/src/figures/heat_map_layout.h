#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "attn/figures/heat_map.h"
#include "figures/drawing.h"

namespace attn::figures {

inline constexpr double label_size = 11;  ///< font sizes, in units
inline constexpr double axis_title_size = 12;
inline constexpr double title_size = 14;
inline constexpr double label_limit = 150;  ///< longer labels are cut short
inline constexpr double no_limit = 1e6;
inline constexpr double label_gap = 5;  ///< between a label and what it labels
inline constexpr double tick_length = 4;

/// A label and the middle of the cell that it belongs to, counted in cells from the first one's edge.
struct Tick {
  double place = 0;
  std::string text;
};

/// One axis of every panel.
struct AxisLayout {
  double cell = 1;    ///< extent of one cell
  double extent = 0;  ///< of all cells
  bool numeric = false;
  std::vector<Tick> ticks;
  double label_extent = 0;  ///< width of the widest label
};

/// Where everything is, in units from the upper left corner.
struct HeatMapLayout {
  AxisLayout rows;
  AxisLayout columns;
  std::size_t lines = 1;  ///< of panels
  std::size_t panels_per_line = 1;
  double grid_x = 0, grid_y = 0;  ///< upper left corner of the first panel
  double step_x = 0, step_y = 0;  ///< from one panel to the next
  double panel_title_extent = 0;  ///< room above a panel for its title; 0 where none has one
  double bar_x = 0, bar_y = 0, bar_height = 0;
  double bar_label_extent = 0;
  bool any_masked = false;
  double width = 0, height = 0;

  double panel_x(std::size_t panel) const {
    return grid_x + step_x * static_cast<double>(panel % panels_per_line);
  }
  double panel_y(std::size_t panel) const {
    const std::size_t line = panel / panels_per_line;
    return grid_y + step_y * static_cast<double>(line);
  }
};

inline constexpr double bar_width = 14;

/// Round numbers in [minimum, maximum], about `wanted` of them.
std::vector<double> round_numbers(double minimum, double maximum, int wanted);
/// A number of a colour bar or an axis, without needless digits.
std::string number_text(double value);

HeatMapLayout lay_out(const HeatMap& map, const Typesetter& typesetter);

}  // namespace attn::figures
