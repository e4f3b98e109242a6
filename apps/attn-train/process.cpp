#include "process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "attn/core/error.h"

namespace attn::train {
namespace {

constexpr int standard_input = 0, standard_output = 1, standard_error = 2;

/// What posix_spawn does between fork and exec.
class Actions {
 public:
  Actions() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes_, 0);
    // Shells start background programs with some of these ignored.
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  Actions(Actions&&) = delete;
  Actions& operator=(Actions&&) = delete;
  ~Actions() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  void open(int descriptor, const char* path, int flags) {
    posix_spawn_file_actions_addopen(&actions_, descriptor, path, flags, 0666);
  }
  void duplicate(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  int spawn(pid_t& id, std::vector<std::string> arguments) const {
    std::vector<char*> words;
    words.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    // The running program itself, even if another file has its name by now.
    return posix_spawn(&id, "/proc/self/exe", &actions_, &attributes_, words.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const std::filesystem::path& log, bool append) {
  std::error_code failed;
  std::filesystem::create_directories(log.parent_path(), failed);
  // Opened here first: a failure between fork and exec would not say what failed.
  const int opened = open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (append ? 0 : O_TRUNC), 0666);
  if (opened < 0) fail(ExitCode::file, "{} cannot be written: {}", log.string(), std::strerror(errno));
  close(opened);
  output_ = memfd_create("attn-output", MFD_CLOEXEC);
  if (output_ < 0) fail(ExitCode::internal, "no room for the output of a run: {}", std::strerror(errno));
  Actions actions;
  actions.open(standard_input, "/dev/null", O_RDONLY);
  actions.duplicate(output_, standard_output);
  actions.open(standard_error, log.c_str(), O_WRONLY | O_APPEND);
  if (const int error = actions.spawn(id_, arguments); error != 0) {
    close(std::exchange(output_, -1));
    fail(ExitCode::internal, "a process for a run cannot be started: {}", std::strerror(error));
  }
}

Process::Process(Process&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      output_(std::exchange(other.output_, -1)),
      status_(std::exchange(other.status_, std::nullopt)) {}

Process::~Process() {
  if (id_ > 0 && !status_) {
    kill(id_, SIGTERM);
    int status = 0;
    while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (output_ >= 0) close(output_);
}

std::optional<int> Process::ended() {
  int status = 0;
  if (!status_ && waitpid(id_, &status, WNOHANG) == id_) status_ = status;
  return status_;
}

void Process::send(int signal) const {
  if (id_ > 0 && !status_) kill(id_, signal);
}

std::string Process::output() const {
  std::string text;
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t count = pread(output_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace attn::train
