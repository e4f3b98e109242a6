#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attn/figures/palette.h"
#include "attn/figures/picture.h"

namespace attn {

/// The rows or the columns of a heat-map.
struct HeatMapAxis {
  std::size_t count = 0;   ///< how many rows or columns
  std::string title = {};  ///< as "position"; empty for none
  /// One text for each row or column, as tokens. Where there is no room for all, every second, third, ... is
  /// shown. Empty: the axis is numeric.
  std::vector<std::string> labels = {};
  double first = 0;  ///< numeric axis: the number that the middle of row or column 0 stands for
  double step = 1;   ///< numeric axis: from one row or column to the next; not 0
};

/// One matrix of numbers.
struct HeatMapPanel {
  std::string title = {};                 ///< as "head 2"; empty for none
  std::vector<double> values = {};        ///< [rows, columns], row-major
  std::vector<std::uint8_t> masked = {};  ///< [rows, columns], 1: hatched, whatever the value; empty: none
};

/// A grid of heat-maps that share their axes and one colour bar, in the manner of show_heatmaps in the
/// attention chapter of Dive into Deep Learning.
///
///     HeatMap map{.title = "positional encoding",
///                 .rows = {.count = 60, .title = "position"},
///                 .columns = {.count = 32, .title = "column"},
///                 .panels = {{.values = encoding}},
///                 .minimum = -1, .maximum = 1, .palette = Palette::blue_red};
///     write_file_atomically("positions.svg", render(map, PictureFormat::svg));
///
/// Rows run from top to bottom, columns from left to right. Texts of columns stand above the panels, turned
/// by a quarter, numbers of columns below them; rows are labelled on the left. An axis with texts gets square
/// cells that are large enough to read them; a panel with numeric axes is about 360 units wide and high.
struct HeatMap {
  std::string title;
  HeatMapAxis rows;
  HeatMapAxis columns;
  std::vector<HeatMapPanel> panels;
  std::size_t panels_per_line = 0;  ///< 0: up to four, as even as possible
  double minimum = 0;               ///< what the first colour stands for
  double maximum = 1;               ///< what the last colour stands for; larger than minimum
  Palette palette = Palette::viridis;
  std::string colour_title = {};  ///< beside the colour bar, as "attention weight"
};

/// The heat-map as a file's content. Texts may be in any script that an installed font has; right-to-left
/// scripts and combining characters are set as their languages ask. Spaces, line ends and control characters
/// in labels are made visible. Equal heat-maps give equal bytes with the same fonts: no dates, no running
/// numbers. Throws Error (ExitCode::internal) when sizes do not fit each other, when there is no panel or no
/// cell, or when a value that is not masked is not finite.
std::string render(const HeatMap& map, PictureFormat format);

}  // namespace attn
