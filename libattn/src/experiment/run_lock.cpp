#include "attn/experiment/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "attn/core/error.h"

namespace attn {
namespace {

using namespace std::chrono_literals;

// Whoever only asks holds the lock for a moment, too.
constexpr auto patience = 400ms;
constexpr auto between_tries = 20ms;

bool lock_exclusively(int descriptor) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return true;  // no locks on this file system
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(between_tries);
  }
  return true;
}

std::string holder(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t length = pread(descriptor, text.data(), text.size(), 0);
  std::string number(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  number.erase(std::min(number.find('\n'), number.size()));
  return number.empty() ? "" : fmt::format(" (process {})", number);
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / file_name;
  descriptor_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(ExitCode::file, "{} cannot be written: {}", file.string(), std::strerror(errno));
  if (!lock_exclusively(descriptor_)) {
    const std::string other = holder(descriptor_);
    close(std::exchange(descriptor_, -1));
    fail(ExitCode::file,
         "the run directory {} is in use by another attn-train{}; wait until it has ended, or choose another "
         "name",
         folder.string(), other);
  }
  // For the message above only: a disk that is full shows elsewhere.
  const std::string number = std::to_string(getpid()) + "\n";
  if (ftruncate(descriptor_, 0) == 0 && pwrite(descriptor_, number.data(), number.size(), 0) < 0) errno = 0;
}

RunLock::RunLock(RunLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunLock::~RunLock() {
  if (descriptor_ < 0) return;
  if (ftruncate(descriptor_, 0) != 0) errno = 0;
  close(descriptor_);
}

bool RunLock::held(const std::filesystem::path& folder) {
  const int descriptor = open((folder / file_name).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool busy = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(descriptor);
  return busy;
}

}  // namespace attn
