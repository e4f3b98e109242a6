#pragma once
#include <cairo.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace attn::test {

/// The pixels of a PNG as 0xRRGGBB.
struct Image {
  int width = 0, height = 0;
  std::vector<std::uint32_t> pixels;

  struct Box {
    int left = 0, top = 0, right = 0, bottom = 0;  ///< right and bottom lie outside
  };

  static Image from_png(const std::string& bytes) {
    struct Reader {
      const std::string& bytes;
      std::size_t at = 0;
    } reader{bytes};
    cairo_surface_t* surface = cairo_image_surface_create_from_png_stream(
        [](void* from, unsigned char* to, unsigned length) {
          auto& source = *static_cast<Reader*>(from);
          if (source.bytes.size() - source.at < length) return CAIRO_STATUS_READ_ERROR;
          std::copy_n(source.bytes.begin() + static_cast<std::ptrdiff_t>(source.at), length, to);
          source.at += length;
          return CAIRO_STATUS_SUCCESS;
        },
        &reader);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) throw std::runtime_error("no PNG");
    Image image{cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface), {}};
    const unsigned char* data = cairo_image_surface_get_data(surface);
    for (int y = 0; y < image.height; ++y) {
      const auto* row =
          reinterpret_cast<const std::uint32_t*>(data + y * cairo_image_surface_get_stride(surface));
      for (int x = 0; x < image.width; ++x) image.pixels.push_back(row[x] & 0xffffff);
    }
    cairo_surface_destroy(surface);
    return image;
  }

  std::size_t count(std::uint32_t colour) const {
    return static_cast<std::size_t>(std::count(pixels.begin(), pixels.end(), colour));
  }

  /// The smallest box around all pixels of this colour to the left of `right`; throws when there are fewer
  /// than `at_least`.
  Box box(std::uint32_t colour, std::size_t at_least, int right) const {
    Box box{width, height, 0, 0};
    std::size_t found = 0;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < std::min(width, right); ++x) {
        if (pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                   static_cast<std::size_t>(x)] != colour) {
          continue;
        }
        ++found;
        box = {std::min(box.left, x), std::min(box.top, y), std::max(box.right, x + 1),
               std::max(box.bottom, y + 1)};
      }
    }
    if (found < at_least) throw std::runtime_error("not enough pixels of this colour");
    return box;
  }
};

}  // namespace attn::test
