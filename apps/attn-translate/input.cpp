#include "input.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "attn/cli/signals.h"
#include "attn/core/error.h"

namespace attn::translate {
namespace {

constexpr std::size_t pipe_window = 512;  // so that a fast writer does not wait for long either
// Lines that are written one after the other are translated together if they come within this time.
constexpr int patience_milliseconds = 5;
// How often a wait looks for a signal that came just before it.
constexpr int interruption_milliseconds = 200;

bool has_bytes(int descriptor, int milliseconds) {
  pollfd entry{descriptor, POLLIN, 0};
  const int ready = ::poll(&entry, 1, milliseconds);
  return ready > 0 || (ready < 0 && errno != EINTR);  // after another failure, read says what is wrong
}

bool is_regular_file(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

DescriptorBuffer::int_type DescriptorBuffer::underflow() {
  if (!has_bytes(descriptor_, patience_milliseconds)) idle_();
  while (!cli::interrupted()) {
    if (!has_bytes(descriptor_, interruption_milliseconds)) continue;
    const ssize_t count = ::read(descriptor_, bytes_.data(), bytes_.size());
    if (count > 0) {
      setg(bytes_.data(), bytes_.data(), bytes_.data() + count);
      return traits_type::to_int_type(bytes_.front());
    }
    if (count == 0) break;
    if (errno != EINTR) {
      fail(ExitCode::file, "cannot read {}: {}", name_, std::generic_category().message(errno));
    }
  }
  return traits_type::eof();
}

Input::Input(const std::string& path, std::function<void()> idle) : window_(file_window) {
  if (path != "-") {
    reader_ = std::make_unique<LineReader>(path);
    return;
  }
  if (!is_regular_file(STDIN_FILENO)) window_ = pipe_window;
  buffer_ = std::make_unique<DescriptorBuffer>(STDIN_FILENO, "standard input", std::move(idle));
  stream_ = std::make_unique<std::istream>(buffer_.get());
  reader_ = std::make_unique<LineReader>(*stream_, "standard input");
}

}  // namespace attn::translate
