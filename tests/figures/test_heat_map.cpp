#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "attn/figures/heat_map.h"
#include "figures/pictures.h"
#include "support/catch.h"
#include "support/error_of.h"

using attn::HeatMap;
using attn::PictureFormat;
using attn::test::contains;
using attn::test::error_of;
using attn::test::Image;

namespace {

/// Two heads over three target and four source tokens; head 1 hides the last key of the first row.
HeatMap two_heads() {
  return {.title = "cross attention",
          .rows = {.count = 3, .title = "target", .labels = {"the", "cat", "<eos>"}},
          .columns = {.count = 4, .title = "source", .labels = {"die", "Katze", ".", "<eos>"}},
          .panels = {{.title = "head 0", .values = {1, 0, 0, 0, 0, 1, 0, 0, 0.25, 0.25, 0.25, 0.25}},
                     {.title = "head 1",
                      .values = {0.5, 0.5, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0},
                      .masked = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}}},
          .colour_title = "attention weight"};
}

HeatMap positions(std::size_t count, std::size_t width) {
  HeatMap map{.title = "positional encoding",
              .rows = {.count = count, .title = "position"},
              .columns = {.count = width, .title = "column"},
              .panels = {{}},
              .minimum = -1,
              .maximum = 1,
              .palette = attn::Palette::blue_red};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const double angle = static_cast<double>(i) / std::pow(10000, static_cast<double>(j / 2 * 2) / 32);
      map.panels[0].values.push_back(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return map;
}

}  // namespace

TEST_CASE("every cell has the colour of its value, and a masked cell none of the palette", "[heat-map]") {
  const HeatMap map = two_heads();
  const Image image = Image::from_png(render(map, PictureFormat::png));
  const std::uint32_t lowest = palette_colour(attn::Palette::viridis, 0);
  const std::uint32_t highest = palette_colour(attn::Palette::viridis, 255);
  // 20 units a cell and two pixels a unit: 1600 pixels a cell.
  CHECK(image.count(highest) >= 4 * 1600);
  CHECK(image.count(highest) < 5 * 1600);
  CHECK(image.count(lowest) >= 13 * 1600);
  CHECK(image.count(lowest) < 14 * 1600);  // 14 with the masked cell
  CHECK(image.count(palette_colour(attn::Palette::viridis, 64)) >= 4 * 1600);
  CHECK(image.count(palette_colour(attn::Palette::viridis, 128)) >= 2 * 1600);
  CHECK(image.count(0xf2f2f2) > 600);
}

TEST_CASE("rows run downwards and columns to the right", "[heat-map]") {
  HeatMap map = two_heads();
  map.panels = {{.values = {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}}};
  const Image image = Image::from_png(render(map, PictureFormat::png));
  const int bar = image.width * 3 / 5;
  const auto cells = image.box(palette_colour(attn::Palette::viridis, 0), 1600, bar);
  const auto one = image.box(palette_colour(attn::Palette::viridis, 255), 40 * 40, bar);
  CHECK(one.left == cells.left + 2 * 40);
  CHECK(one.top == cells.top);
  CHECK(one.right - one.left == 40);
  CHECK(one.bottom - one.top == 40);
}

TEST_CASE("what is masked may have any value, what is not must be finite", "[heat-map]") {
  HeatMap map = two_heads();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  map.panels[1].values[3] = nan;
  CHECK_NOTHROW(render(map, PictureFormat::svg));
  map.panels[1].values[6] = nan;
  const auto error = error_of([&] { render(map, PictureFormat::svg); });
  REQUIRE(error);
  CHECK(contains(error->what(), "panel 'head 1' of a heat-map has nan in row 1, column 2"));
}

TEST_CASE("a heat-map whose sizes do not fit is refused", "[heat-map]") {
  HeatMap map = two_heads();
  map.columns.count = 5;
  CHECK(contains(error_of([&] { render(map, PictureFormat::svg); })->what(), "5 columns has 4 labels"));
  map = two_heads();
  map.panels[0].values.pop_back();
  CHECK(contains(error_of([&] { render(map, PictureFormat::svg); })->what(), "11 values"));
  map = two_heads();
  map.panels.clear();
  CHECK(contains(error_of([&] { render(map, PictureFormat::svg); })->what(), "at least one panel"));
  map = two_heads();
  map.maximum = map.minimum;
  CHECK(contains(error_of([&] { render(map, PictureFormat::svg); })->what(), "no range"));
}

TEST_CASE("the same heat-map gives the same bytes in every format", "[heat-map]") {
  for (const auto& map : {two_heads(), positions(60, 32), positions(500, 300)}) {
    for (const auto format : {PictureFormat::svg, PictureFormat::png, PictureFormat::pdf}) {
      const std::string first = render(map, format);
      const bool differs = render(two_heads(), format) != render(positions(5, 5), format);
      const bool same = render(map, format) == first;
      CHECK(differs);
      CHECK(same);
    }
  }
}

TEST_CASE("tokens of any script and nasty tokens can be labels", "[heat-map]") {
  HeatMap map = two_heads();
  map.rows.labels = {"\xE4\xBD\xA0\xE5\xA5\xBD", "\xD9\x85\xD8\xB1\xD8\xAD\xD8\xA8\xD8\xA7", "e\xCC\x81"};
  map.columns.labels = {"</script>", "&amp;", "\xE2\x80\xA8", "\xFF\n "};
  const std::string svg = render(map, PictureFormat::svg);
  CHECK_FALSE(contains(svg, "</script>"));
  CHECK(contains(svg, "<svg"));
  CHECK(Image::from_png(render(map, PictureFormat::png)).width > 400);
  CHECK(render(map, PictureFormat::pdf).rfind("%PDF-", 0) == 0);
}

TEST_CASE("long sentences stay a picture of bearable size", "[heat-map]") {
  HeatMap map;
  map.rows.count = map.columns.count = 300;
  for (int i = 0; i < 300; ++i) map.rows.labels.push_back("token" + std::to_string(i));
  map.columns.labels = map.rows.labels;
  map.panels = {{.values = std::vector<double>(300 * 300, 0.5)}};
  const Image image = Image::from_png(render(map, PictureFormat::png));
  CHECK(image.width < 2800);
  CHECK(image.count(palette_colour(attn::Palette::viridis, 128)) >= 1800 * 1800);
}

TEST_CASE("an axis without labels is numeric", "[heat-map]") {
  const HeatMap map = positions(60, 32);
  const Image image = Image::from_png(render(map, PictureFormat::png));
  // The first row alternates between sin 0 and cos 0.
  CHECK(image.count(palette_colour(attn::Palette::blue_red, 255)) > 16 * 100);
  CHECK(image.count(palette_colour(attn::Palette::blue_red, 0)) > 0);
  HeatMap wrong = map;
  wrong.rows.step = 0;
  CHECK(contains(error_of([&] { render(wrong, PictureFormat::svg); })->what(), "step"));
}
