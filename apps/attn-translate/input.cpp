#include "input.h"

#include <fcntl.h>
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

int open_input(const std::string& path) {
  if (path == "-") return STDIN_FILENO;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) fail(ExitCode::file, "cannot open '{}': there is no such file", path);
    fail(ExitCode::file, "cannot open '{}': {}", path, std::generic_category().message(errno));
  }
  return descriptor;
}

}  // namespace

DescriptorBuffer::DescriptorBuffer(const std::string& path, std::function<void()> idle)
    : name_(path == "-" ? "standard input" : path), descriptor_(open_input(path)), idle_(std::move(idle)) {}

DescriptorBuffer::~DescriptorBuffer() {
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

DescriptorBuffer::int_type DescriptorBuffer::underflow() {
  if (ended_) return traits_type::eof();  // a terminal would ask for another end
  if (!has_bytes(descriptor_, patience_milliseconds)) idle_();
  while (!cli::interrupted()) {
    if (!has_bytes(descriptor_, interruption_milliseconds)) continue;
    const ssize_t count = ::read(descriptor_, bytes_.data(), bytes_.size());
    if (count > 0) {
      setg(bytes_.data(), bytes_.data(), bytes_.data() + count);
      digest_.update(std::string_view(bytes_.data(), static_cast<std::size_t>(count)));
      bytes_read_ += static_cast<std::uint64_t>(count);
      return traits_type::to_int_type(bytes_.front());
    }
    if (count == 0) {
      ended_ = true;
      break;
    }
    if (errno == EISDIR)
      fail(ExitCode::file, "cannot read '{}': it is a directory; name a file in it", name_);
    if (errno != EINTR) {
      fail(ExitCode::file, "cannot read '{}': {}", name_, std::generic_category().message(errno));
    }
  }
  return traits_type::eof();
}

Input::Input(const std::string& path, std::function<void()> idle)
    : buffer_(path, std::move(idle)),
      stream_(&buffer_),
      reader_(stream_, buffer_.name()),
      window_(is_regular_file(buffer_.descriptor()) ? file_window : pipe_window) {}

std::optional<InputLine> Input::next() {
  const std::size_t replaced = reader_.report().lines_with_replacements;
  std::optional<std::string> line = reader_.next();
  if (!line) return std::nullopt;
  lines_digest_.update(line->size()).update(*line);
  return InputLine{std::move(*line), reader_.report().lines_with_replacements > replaced};
}

std::string Input::digest() {
  using Traits = std::streambuf::traits_type;
  while (!Traits::eq_int_type(buffer_.snextc(), Traits::eof())) {
  }
  return buffer_.digest();
}

}  // namespace attn::translate
