#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace attn {

/// What a failure means for the caller of a tool; the values are the exit codes of every attn program.
enum class ExitCode : int {
  ok = 0,
  internal = 1,      ///< a fault of attn itself
  usage = 2,         ///< wrong command line, or a request that the model cannot meet
  config = 3,        ///< a configuration file or --set value is wrong
  input_data = 4,    ///< a corpus, text or archive that cannot be used
  file = 5,          ///< a file or disk operation failed
  backend = 6,       ///< a plugin is missing, refuses, or failed
  bad_lines = 7,     ///< finished, but some lines could not be treated as asked
  interrupted = 130  ///< stopped by a signal, after saving
};

/// Every error that attn reports: one clear sentence that names place and remedy, and the exit code it leads
/// to.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// A device has no memory left for what was asked of it. Smaller pieces of the same work may fit.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(ExitCode::backend, message) {}
};

/// Throws Error with a message in fmt's format.
template<typename... Args>
[[noreturn]] void fail(ExitCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace attn
