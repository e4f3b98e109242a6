#include "attn/cli/messages.h"

#include <unistd.h>

#include <cerrno>

#include "attn/cli/terminal.h"
#include "cli/write_all.h"

namespace attn::cli {

void write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    if (count <= 0 && errno != EINTR) return;
  }
}

Messages::Messages(std::string tool, Level level, int descriptor)
    : tool_(std::move(tool)), level_(level), descriptor_(descriptor), colour_(wants_colour(descriptor)) {}

void Messages::print(Kind kind, std::string_view text) const {
  constexpr std::string_view red = "\x1b[31m";
  constexpr std::string_view yellow = "\x1b[33m";
  constexpr std::string_view plain = "\x1b[0m";
  std::string line;
  if (kind == Kind::info) {
    line = fmt::format("{}\n", text);
  } else {
    const std::string_view label = kind == Kind::error ? "error: " : "warning: ";
    const std::string_view colour = !colour_ ? "" : kind == Kind::error ? red : yellow;
    line = fmt::format("{}: {}{}{}{}\n", tool_, colour, label, colour_ ? plain : "", text);
  }
  // One write a message, so that those of several processes do not mix within a line.
  write_all(descriptor_, line);
}

}  // namespace attn::cli
