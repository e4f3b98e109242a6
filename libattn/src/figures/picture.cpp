#include "attn/figures/picture.h"

#include <fmt/ranges.h>
#include <librsvg/rsvg.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "attn/core/error.h"
#include "figures/drawing.h"

namespace attn {
namespace {

struct Unref {
  void operator()(RsvgHandle* handle) const { g_object_unref(handle); }
};

[[noreturn]] void refuse(GError* error) {
  const std::string reason = error != nullptr ? error->message : "unknown reason";
  g_clear_error(&error);
  fail(ExitCode::internal, "this SVG cannot be drawn: {}", reason);
}

}  // namespace

std::string to_string(PictureFormat format) {
  return picture_format_names()[static_cast<std::size_t>(format)];
}

const std::vector<std::string>& picture_format_names() {
  static const std::vector<std::string> names{"svg", "png", "pdf"};
  return names;
}

PictureFormat picture_format(std::string_view name) {
  const auto& names = picture_format_names();
  const auto place = std::find(names.begin(), names.end(), name);
  if (place == names.end()) {
    fail(ExitCode::usage, "there is no picture format '{}'; there are {}", name, fmt::join(names, ", "));
  }
  return static_cast<PictureFormat>(place - names.begin());
}

PictureFormat picture_format_of_file(std::string_view file_name) {
  const std::size_t dot = file_name.rfind('.');
  std::string extension(dot == std::string_view::npos ? "" : file_name.substr(dot + 1));
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto& names = picture_format_names();
  if (std::find(names.begin(), names.end(), extension) == names.end()) {
    fail(ExitCode::usage, "'{}' does not say which picture format is wanted: end it with .{}", file_name,
         fmt::join(names, ", ."));
  }
  return picture_format(extension);
}

std::string convert_svg(std::string_view svg, PictureFormat format) {
  if (format == PictureFormat::svg) return std::string(svg);
  GError* error = nullptr;
  const std::unique_ptr<RsvgHandle, Unref> handle(
      rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &error));
  if (!handle) refuse(error);
  double width = 0, height = 0;
  if (rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height) == FALSE) {
    gboolean has_width = FALSE, has_height = FALSE, has_box = FALSE;
    RsvgLength stated_width, stated_height;
    RsvgRectangle box{};
    rsvg_handle_get_intrinsic_dimensions(handle.get(), &has_width, &stated_width, &has_height, &stated_height,
                                         &has_box, &box);
    if (has_box == FALSE) fail(ExitCode::internal, "this SVG has neither a size nor a viewBox");
    width = box.width;
    height = box.height;
  }
  return figures::make_picture(format, width, height, [&](cairo_t* cairo) {
    const RsvgRectangle viewport{0, 0, width, height};
    if (rsvg_handle_render_document(handle.get(), cairo, &viewport, &error) == FALSE) refuse(error);
  });
}

}  // namespace attn
