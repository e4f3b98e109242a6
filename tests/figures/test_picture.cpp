#include "attn/figures/picture.h"
#include "figures/pictures.h"
#include "support/catch.h"
#include "support/error_of.h"

using attn::PictureFormat;
using attn::test::contains;
using attn::test::error_of;
using attn::test::Image;

namespace {
const std::string red_square =
    R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 30 20"><rect x="10" width="10" height="10" fill="#f00"/></svg>)";
}

TEST_CASE("formats have names and extensions", "[picture]") {
  CHECK(attn::picture_format("png") == PictureFormat::png);
  CHECK(to_string(PictureFormat::pdf) == "pdf");
  CHECK(attn::picture_format_of_file("a.b/figure.SVG") == PictureFormat::svg);
  const auto error = error_of([] { attn::picture_format("gif"); });
  REQUIRE(error);
  CHECK(error->code() == attn::ExitCode::usage);
  CHECK(contains(error->what(), "svg, png, pdf"));
  CHECK(contains(error_of([] { attn::picture_format_of_file("figure"); })->what(), ".svg, .png, .pdf"));
}

TEST_CASE("an SVG becomes a PNG of its size, two pixels a unit", "[picture]") {
  CHECK(attn::convert_svg(red_square, PictureFormat::svg) == red_square);
  const Image image = Image::from_png(attn::convert_svg(red_square, PictureFormat::png));
  CHECK(image.width == 60);
  CHECK(image.height == 40);
  CHECK(image.count(0xff0000) == 400);
  CHECK(image.box(0xff0000, 400, 60).left == 20);
}

TEST_CASE("an SVG becomes a PDF, the same every time", "[picture]") {
  const std::string pdf = attn::convert_svg(red_square, PictureFormat::pdf);
  CHECK(pdf.rfind("%PDF-", 0) == 0);
  CHECK(pdf == attn::convert_svg(red_square, PictureFormat::pdf));
}

TEST_CASE("what is no SVG is refused", "[picture]") {
  CHECK(contains(error_of([] { attn::convert_svg("<svg", PictureFormat::png); })->what(), "cannot be drawn"));
}
