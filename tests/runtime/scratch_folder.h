#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace attn::test {

/// A folder of its own, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attn-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ScratchFolder(ScratchFolder&&) = delete;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const noexcept { return path_; }
  /// A copy of a test plugin under the file name of a backend.
  void install(const std::string& plugin, const std::string& backend) const {
    std::filesystem::copy_file(std::filesystem::path(ATTN_TEST_PLUGINS) / (plugin + ".so"),
                               path_ / ("libattn-backend-" + backend + ".so"));
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }

 private:
  std::filesystem::path path_;
};

/// Sets ATTN_BACKEND_PATH as long as it lives.
class BackendPath {
 public:
  explicit BackendPath(const std::string& value) { setenv("ATTN_BACKEND_PATH", value.c_str(), 1); }
  BackendPath(const BackendPath&) = delete;
  BackendPath& operator=(const BackendPath&) = delete;
  BackendPath(BackendPath&&) = delete;
  BackendPath& operator=(BackendPath&&) = delete;
  ~BackendPath() { unsetenv("ATTN_BACKEND_PATH"); }
};

}  // namespace attn::test
