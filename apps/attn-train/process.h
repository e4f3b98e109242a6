#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attn::train {

/// A process of this same program with other arguments. It is in a process group of its own, so that the
/// Ctrl-C of a terminal reaches it only through us, once.
class Process {
 public:
  /// Standard output is kept for output(); standard error goes to `log`, which is written anew or, with
  /// `append`, added to. Throws Error (file) when the log cannot be opened or the program not be started.
  Process(const std::vector<std::string>& arguments, const std::filesystem::path& log, bool append);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  /// Asks a process that still runs to end (SIGTERM), and waits for it.
  ~Process();

  /// How it ended, as waitpid() says; nothing as long as it runs.
  std::optional<int> ended();
  void send(int signal) const;
  /// What it printed to standard output so far.
  std::string output() const;

 private:
  pid_t id_ = -1;
  int output_ = -1;
  std::optional<int> status_;
};

}  // namespace attn::train
