#include "attn/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace attn::cli {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) == 1 && environment("TERM") != "dumb";
}

bool wants_colour(int descriptor) {
  return is_terminal(descriptor) && environment("NO_COLOR").empty();
}

std::size_t terminal_width(int descriptor) {
  winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace attn::cli
