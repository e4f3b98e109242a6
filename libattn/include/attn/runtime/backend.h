#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/backend_abi.h"

namespace attn {

/// A loaded backend plugin. Plugins stay loaded until the process ends.
class Backend {
 public:
  /// Loads one plugin file. Throws Error(backend) if it is not a library, lacks the entry point, or was built
  /// for another version of the boundary.
  static std::shared_ptr<const Backend> load(const std::filesystem::path& file);

  const std::string& name() const noexcept { return name_; }
  const std::string& version() const noexcept { return version_; }
  const std::filesystem::path& file() const noexcept { return file_; }
  const attn_backend& table() const noexcept { return *table_; }

  /// Devices that it can use now; if 0, `why_not` (when given) receives the reason.
  int device_count(std::string* why_not = nullptr) const;

 private:
  Backend(std::filesystem::path file, const attn_backend& table);

  std::filesystem::path file_;
  const attn_backend* table_;
  std::string name_, version_;
};

/// The folders in which plugins are looked for, in order: those of ATTN_BACKEND_PATH (colon-separated),
/// beside the executable (`../lib/attn/backends`), the installation's.
std::vector<std::filesystem::path> backend_search_path();

/// Finds a backend by name ("eigen") or by the path of a plugin file (anything with a '/'), and loads the
/// variant for the best instruction set that this CPU has. Throws Error(backend) that lists what there is.
std::shared_ptr<const Backend> find_backend(std::string_view name_or_path);

/// One plugin file of the search path.
struct BackendListing {
  std::string name;             ///< "eigen"
  std::string instruction_set;  ///< "v4", or empty
  std::filesystem::path file;
  bool loaded = false;  ///< false: `why_not` says why, and the following are empty
  std::string version, description, abi;
  std::vector<std::string> devices;
  std::string why_not;
};

/// Every plugin file of the search path. A variant that this CPU cannot run is listed without being loaded.
std::vector<BackendListing> list_backends();

}  // namespace attn
