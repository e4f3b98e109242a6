#include "attn/cli/output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "attn/core/error.h"

namespace attn::cli {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 16U;

[[noreturn]] void fail_write(int error) {
  if (error == EPIPE) throw BrokenPipe();
  fail(ExitCode::file, "cannot write to standard output: {}", std::generic_category().message(error));
}

}  // namespace

void StandardOutput::write(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() >= buffer_bytes) flush();
}

void StandardOutput::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      // A non-blocking pipe that another program has set up; wait until it takes more.
      pollfd ready = {.fd = descriptor_, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      const int error = errno;
      buffer_.clear();
      fail_write(error);
    }
  }
  buffer_.clear();
}

void StandardOutput::finish() {
  flush();
  // Pipes and terminals cannot be synchronised and say so with EINVAL or ENOTSUP.
  if (::fsync(descriptor_) != 0 && (errno == ENOSPC || errno == EIO || errno == EDQUOT)) fail_write(errno);
}

}  // namespace attn::cli
