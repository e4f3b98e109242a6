#include "attn/runtime/backend.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "attn/core/error.h"
#include "attn/processor_tiles.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view file_prefix = "libattn-backend-";
constexpr std::string_view file_suffix = ".so";

void log_from_plugin(int32_t level, const char* message) {
  if (level <= 1 && message != nullptr) std::fprintf(stderr, "%s\n", message);
}

constexpr attn_host host{sizeof(attn_host), ATTN_ABI_MAJOR, ATTN_ABI_MINOR, log_from_plugin};

// Single features, since clang 14 does not know the level names. __builtin_cpu_supports also asks whether the
// operating system saves the AVX registers.
int instruction_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v2 =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("ssse3");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? 4 : v3 ? 3 : v2 ? 2 : 1;
#else
  return 1;
#endif
}

constexpr int amx_level = 5;  // x86-64-v4 and matrix tiles

struct PluginFile {
  std::string name, instruction_set;
  int level = 1;  // the instruction level that it needs
  fs::path file;

  bool is_called(std::string_view wanted) const {
    return wanted == name || (!instruction_set.empty() && wanted == name + "-" + instruction_set);
  }
};

/// Why this processor cannot run the plugin; empty if it can. Asks for the tiles only if they are needed.
std::string what_lacks(const PluginFile& plugin) {
  const int level = instruction_level(), needed = std::min(plugin.level, amx_level - 1);
  if (needed > level) return fmt::format("needs x86-64-v{}, this CPU has v{}", needed, level);
  if (plugin.level == amx_level && attn_processor_tiles_granted() == 0)
    return "needs matrix tiles (AMX), which this CPU lacks or the operating system refuses";
  return "";
}

std::optional<PluginFile> parse_file_name(const fs::path& file) {
  std::string name = file.filename().string();
  if (!name.starts_with(file_prefix) || !name.ends_with(file_suffix)) return std::nullopt;
  name = name.substr(file_prefix.size(), name.size() - file_prefix.size() - file_suffix.size());
  PluginFile plugin{name, "", 1, file};
  if (const auto dash = name.rfind('-'); dash != std::string::npos) {
    const std::string tail = name.substr(dash + 1);
    if (tail == "v2" || tail == "v3" || tail == "v4" || tail == "amx" || tail == "generic") {
      plugin.name = name.substr(0, dash);
      plugin.instruction_set = tail;
      plugin.level = tail == "generic" ? 1 : tail == "amx" ? amx_level : tail[1] - '0';
    }
  }
  return plugin;
}

// All plugin files, in search order; within a folder by name, the highest instruction set first.
std::vector<PluginFile> plugin_files() {
  std::vector<PluginFile> result;
  for (const fs::path& folder : backend_search_path()) {
    std::vector<PluginFile> here;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (auto plugin = parse_file_name(entry.path())) here.push_back(std::move(*plugin));
    }
    std::sort(here.begin(), here.end(), [](const PluginFile& a, const PluginFile& b) {
      return a.name != b.name ? a.name < b.name : a.level > b.level;
    });
    result.insert(result.end(), here.begin(), here.end());
  }
  return result;
}

std::string loader_message() {
  const char* message = dlerror();
  return message != nullptr ? message : "unknown reason";
}

/// RTLD_LOCAL keeps a plugin's symbols from the program; RTLD_DEEPBIND keeps the program's from the plugin.
/// SentencePiece brings a protobuf of its own, and LibTorch, which has another one, crashes if it gets that.
/// AddressSanitizer does not allow it.
int loading_flags() {
  const bool sanitized = dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
  return RTLD_NOW | RTLD_LOCAL | (sanitized ? 0 : RTLD_DEEPBIND);
}

}  // namespace

Backend::Backend(fs::path file, const attn_backend& table)
    : file_(std::move(file)), table_(&table), name_(table.name), version_(table.version) {}

std::shared_ptr<const Backend> Backend::load(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) fail(ExitCode::backend, "backend plugin {} does not exist", file.string());
  if (fs::is_directory(file, ignored)) {
    fail(ExitCode::backend, "backend plugin {} is a folder; name the .so file in it", file.string());
  }
  void* library = dlopen(fs::absolute(file).c_str(), loading_flags());
  if (library == nullptr)
    fail(ExitCode::backend, "backend plugin {} cannot be loaded: {}", file.string(), loader_message());
  void* symbol = dlsym(library, ATTN_BACKEND_ENTRY_NAME);
  if (symbol == nullptr) {
    fail(ExitCode::backend, "{} is not a backend plugin: it does not export {}", file.string(),
         ATTN_BACKEND_ENTRY_NAME);
  }
  const auto entry = reinterpret_cast<attn_backend_entry>(symbol);
  const attn_backend* table = entry(&host);
  if (table == nullptr) fail(ExitCode::backend, "backend plugin {} returned no table", file.string());
  if (table->abi_major != ATTN_ABI_MAJOR) {
    fail(ExitCode::backend,
         "backend plugin {} was built for version {} of the backend boundary, this program has {}; "
         "rebuild the plugin",
         file.string(), table->abi_major, ATTN_ABI_MAJOR);
  }
  const bool complete = ATTN_HAS(table, attn_backend, name) && ATTN_HAS(table, attn_backend, version) &&
                        ATTN_HAS(table, attn_backend, device_count) &&
                        ATTN_HAS(table, attn_backend, device_info) && ATTN_HAS(table, attn_backend, open) &&
                        ATTN_HAS(table, attn_backend, close) && ATTN_HAS(table, attn_backend, allocate) &&
                        ATTN_HAS(table, attn_backend, release) && ATTN_HAS(table, attn_backend, upload) &&
                        ATTN_HAS(table, attn_backend, download) && ATTN_HAS(table, attn_backend, query) &&
                        ATTN_HAS(table, attn_backend, run) && ATTN_HAS(table, attn_backend, synchronize);
  if (!complete)
    fail(ExitCode::backend, "backend plugin {} leaves required entries of its table empty", file.string());
  return std::shared_ptr<const Backend>(new Backend(file, *table));
}

int Backend::device_count(std::string* why_not) const {
  attn_error error{ATTN_OK, -1, {}};
  const int count = table_->device_count(&error);
  if (count <= 0 && why_not != nullptr) *why_not = error.message;
  return count;
}

std::vector<fs::path> backend_search_path() {
  std::vector<fs::path> folders;
  if (const char* variable = std::getenv("ATTN_BACKEND_PATH")) {
    std::string_view rest = variable;
    while (!rest.empty()) {
      const auto colon = rest.find(':');
      if (const auto folder = rest.substr(0, colon); !folder.empty()) folders.emplace_back(folder);
      rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
    }
  }
  std::error_code failed;
  const fs::path executable = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) folders.push_back(executable.parent_path().parent_path() / "lib" / "attn" / "backends");
#ifdef ATTN_INSTALL_BACKENDS
  folders.emplace_back(ATTN_INSTALL_BACKENDS);
#endif
  return folders;
}

std::shared_ptr<const Backend> find_backend(std::string_view name_or_path) {
  if (name_or_path.find('/') != std::string_view::npos) return Backend::load(fs::path(name_or_path));
  std::set<std::string> known;
  std::string too_new;
  for (const PluginFile& plugin : plugin_files()) {
    known.insert(plugin.name);
    if (!plugin.is_called(name_or_path)) continue;
    const std::string why_not = what_lacks(plugin);
    if (why_not.empty()) return Backend::load(plugin.file);
    too_new += fmt::format("{}{} {}", too_new.empty() ? "" : "; ", plugin.instruction_set, why_not);
  }
  if (!too_new.empty()) {
    fail(ExitCode::backend, "backend '{}' is not installed for this CPU: {}", name_or_path, too_new);
  }
  std::vector<std::string> folders;
  for (const fs::path& folder : backend_search_path()) folders.push_back(folder.string());
  fail(ExitCode::backend,
       "unknown backend '{}'; there are: {} (looked in {}; set ATTN_BACKEND_PATH or give the path of "
       "a plugin)",
       name_or_path, known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")),
       fmt::join(folders, ", "));
}

std::vector<BackendListing> list_backends() {
  std::vector<BackendListing> result;
  for (const PluginFile& plugin : plugin_files()) {
    BackendListing listing;
    listing.name = plugin.name;
    listing.instruction_set = plugin.instruction_set;
    listing.file = plugin.file;
    if (std::string why_not = what_lacks(plugin); !why_not.empty()) {
      listing.why_not = std::move(why_not);
      result.push_back(std::move(listing));
      continue;
    }
    try {
      const auto backend = Backend::load(plugin.file);
      const attn_backend& table = backend->table();
      listing.loaded = true;
      listing.version = backend->version();
      listing.description = table.description != nullptr ? table.description : "";
      listing.abi = fmt::format("{}.{}", table.abi_major, table.abi_minor);
      const int count = backend->device_count(&listing.why_not);
      for (int device = 0; device < count; ++device) {
        attn_error error{ATTN_OK, -1, {}};
        attn_device_info information{};
        information.struct_size = sizeof information;
        const bool known = table.device_info(device, &information, &error) == ATTN_OK;
        listing.devices.emplace_back(known ? information.name : error.message);
      }
    } catch (const Error& error) {
      listing.why_not = error.what();
    }
    result.push_back(std::move(listing));
  }
  return result;
}

}  // namespace attn
