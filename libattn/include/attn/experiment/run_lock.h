#pragma once
#include <filesystem>

namespace attn {

/// Keeps two processes from writing into one run directory: an exclusive flock on its file .lock, which ends
/// with the process however it ends. The file itself stays.
class RunLock {
 public:
  /// Locks an existing folder. Throws Error (file) that names the other process when somebody else holds the
  /// lock, or when the folder cannot be written. A file system without locks counts as free.
  explicit RunLock(const std::filesystem::path& folder);
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

  /// Whether some process holds the lock of this folder now. False for what is no folder.
  static bool held(const std::filesystem::path& folder);

  /// The file's name in the folder.
  static constexpr const char* file_name = ".lock";

 private:
  int descriptor_ = -1;
};

}  // namespace attn
