#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace attn::cli {

/// Thrown when the reader of standard output has gone (`attn-translate ... | head`): no error; run_tool ends
/// quietly.
class BrokenPipe : public std::exception {
 public:
  const char* what() const noexcept override { return "the reader of standard output has gone"; }
};

/// Writes data to standard output, buffered, with every write checked: a result that is cut off by a full
/// disk must not end with exit code 0. Call finish() at the end; what is still buffered at destruction is
/// lost, since a destructor could not report it.
class StandardOutput {
 public:
  StandardOutput() = default;
  /// For another descriptor that the caller owns.
  explicit StandardOutput(int descriptor) : descriptor_(descriptor) {}

  /// Throws Error (ExitCode::file) when the disk is full and BrokenPipe when nobody reads any more.
  void write(std::string_view bytes);
  /// Hands on what is buffered, as after each line of an interactive session. Throws as write().
  void flush();
  /// The last flush; also notices what a network file system reports late. Throws as write().
  void finish();

 private:
  int descriptor_ = 1;
  std::string buffer_;
};

}  // namespace attn::cli
