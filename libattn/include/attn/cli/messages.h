#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace attn::cli {

enum class Level { quiet, normal, verbose };

/// Messages for people, on standard error: "attn-train: warning: ...". Colour only on a terminal and without
/// NO_COLOR.
class Messages {
 public:
  /// `descriptor` is where messages go; the caller owns it.
  Messages(std::string tool, Level level, int descriptor = 2);

  Level level() const noexcept { return level_; }
  const std::string& tool() const noexcept { return tool_; }
  int descriptor() const noexcept { return descriptor_; }

  /// Shown at every level.
  template<typename... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    print(Kind::error, fmt::format(format, std::forward<Args>(args)...));
  }
  /// Shown unless quiet.
  template<typename... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) const {
    if (level_ != Level::quiet) print(Kind::warning, fmt::format(format, std::forward<Args>(args)...));
  }
  /// Shown unless quiet.
  template<typename... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    if (level_ != Level::quiet) print(Kind::info, fmt::format(format, std::forward<Args>(args)...));
  }
  /// Shown with -v only.
  template<typename... Args>
  void detail(fmt::format_string<Args...> format, Args&&... args) const {
    if (level_ == Level::verbose) print(Kind::info, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  enum class Kind { error, warning, info };
  void print(Kind kind, std::string_view text) const;

  std::string tool_;
  Level level_;
  int descriptor_;
  bool colour_;
};

}  // namespace attn::cli
