#include "attn/experiment/run_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "attn/core/error.h"
#include "attn/io/atomic_file.h"
#include "attn/training/checkpoint.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr const char* subfolders[] = {"checkpoints", "samples", "plots"};
constexpr const char* optional_folders[] = {"tensorboard"};

void make_folder(const fs::path& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed)
    fail(ExitCode::file, "the run directory {} cannot be created: {}", path.string(), failed.message());
}

void remove_path(const fs::path& path) {
  std::error_code failed;
  fs::remove_all(path, failed);
  if (failed) fail(ExitCode::file, "{} cannot be removed: {}", path.string(), failed.message());
}

// Only what a run writes: a folder that holds other things is never emptied.
void remove_former_run(const fs::path& path) {
  for (const char* name :
       {"config.yaml", "command.txt", "environment.json", "status.json", "log.txt", "lint.json",
        "metrics.jsonl", "report.json", "regression.h5", "source.model", "target.model"}) {
    remove_path(path / name);
  }
  for (const char* folder : subfolders) remove_path(path / folder);
  for (const char* folder : optional_folders) remove_path(path / folder);
}

bool holds_anything(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return false;
  bool found = false;
  for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed))
    found = found || entry->path().filename() != RunLock::file_name;
  if (failed)
    fail(ExitCode::file, "the run directory {} cannot be read: {}", path.string(), failed.message());
  return found;
}

void check_state(const fs::path& path, RunDirectory::Mode mode) {
  if (mode == RunDirectory::Mode::resume && latest_checkpoint(path).empty()) {
    fail(ExitCode::file, "{} has no checkpoint to resume from; start without --resume", path.string());
  }
  if (mode == RunDirectory::Mode::fresh && holds_anything(path)) {
    fail(ExitCode::file,
         "the run directory {} is not empty; go on with --resume, start over with --force, or choose another "
         "name",
         path.string());
  }
}

std::vector<fs::path> checkpoints_named(const fs::path& run, const char* prefix) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", ignored)) {
    if (entry.path().filename().string().starts_with(prefix) && entry.path().extension() == ".h5")
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// What a process that was killed was writing.
void remove_partial_files(const fs::path& folder) {
  std::vector<fs::path> partial;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".part") partial.push_back(entry.path());
  }
  for (const fs::path& path : partial) remove_path(path);
}

// A validation inside an epoch has a fraction for its epoch.
bool happened(const nlohmann::json& metrics, std::int64_t epochs, std::int64_t update) {
  const double epoch = metrics.value("epoch", 0.0);
  if (epoch == std::floor(epoch)) return epoch <= static_cast<double>(epochs);
  return metrics.value("update", std::int64_t{0}) <= update;
}

}  // namespace

RunDirectory::RunDirectory(fs::path path, Mode mode) : path_(std::move(path)) {
  std::error_code ignored;
  if (fs::exists(path_, ignored) && !fs::is_directory(path_, ignored)) {
    fail(ExitCode::file, "the run directory {} is a file; choose another name", path_.string());
  }
  // A folder that is refused stays as it is; one that somebody writes is refused for that reason first.
  if (!RunLock::held(path_)) check_state(path_, mode);
  make_folder(path_);
  lock_.emplace(path_);
  check_state(path_, mode);
  if (mode == Mode::force) remove_former_run(path_);
  if (mode == Mode::resume) remove_partial_files(path_ / "checkpoints");
  for (const char* folder : subfolders) make_folder(path_ / folder);
}

fs::path RunDirectory::checkpoint(std::int64_t update) const {
  return path_ / "checkpoints" / fmt::format("update-{:08}.h5", update);
}

fs::path RunDirectory::kept_checkpoint(std::int64_t update) const {
  return path_ / "checkpoints" / fmt::format("best-{:08}.h5", update);
}

void RunDirectory::write(const std::string& name, std::string_view text) const {
  write_file_atomically(path_ / name, text);
}

void RunDirectory::append_line(const std::string& name, std::string_view line) const {
  const fs::path file = path_ / name;
  std::FILE* stream = std::fopen(file.c_str(), "a");
  const bool opened = stream != nullptr;
  bool written = opened && std::fwrite(line.data(), 1, line.size(), stream) == line.size() &&
                 std::fputc('\n', stream) != EOF;
  if (opened) written = std::fclose(stream) == 0 && written;
  if (!written) fail(ExitCode::file, "{} cannot be written: {}", file.string(), std::strerror(errno));
}

void RunDirectory::rewind_metrics(std::int64_t epochs, std::int64_t update) const {
  std::error_code ignored;
  if (!fs::exists(path_ / "metrics.jsonl", ignored)) return;
  const std::string text = read_file(path_ / "metrics.jsonl");
  std::string kept;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    const auto entry = nlohmann::json::parse(line, nullptr, false);
    if (entry.is_object() && happened(entry, epochs, update)) kept += line + "\n";
    start = end + 1;
  }
  write("metrics.jsonl", kept);
}

std::vector<fs::path> RunDirectory::numbered_checkpoints() const {
  return checkpoints_named(path_, "update-");
}

std::vector<fs::path> RunDirectory::kept_checkpoints() const {
  return checkpoints_named(path_, "best-");
}

void RunDirectory::remove(const fs::path& file) const {
  remove_path(file);
}

void RunDirectory::prune_checkpoints(std::int64_t keep) const {
  const std::vector<fs::path> numbered = numbered_checkpoints();
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < numbered.size(); ++i) remove_path(numbered[i]);
}

}  // namespace attn
