#include "attn/figures/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "attn/core/error.h"
#include "figures/heat_map_layout.h"

namespace attn {
namespace {

using figures::Anchor;
using figures::HeatMapLayout;
using figures::Typesetter;

constexpr unsigned black = 0x000000, frame_colour = 0x666666, hatch_paper = 0xf2f2f2, hatch_ink = 0xa0a0a0;
// Above so many cells a panel is drawn as an image: as shapes the file would be slow to open.
constexpr std::size_t most_shapes = 40000;

void check_axis(const HeatMapAxis& axis, const char* name) {
  if (axis.count == 0) fail(ExitCode::internal, "a heat-map needs at least one of its {}", name);
  if (!axis.labels.empty() && axis.labels.size() != axis.count) {
    fail(ExitCode::internal, "a heat-map with {} {} has {} labels for them", axis.count, name,
         axis.labels.size());
  }
  if (axis.labels.empty() && !(std::abs(axis.step) > 0)) {
    fail(ExitCode::internal, "the numbers of a heat-map's {} need a step that is not 0", name);
  }
}

void check(const HeatMap& map) {
  check_axis(map.rows, "rows");
  check_axis(map.columns, "columns");
  if (map.panels.empty()) fail(ExitCode::internal, "a heat-map needs at least one panel");
  if (!(map.maximum > map.minimum)) {
    fail(ExitCode::internal, "a heat-map's colours run from {} to {}, which is no range", map.minimum,
         map.maximum);
  }
  const std::size_t cells = map.rows.count * map.columns.count;
  for (const HeatMapPanel& panel : map.panels) {
    if (panel.values.size() != cells || (!panel.masked.empty() && panel.masked.size() != cells)) {
      fail(ExitCode::internal, "panel '{}' of a heat-map has {} values and {} masks, expected {} x {}",
           panel.title, panel.values.size(), panel.masked.size(), map.rows.count, map.columns.count);
    }
    for (std::size_t i = 0; i < cells; ++i) {
      if (!std::isfinite(panel.values[i]) && (panel.masked.empty() || panel.masked[i] == 0)) {
        fail(ExitCode::internal, "panel '{}' of a heat-map has {} in row {}, column {}, both counted from 0",
             panel.title, panel.values[i], i / map.columns.count, i % map.columns.count);
      }
    }
  }
}

/// Draws one heat-map on one context.
class Painter {
 public:
  Painter(const HeatMap& map, const HeatMapLayout& layout, const Typesetter& typesetter, cairo_t* cairo)
      : map_(map), layout_(layout), typesetter_(typesetter), cairo_(cairo) {}

  void paint() {
    cairo_set_line_width(cairo_, 1);
    for (std::size_t i = 0; i < map_.panels.size(); ++i) {
      paint_panel(map_.panels[i], layout_.panel_x(i), layout_.panel_y(i));
      figures::set_colour(cairo_, black);
      if (!map_.panels[i].title.empty()) {
        text(map_.panels[i].title, figures::axis_title_size, layout_.panel_x(i) + layout_.columns.extent / 2,
             panel_title_y(i), Anchor::middle, false);
      }
      if (i % layout_.panels_per_line == 0) paint_row_labels(layout_.panel_x(i), layout_.panel_y(i));
      paint_column_labels(i);
    }
    paint_titles();
    paint_bar();
  }

 private:
  bool masked(const HeatMapPanel& panel, std::size_t cell) const {
    return !panel.masked.empty() && panel.masked[cell] != 0;
  }
  int colour_index(double value) const {
    return palette_index((value - map_.minimum) / (map_.maximum - map_.minimum));
  }
  void text(const std::string& content, double size, double x, double y, Anchor anchor, bool turned) {
    typesetter_.draw(cairo_, content, size, figures::no_limit, x, y, anchor, turned);
  }
  double panel_title_y(std::size_t panel) const {
    // On the first line the labels of the columns stand between title and panel.
    const double labels = panel < layout_.panels_per_line && !layout_.columns.numeric
                              ? layout_.columns.label_extent + figures::label_gap
                              : 0;
    return layout_.panel_y(panel) - labels - layout_.panel_title_extent / 2;
  }

  void paint_panel(const HeatMapPanel& panel, double x, double y);
  void paint_shapes(const HeatMapPanel& panel, double x, double y);
  void paint_image(const HeatMapPanel& panel, double x, double y);
  void hatch(const std::vector<std::array<double, 4>>& areas);
  std::vector<std::array<double, 4>> masked_areas(const HeatMapPanel& panel, double x, double y) const;
  void paint_row_labels(double x, double y);
  void paint_column_labels(std::size_t panel);
  void paint_titles();
  void paint_bar();
  void tick(double x, double y, double to_x, double to_y);

  const HeatMap& map_;
  const HeatMapLayout& layout_;
  const Typesetter& typesetter_;
  cairo_t* cairo_;
};

void Painter::paint_panel(const HeatMapPanel& panel, double x, double y) {
  if (panel.values.size() > most_shapes) {
    paint_image(panel, x, y);
  } else {
    paint_shapes(panel, x, y);
  }
  hatch(masked_areas(panel, x, y));
  figures::set_colour(cairo_, frame_colour);
  cairo_rectangle(cairo_, x - 0.5, y - 0.5, layout_.columns.extent + 1, layout_.rows.extent + 1);
  cairo_stroke(cairo_);
}

/// One path a colour, and neighbours of one colour in one rectangle: small files.
void Painter::paint_shapes(const HeatMapPanel& panel, double x, double y) {
  struct Run {
    std::size_t row, begin, end;
  };
  std::array<std::vector<Run>, palette_size> runs;
  const std::size_t columns = map_.columns.count;
  for (std::size_t row = 0; row < map_.rows.count; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t cell = row * columns + column;
      if (masked(panel, cell)) continue;
      auto& same = runs[static_cast<std::size_t>(colour_index(panel.values[cell]))];
      if (!same.empty() && same.back().row == row && same.back().end == column) {
        ++same.back().end;
      } else {
        same.push_back({row, column, column + 1});
      }
    }
  }
  const double width = layout_.columns.cell, height = layout_.rows.cell;
  cairo_save(cairo_);
  cairo_set_antialias(cairo_, CAIRO_ANTIALIAS_NONE);
  for (std::size_t colour = 0; colour < runs.size(); ++colour) {
    if (runs[colour].empty()) continue;
    figures::set_colour(cairo_, palette_colour(map_.palette, static_cast<int>(colour)));
    for (const Run& run : runs[colour]) {
      cairo_rectangle(cairo_, x + width * static_cast<double>(run.begin),
                      y + height * static_cast<double>(run.row),
                      width * static_cast<double>(run.end - run.begin), height);
    }
    cairo_fill(cairo_);
  }
  cairo_restore(cairo_);
}

void Painter::paint_image(const HeatMapPanel& panel, double x, double y) {
  const std::size_t columns = map_.columns.count, rows = map_.rows.count;
  const int stride = cairo_format_stride_for_width(CAIRO_FORMAT_RGB24, static_cast<int>(columns));
  std::vector<std::uint32_t> pixels(static_cast<std::size_t>(stride) / 4 * rows);
  for (std::size_t cell = 0; cell < panel.values.size(); ++cell) {
    const std::size_t place = cell / columns * static_cast<std::size_t>(stride) / 4 + cell % columns;
    pixels[place] =
        masked(panel, cell) ? hatch_paper : palette_colour(map_.palette, colour_index(panel.values[cell]));
  }
  const std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)> image(
      cairo_image_surface_create_for_data(reinterpret_cast<unsigned char*>(pixels.data()), CAIRO_FORMAT_RGB24,
                                          static_cast<int>(columns), static_cast<int>(rows), stride),
      &cairo_surface_destroy);
  cairo_save(cairo_);
  cairo_translate(cairo_, x, y);
  cairo_scale(cairo_, layout_.columns.cell, layout_.rows.cell);
  cairo_set_source_surface(cairo_, image.get(), 0, 0);
  // Cells smaller than a pixel are averaged; larger ones keep their edges.
  const bool small = std::min(layout_.columns.cell, layout_.rows.cell) < 1;
  cairo_pattern_set_filter(cairo_get_source(cairo_), small ? CAIRO_FILTER_GOOD : CAIRO_FILTER_NEAREST);
  cairo_rectangle(cairo_, 0, 0, static_cast<double>(columns), static_cast<double>(rows));
  cairo_fill(cairo_);
  cairo_restore(cairo_);
  cairo_surface_flush(image.get());
}

std::vector<std::array<double, 4>> Painter::masked_areas(const HeatMapPanel& panel, double x,
                                                         double y) const {
  std::vector<std::array<double, 4>> areas;
  if (panel.masked.empty()) return areas;
  const std::size_t columns = map_.columns.count;
  const double width = layout_.columns.cell, height = layout_.rows.cell;
  for (std::size_t row = 0; row < map_.rows.count; ++row) {
    for (std::size_t column = 0; column < columns;) {
      const std::size_t begin = column;
      while (column < columns && masked(panel, row * columns + column)) ++column;
      if (column > begin) {
        areas.push_back({x + width * static_cast<double>(begin), y + height * static_cast<double>(row),
                         width * static_cast<double>(column - begin), height});
      } else {
        ++column;
      }
    }
  }
  return areas;
}

/// Diagonal lines on light grey, which no palette has.
void Painter::hatch(const std::vector<std::array<double, 4>>& areas) {
  if (areas.empty()) return;
  cairo_save(cairo_);
  std::array<double, 4> box = {areas[0][0], areas[0][1], areas[0][0], areas[0][1]};
  cairo_set_antialias(cairo_, CAIRO_ANTIALIAS_NONE);
  for (const auto& [x, y, width, height] : areas) {
    cairo_rectangle(cairo_, x, y, width, height);
    box = {std::min(box[0], x), std::min(box[1], y), std::max(box[2], x + width),
           std::max(box[3], y + height)};
  }
  cairo_clip_preserve(cairo_);
  figures::set_colour(cairo_, hatch_paper);
  cairo_fill(cairo_);
  cairo_set_antialias(cairo_, CAIRO_ANTIALIAS_DEFAULT);
  figures::set_colour(cairo_, hatch_ink);
  cairo_set_line_width(cairo_, 0.8);
  const double height = box[3] - box[1];
  const int lines = static_cast<int>((box[2] - box[0] + height) / 5) + 1;
  for (int line = 0; line < lines; ++line) {
    const double start = box[0] - height + 5 * line;
    cairo_move_to(cairo_, start, box[3]);
    cairo_line_to(cairo_, start + height, box[1]);
  }
  cairo_stroke(cairo_);
  cairo_restore(cairo_);
}

void Painter::tick(double x, double y, double to_x, double to_y) {
  cairo_move_to(cairo_, x, y);
  cairo_line_to(cairo_, to_x, to_y);
  cairo_stroke(cairo_);
}

void Painter::paint_row_labels(double x, double y) {
  const double mark = layout_.rows.numeric ? figures::tick_length : 0;
  for (const figures::Tick& label : layout_.rows.ticks) {
    const double middle = y + label.place * layout_.rows.cell;
    if (mark > 0) tick(x - mark, middle, x, middle);
    typesetter_.draw(cairo_, label.text, figures::label_size, figures::label_limit,
                     x - mark - figures::label_gap, middle, Anchor::end);
  }
}

void Painter::paint_column_labels(std::size_t panel) {
  const double x = layout_.panel_x(panel), y = layout_.panel_y(panel);
  if (!layout_.columns.numeric) {
    if (panel >= layout_.panels_per_line) return;
    for (const figures::Tick& label : layout_.columns.ticks) {
      typesetter_.draw(cairo_, label.text, figures::label_size, figures::label_limit,
                       x + label.place * layout_.columns.cell, y - figures::label_gap, Anchor::start, true);
    }
    return;
  }
  // Below the lowest panel of each column of panels.
  if (panel + layout_.panels_per_line < map_.panels.size()) return;
  const double bottom = y + layout_.rows.extent;
  for (const figures::Tick& label : layout_.columns.ticks) {
    const double middle = x + label.place * layout_.columns.cell;
    tick(middle, bottom, middle, bottom + figures::tick_length);
    text(label.text, figures::label_size, middle,
         bottom + figures::tick_length + figures::label_gap + figures::label_size / 2, Anchor::middle, false);
  }
}

void Painter::paint_titles() {
  const double grid_width =
      layout_.step_x * static_cast<double>(layout_.panels_per_line - 1) + layout_.columns.extent;
  const double grid_height = layout_.step_y * static_cast<double>(layout_.lines - 1) + layout_.rows.extent;
  const double centre = layout_.grid_x + grid_width / 2;
  if (!map_.title.empty()) {
    const double half = typesetter_.measure(map_.title, figures::title_size, figures::no_limit).width / 2;
    const double x = std::clamp(centre, half + 12, std::max(half + 12, layout_.width - half - 12));
    text(map_.title, figures::title_size, x, 12 + figures::title_size / 2, Anchor::middle, false);
  }
  if (!map_.rows.title.empty()) {
    text(map_.rows.title, figures::axis_title_size, 12 + figures::axis_title_size / 2,
         layout_.grid_y + grid_height / 2, Anchor::middle, true);
  }
  if (!map_.columns.title.empty()) {
    const double y =
        layout_.columns.numeric
            ? layout_.grid_y + grid_height + figures::tick_length + figures::label_gap + figures::label_size +
                  6 + figures::axis_title_size / 2
            : 12 + (map_.title.empty() ? 0 : figures::title_size + 12) + figures::axis_title_size / 2;
    text(map_.columns.title, figures::axis_title_size, centre, y, Anchor::middle, false);
  }
}

void Painter::paint_bar() {
  const double x = layout_.bar_x, y = layout_.bar_y, height = layout_.bar_height;
  cairo_save(cairo_);
  cairo_set_antialias(cairo_, CAIRO_ANTIALIAS_NONE);
  for (int i = 0; i < palette_size; ++i) {
    figures::set_colour(cairo_, palette_colour(map_.palette, i));
    // Each reaches under the one before, so that no gap shows between two.
    const double top = y + height * (palette_size - 1 - i) / palette_size;
    cairo_rectangle(cairo_, x, top, figures::bar_width,
                    i == 0 ? height / palette_size : 2 * height / palette_size);
    cairo_fill(cairo_);
  }
  cairo_restore(cairo_);
  figures::set_colour(cairo_, frame_colour);
  cairo_rectangle(cairo_, x - 0.5, y - 0.5, figures::bar_width + 1, height + 1);
  cairo_stroke(cairo_);
  figures::set_colour(cairo_, black);
  const double labels = x + figures::bar_width + figures::tick_length + figures::label_gap;
  for (const double number : figures::round_numbers(map_.minimum, map_.maximum, 5)) {
    const double place = y + height * (map_.maximum - number) / (map_.maximum - map_.minimum);
    tick(x + figures::bar_width, place, x + figures::bar_width + figures::tick_length, place);
    text(figures::number_text(number), figures::label_size, labels, place, Anchor::start, false);
  }
  if (!map_.colour_title.empty()) {
    text(map_.colour_title, figures::axis_title_size,
         labels + layout_.bar_label_extent + 6 + figures::axis_title_size / 2, y + height / 2, Anchor::middle,
         true);
  }
  if (layout_.any_masked) {
    const double top = y + height + 16;
    hatch({{x, top, figures::bar_width, 14}});
    figures::set_colour(cairo_, frame_colour);
    cairo_rectangle(cairo_, x - 0.5, top - 0.5, figures::bar_width + 1, 15);
    cairo_stroke(cairo_);
    figures::set_colour(cairo_, black);
    text("masked", figures::label_size, labels, top + 7, Anchor::start, false);
  }
}

std::vector<std::string> all_texts(const HeatMap& map) {
  std::vector<std::string> texts = map.rows.labels;
  texts.insert(texts.end(), map.columns.labels.begin(), map.columns.labels.end());
  texts.push_back(map.title);
  return texts;
}

}  // namespace

std::string render(const HeatMap& map, PictureFormat format) {
  check(map);
  const Typesetter typesetter(figures::language_of(all_texts(map)));
  const HeatMapLayout layout = figures::lay_out(map, typesetter);
  return figures::make_picture(format, layout.width, layout.height,
                               [&](cairo_t* cairo) { Painter(map, layout, typesetter, cairo).paint(); });
}

}  // namespace attn
