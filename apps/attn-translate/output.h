#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "attn/cli/output.h"
#include "attn/io/atomic_file.h"

namespace attn::translate {

/// Where results go: standard output, or a file that appears when it is complete. Every write is checked.
class Output {
 public:
  /// "-" is standard output. Throws Error(file) where a file cannot be made.
  explicit Output(const std::string& path) {
    if (path != "-") file_.emplace(path);
  }

  /// Throws Error(file), or cli::BrokenPipe when nobody reads standard output any more.
  void write(std::string_view bytes);
  /// Lets a reader of standard output see what has been written.
  void flush();
  /// Completes the file.
  void finish();

 private:
  std::optional<AtomicFile> file_;
  cli::StandardOutput standard_;
};

}  // namespace attn::translate
