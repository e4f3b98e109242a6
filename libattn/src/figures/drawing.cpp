#include "figures/drawing.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>

#include <algorithm>
#include <array>
#include <map>

#include "attn/core/error.h"

namespace attn::figures {
namespace {

constexpr double png_pixels_per_unit = 2;
constexpr double points_per_unit = 0.75;  // a unit is 1/96 inch, as in CSS

struct Destroy {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
};
using Surface = std::unique_ptr<cairo_surface_t, Destroy>;

// Called from C, which no exception may cross.
cairo_status_t append(void* bytes, const unsigned char* data, unsigned length) noexcept {
  try {
    static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
  } catch (...) {
    return CAIRO_STATUS_NO_MEMORY;
  }
}

void check(cairo_status_t status) {
  if (status != CAIRO_STATUS_SUCCESS) {
    fail(ExitCode::internal, "the picture could not be drawn: {}", cairo_status_to_string(status));
  }
}

Surface make_surface(PictureFormat format, double width, double height, std::string* bytes) {
  if (format == PictureFormat::png) {
    return Surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                              static_cast<int>(width * png_pixels_per_unit),
                                              static_cast<int>(height * png_pixels_per_unit)));
  }
  if (format == PictureFormat::pdf) {
    Surface surface(cairo_pdf_surface_create_for_stream(append, bytes, width * points_per_unit,
                                                        height * points_per_unit));
    // Otherwise the clock's time would be in the file.
    cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "1970-01-01T00:00:00Z");
    return surface;
  }
  Surface surface(cairo_svg_surface_create_for_stream(append, bytes, width, height));
  cairo_svg_surface_set_document_unit(surface.get(), CAIRO_SVG_UNIT_PX);
  return surface;
}

/// Cairo numbers its surfaces through the life of a process, and the numbers are in an SVG's ids.
std::string with_own_numbers(const std::string& svg) {
  constexpr std::array<std::string_view, 4> prefixes = {"\"surface", "#surface", "\"image", "#image"};
  std::string result;
  std::map<std::string, std::size_t> numbers;
  std::size_t copied = 0;
  for (std::size_t at = svg.find_first_of("\"#"); at != std::string::npos;
       at = svg.find_first_of("\"#", at + 1)) {
    const auto prefix = std::find_if(prefixes.begin(), prefixes.end(), [&](std::string_view candidate) {
      return svg.compare(at, candidate.size(), candidate) == 0;
    });
    if (prefix == prefixes.end()) continue;
    const std::size_t begin = at + prefix->size();
    const std::size_t end = std::min(svg.find_first_not_of("0123456789", begin), svg.size());
    result.append(svg, copied, begin - copied);
    if (end > begin) {
      const auto place = numbers.try_emplace(svg.substr(begin, end - begin), numbers.size()).first;
      result += std::to_string(place->second);
    }
    copied = end;
  }
  result.append(svg, copied);
  return result;
}

/// Outlines at their true size, so that text is as wide in every format.
cairo_font_options_t* unhinted() {
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  return options;
}

void append_character(std::string& text, gunichar character) {
  char bytes[6];
  text.append(bytes, static_cast<std::size_t>(g_unichar_to_utf8(character, bytes)));
}

}  // namespace

std::string make_picture(PictureFormat format, double width, double height,
                         const std::function<void(cairo_t*)>& draw) {
  std::string bytes;
  const Surface surface = make_surface(format, width, height, &bytes);
  check(cairo_surface_status(surface.get()));
  {
    const std::unique_ptr<cairo_t, Destroy> cairo(cairo_create(surface.get()));
    if (format == PictureFormat::png) cairo_scale(cairo.get(), png_pixels_per_unit, png_pixels_per_unit);
    if (format == PictureFormat::pdf) cairo_scale(cairo.get(), points_per_unit, points_per_unit);
    set_colour(cairo.get(), 0xffffff);
    cairo_paint(cairo.get());
    draw(cairo.get());
    check(cairo_status(cairo.get()));
  }
  if (format == PictureFormat::png) {
    check(cairo_surface_write_to_png_stream(surface.get(), append, &bytes));
    return bytes;
  }
  cairo_surface_finish(surface.get());
  check(cairo_surface_status(surface.get()));
  return format == PictureFormat::svg ? with_own_numbers(bytes) : bytes;
}

void set_colour(cairo_t* cairo, unsigned colour) {
  cairo_set_source_rgb(cairo, (colour >> 16 & 0xff) / 255.0, (colour >> 8 & 0xff) / 255.0,
                       (colour & 0xff) / 255.0);
}

std::string visible_text(std::string_view text) {
  const std::unique_ptr<char, decltype(&g_free)> valid(
      g_utf8_make_valid(text.data(), static_cast<gssize>(text.size())), &g_free);
  const char* const begin = valid.get();
  const char* const end = begin + std::char_traits<char>::length(begin);
  std::string shown;
  for (const char* at = begin; at < end; at = g_utf8_next_char(at)) {
    const gunichar character = g_utf8_get_char(at);
    const bool outer = at == begin || g_utf8_next_char(at) == end;
    if (character < 0x20) {
      append_character(shown, 0x2400 + character);  // control pictures
    } else if (character == 0x7f) {
      append_character(shown, 0x2421);
    } else if (character == 0x85 || character == 0x2028 || character == 0x2029) {
      append_character(shown, 0x21b5);  // an arrow that turns back
    } else if (outer && g_unichar_isspace(character) != 0) {
      append_character(shown, 0x2423);  // an open box
    } else {
      if (at == begin && g_unichar_ismark(character) != 0) append_character(shown, 0x25cc);
      append_character(shown, character);
    }
  }
  return shown;
}

const char* language_of(std::span<const std::string> texts) {
  bool han = false;
  for (const std::string& text : texts) {
    if (g_utf8_validate(text.data(), static_cast<gssize>(text.size()), nullptr) == FALSE) continue;
    for (const char* at = text.c_str(); *at != '\0'; at = g_utf8_next_char(at)) {
      const GUnicodeScript script = g_unichar_get_script(g_utf8_get_char(at));
      if (script == G_UNICODE_SCRIPT_HIRAGANA || script == G_UNICODE_SCRIPT_KATAKANA ||
          script == G_UNICODE_SCRIPT_HANGUL) {
        return "en";
      }
      han = han || script == G_UNICODE_SCRIPT_HAN;
    }
  }
  return han ? "zh-cn" : "en";
}

Typesetter::Typesetter(const char* language)
    : fonts_(pango_cairo_font_map_new()), context_(pango_font_map_create_context(fonts_.get())) {
  const std::unique_ptr<cairo_font_options_t, decltype(&cairo_font_options_destroy)> options(
      unhinted(), &cairo_font_options_destroy);
  pango_cairo_context_set_font_options(context_.get(), options.get());
  pango_context_set_language(context_.get(), pango_language_from_string(language));
}

Typesetter::Layout Typesetter::layout(const std::string& text, double size, double limit) const {
  Layout layout(pango_layout_new(context_.get()));
  const std::unique_ptr<PangoFontDescription, decltype(&pango_font_description_free)> font(
      pango_font_description_from_string("sans"), &pango_font_description_free);
  pango_font_description_set_absolute_size(font.get(), size * PANGO_SCALE);
  pango_layout_set_font_description(layout.get(), font.get());
  pango_layout_set_single_paragraph_mode(layout.get(), TRUE);
  pango_layout_set_text(layout.get(), text.data(), static_cast<int>(text.size()));
  PangoRectangle natural;
  pango_layout_get_extents(layout.get(), nullptr, &natural);
  if (natural.width > limit * PANGO_SCALE) {
    pango_layout_set_width(layout.get(), static_cast<int>(limit * PANGO_SCALE));
    pango_layout_set_ellipsize(layout.get(), PANGO_ELLIPSIZE_END);
  }
  return layout;
}

Typesetter::Size Typesetter::measure(const std::string& text, double size, double limit) const {
  const Layout set = layout(text, size, limit);
  PangoRectangle logical;
  pango_layout_get_extents(set.get(), nullptr, &logical);
  return {static_cast<double>(logical.width) / PANGO_SCALE,
          static_cast<double>(logical.height) / PANGO_SCALE};
}

void Typesetter::draw(cairo_t* cairo, const std::string& text, double size, double limit, double x, double y,
                      Anchor anchor, bool quarter_turn) const {
  const Layout set = layout(text, size, limit);
  PangoRectangle logical;
  pango_layout_get_extents(set.get(), nullptr, &logical);
  const double width = static_cast<double>(logical.width) / PANGO_SCALE;
  const double height = static_cast<double>(logical.height) / PANGO_SCALE;
  const double shift = anchor == Anchor::start ? 0 : anchor == Anchor::middle ? width / 2 : width;
  cairo_save(cairo);
  cairo_translate(cairo, x, y);
  if (quarter_turn) cairo_rotate(cairo, -G_PI / 2);
  cairo_move_to(cairo, -shift - static_cast<double>(logical.x) / PANGO_SCALE, -height / 2);
  pango_cairo_show_layout(cairo, set.get());
  cairo_restore(cairo);
}

}  // namespace attn::figures
