#include <fmt/chrono.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <system_error>

#include "attn/core/version.h"
#include "attn/io/atomic_file.h"
#include "io/hdf5_internal.h"

namespace attn::hdf5 {
namespace {

namespace fs = std::filesystem;
using detail::checked;
using detail::FileState;
using detail::Scoped;

constexpr std::size_t verify_bytes = std::size_t{16} << 20U;

bool mentions(const std::vector<std::string>& stack, std::string_view words) {
  return std::any_of(stack.begin(), stack.end(),
                     [&](const std::string& text) { return text.find(words) != std::string::npos; });
}

/// Every file is closed by its owner. The library's own clean-up at exit would print about objects of damaged
/// files that it cannot close. Comes before every other call.
void start_library() {
  static const herr_t no_clean_up = H5dont_atexit();
  static_cast<void>(no_clean_up);
}

/// Turns the library's error stack after a failed open or create into one sentence.
[[noreturn]] void fail_open(std::string_view action, const std::string& name) {
  const std::vector<std::string> stack = detail::error_stack();
  if (mentions(stack, "unable to lock file")) {
    fail(ExitCode::file,
         "cannot {} {}: another program has it open (file lock: {}); close that program, or set "
         "HDF5_USE_FILE_LOCKING=FALSE if the file system has no locks",
         action, name, detail::innermost_reason());
  }
  if (mentions(stack, "truncated file")) {
    fail(ExitCode::file, "cannot {} {}: it is truncated, so its end is missing; copy or produce it again",
         action, name);
  }
  fail(ExitCode::file, "cannot {} {}: {}", action, name, detail::innermost_reason());
}

/// Closing the file closes all that is open in it, so that close() means closed.
Scoped access_properties() {
  Scoped properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fclose_degree(properties, H5F_CLOSE_STRONG);
  return properties;
}

detail::Handle root_of(hid_t file, const std::string& name) {
  auto state = std::make_shared<FileState>(FileState{.name = name, .id = file});
  const hid_t root = checked(*state, "open", "", [&] { return H5Gopen2(file, "/", H5P_DEFAULT); });
  return {std::move(state), root, H5Gclose};
}

detail::Handle create_file(const fs::path& path, const std::string& name) {
  start_library();
  const Scoped creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation, false);
  const Scoped access = access_properties();
  // From HDF5 1.8 on, what describes the data has checksums too.
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
  const detail::QuietErrors quiet;
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access);
  if (file < 0) fail_open("write", name);
  return root_of(file, name);
}

detail::Handle open_file(const fs::path& path, const std::string& name) {
  start_library();
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    fail(ExitCode::file, "cannot read {}: {}", name, std::generic_category().message(ENOENT));
  }
  if (fs::is_directory(status))
    fail(ExitCode::file, "cannot read {}: it is a folder; name an HDF5 file", name);
  if (fs::is_regular_file(status) && fs::file_size(path, error) == 0 && !error) {
    fail(ExitCode::file, "cannot read {}: the file is empty", name);
  }
  const Scoped access = access_properties();
  const detail::QuietErrors quiet;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access);
  if (file >= 0) return root_of(file, name);
  if (mentions(detail::error_stack(), "file signature not found")) {
    fail(ExitCode::file, "cannot read {}: it is not an HDF5 file", name);
  }
  if (mentions(detail::error_stack(), "unable to read superblock")) {
    fail(ExitCode::file, "cannot read {}: it is truncated or damaged ({}); copy or produce it again", name,
         detail::innermost_reason());
  }
  fail_open("read", name);
}

/// Reads a dataset block by block and drops the values; the library compares the checksums.
void read_through(FileState& file, hid_t dataset, const std::string& path) {
  const Scoped stored(H5Dget_type(dataset), H5Tclose);
  const Scoped type(
      checked(file, "verify", path, [&] { return H5Tget_native_type(stored, H5T_DIR_DEFAULT); }), H5Tclose);
  const Scoped space(H5Dget_space(dataset), H5Sclose);
  Shape shape = detail::shape_of(space);
  if (detail::element_count(shape) == 0) return;
  const bool scalar = shape.empty();
  const std::uint64_t rows = scalar ? 1 : shape.front();
  if (!scalar) shape.front() = 1;
  const std::uint64_t row_elements = detail::element_count(shape);
  const std::uint64_t row_bytes = row_elements * H5Tget_size(type);
  const std::uint64_t step =
      std::clamp<std::uint64_t>(verify_bytes / std::max<std::uint64_t>(row_bytes, 1), 1, rows);
  std::vector<std::byte> buffer(step * row_bytes);
  for (std::uint64_t first = 0; first < rows; first += step) {
    const std::uint64_t count = std::min(step, rows - first);
    const Scoped memory = detail::simple_space(scalar ? Shape{} : Shape{count * row_elements});
    if (!scalar) {
      std::vector<hsize_t> start(shape.size(), 0);
      std::vector<hsize_t> extents(shape.begin(), shape.end());
      start.front() = first;
      extents.front() = count;
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, extents.data(), nullptr);
    }
    checked(file, "verify", path,
            [&] { return H5Dread(dataset, type, memory, space, H5P_DEFAULT, buffer.data()); });
    if (H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tis_variable_str(type) > 0) {
      H5Dvlen_reclaim(type, memory, H5P_DEFAULT, buffer.data());
    }
  }
}

void verify_group(FileState& file, hid_t group, const std::string& path) {
  H5G_info_t info = {};
  checked(file, "verify", path, [&] { return H5Gget_info(group, &info); });
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    const Scoped child(
        checked(file, "verify", path,
                [&] { return H5Oopen_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT); }),
        H5Oclose);
    std::string name(static_cast<std::size_t>(std::max<ssize_t>(H5Iget_name(child, nullptr, 0), 0)), '\0');
    H5Iget_name(child, name.data(), name.size() + 1);
    if (H5Iget_type(child) == H5I_GROUP) verify_group(file, child, name);
    if (H5Iget_type(child) == H5I_DATASET) read_through(file, child, name);
  }
}

void verify_named(const fs::path& path, const std::string& name) {
  const detail::Handle root = open_file(path, name);
  const std::shared_ptr<FileState>& file = root.file();
  const auto close = [](FileState* state) { H5Fclose(std::exchange(state->id, -1)); };
  const std::unique_ptr<FileState, decltype(close)> closer(file.get(), close);
  verify_group(*file, root.id(), "/");
}

std::string utc_now() {
  std::int64_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  if (const char* fixed = std::getenv("SOURCE_DATE_EPOCH"); fixed != nullptr && *fixed != '\0') {
    const std::string_view text(fixed);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail(ExitCode::usage, "SOURCE_DATE_EPOCH must be a whole number of seconds since 1970, not '{}'", text);
    }
  }
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

}  // namespace

File File::create(const fs::path& path) {
  return {create_file(path, path.string()), "/"};
}

File File::open(const fs::path& path) {
  return {open_file(path, path.string()), "/"};
}

File::~File() {
  const std::shared_ptr<FileState> state = handle().file();
  if (!state || state->id < 0) return;
  const detail::QuietErrors quiet;
  H5Fclose(std::exchange(state->id, -1));
}

void File::close() {
  FileState& file = *handle().file();
  checked(file, "write", "", [&] { return H5Fflush(file.id, H5F_SCOPE_GLOBAL); });
  checked(file, "close", "", [&] { return H5Fclose(std::exchange(file.id, -1)); });
}

void verify(const fs::path& path) {
  verify_named(path, path.string());
}

void write_atomically(const fs::path& path, const std::function<void(File&)>& writer) {
  PartFile output(path);
  {
    File file(create_file(output.part(), output.target().string()), "/");
    writer(file);
    if (file.has_attribute("format")) mark_complete(file);
    file.close();
  }
  output.commit([&](const fs::path& part) { verify_named(part, output.target().string()); });
}

void write_header(File& file, const Header& header) {
  const auto set = [&](const char* name, const std::string& text) {
    if (!text.empty()) file.set_attribute(name, text);
  };
  file.set_attribute("format", header.format);
  file.set_attribute("format_version", static_cast<std::int32_t>(header.format_version));
  set("creator", header.creator);
  file.set_attribute("creator_version", version());
  set("git_revision", header.git_revision);
  file.set_attribute("created_utc", utc_now());
  set("command_line", header.command_line);
  set("backend", header.backend);
  set("device", header.device);
  if (header.seed) file.set_attribute("seed", *header.seed);
  set("checkpoint_sha256", header.checkpoint_sha256);
  set("config_sha256", header.config_sha256);
}

void mark_complete(File& file) {
  file.set_attribute("complete", std::uint8_t{1});
}

File open_checked(const fs::path& path, std::string_view format, int newest_version) {
  File file = File::open(path);
  const std::string& name = file.file_name();
  if (!file.has_attribute("format")) {
    fail(ExitCode::input_data,
         "{}: an HDF5 file without the attribute 'format'; expected a file of format {}", name, format);
  }
  const std::string found = file.string_attribute("format");
  if (found != format) {
    fail(ExitCode::input_data, "{}: the file has format {}; expected {}", name, found, format);
  }
  const auto version = file.attribute<std::int64_t>("format_version");
  if (version > newest_version) {
    fail(ExitCode::input_data,
         "{}: {} version {} is newer than this program, which reads up to version {}; update attn", name,
         format, version, newest_version);
  }
  if (!file.has_attribute("complete") || file.attribute<std::int64_t>("complete") != 1) {
    fail(ExitCode::input_data, "{}: the file is not complete: it is still being written or was interrupted",
         name);
  }
  return file;
}

}  // namespace attn::hdf5
