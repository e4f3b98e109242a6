#pragma once
#include <cairo.h>
#include <pango/pangocairo.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "attn/figures/picture.h"

namespace attn::figures {

/// Calls `draw` with a drawing context of width x height units and returns the picture's bytes. Throws Error
/// (ExitCode::internal) when cairo reports a failure.
std::string make_picture(PictureFormat format, double width, double height,
                         const std::function<void(cairo_t*)>& draw);

/// 0xRRGGBB as the colour that is drawn with next.
void set_colour(cairo_t* cairo, unsigned colour);

/// A label as it is shown: spaces at the ends, line ends and control characters become visible, a combining
/// character that has nothing to combine with stands on a dotted circle, invalid bytes become U+FFFD.
std::string visible_text(std::string_view text);

/// "zh-cn" when the texts have Han characters but neither kana nor hangul, otherwise "en": Chinese, Japanese
/// and Korean fonts draw the same code point differently.
const char* language_of(std::span<const std::string> texts);

/// Which part of a text lies at the given point.
enum class Anchor { start, middle, end };

/// Sets text in whatever fonts it needs.
class Typesetter {
 public:
  /// `language` decides between fonts, as language_of gives it.
  explicit Typesetter(const char* language);

  struct Size {
    double width = 0;
    double height = 0;
  };
  /// Of a text in a font of `size` units; a text wider than `limit` is cut short with an ellipsis.
  Size measure(const std::string& text, double size, double limit) const;
  /// Draws along the direction of reading through (x, y), which is the middle of the text's height; a
  /// `quarter_turn` reads from bottom to top.
  void draw(cairo_t* cairo, const std::string& text, double size, double limit, double x, double y,
            Anchor anchor, bool quarter_turn = false) const;

 private:
  struct Unref {
    void operator()(void* object) const { g_object_unref(object); }
  };
  using Layout = std::unique_ptr<PangoLayout, Unref>;
  Layout layout(const std::string& text, double size, double limit) const;

  std::unique_ptr<PangoFontMap, Unref> fonts_;
  std::unique_ptr<PangoContext, Unref> context_;
};

}  // namespace attn::figures
