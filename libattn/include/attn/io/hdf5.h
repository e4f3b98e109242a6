#pragma once
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// HDF5 files through HDF5's C library: owning, move-only handles and one exception type.
///
/// What the library itself reports (a failed write, a damaged block) is an Error with ExitCode::file that
/// names the file, the object and the innermost reason. Such a failure is final: HDF5 can report success for
/// a later flush or close although data was lost, so every later call on that file throws the same Error
/// again. A healthy file that is not what the reader asked for (object missing, other type, shape or format)
/// is ExitCode::input_data and leaves the file usable. Not thread-safe for one file.
namespace attn::hdf5 {

template<typename T>
concept Number = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::int64_t> || std::same_as<T, std::uint8_t> || std::same_as<T, std::uint64_t>;

/// Extents, outermost axis first; empty for a scalar.
using Shape = std::vector<std::uint64_t>;

/// "(3, 4)"; "scalar" for an empty shape.
std::string to_string(const Shape& shape);

/// How a dataset is stored. Filters and growth imply chunks; scalars and datasets that are empty for good are
/// stored plainly whatever is asked, since HDF5 allows nothing else for them.
struct Storage {
  Shape chunk = {};         ///< empty: about 64 Ki elements where chunks are needed, else contiguous
  int deflate = 0;          ///< compression level 0 (off) to 9
  bool shuffle = false;     ///< groups bytes of equal significance, which helps deflate
  bool fletcher32 = false;  ///< a checksum for every chunk, checked at every read
  bool extendable = false;  ///< Dataset::append may grow axis 0 without bound

  /// Not compressed, with checksums: checkpoints.
  static Storage checked() { return {.fletcher32 = true}; }
  /// Shuffle, deflate 1 and checksums: big arrays for other programs.
  static Storage compressed() { return {.deflate = 1, .shuffle = true, .fletcher32 = true}; }
};

namespace detail {
struct FileState;

/// Owns one HDF5 identifier; closing it again after its file was closed is harmless.
class Handle {
 public:
  using Close = int (*)(std::int64_t);
  Handle() = default;
  Handle(std::shared_ptr<FileState> file, std::int64_t id, Close close);
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();

  std::int64_t id() const noexcept { return id_; }
  const std::shared_ptr<FileState>& file() const noexcept { return file_; }
  void reset() noexcept;

 private:
  std::shared_ptr<FileState> file_;
  std::int64_t id_ = -1;
  Close close_ = nullptr;
};
}  // namespace detail

/// What groups and datasets share: a place in the file, and attributes.
class Object {
 public:
  /// Path inside the file, as "/model/encoder"; "/" for the root.
  const std::string& path() const noexcept { return path_; }
  /// The file's name as given when it was opened.
  const std::string& file_name() const;

  bool has_attribute(const std::string& name) const;
  /// Sorted by name.
  std::vector<std::string> attribute_names() const;

  /// Creates or replaces an attribute. Strings are UTF-8 of variable length and must not contain NUL.
  void set_attribute(const std::string& name, std::string_view text);
  void set_attribute(const std::string& name, const char* text) {
    set_attribute(name, std::string_view(text));
  }
  template<Number T>
  void set_attribute(const std::string& name, T value) {
    write_attribute(name, std::span<const T>(&value, 1), true);
  }
  template<Number T>
  void set_attribute(const std::string& name, const std::vector<T>& values) {
    write_attribute(name, std::span<const T>(values), false);
  }

  /// Throws Error (ExitCode::input_data) when the attribute is missing or no single string.
  std::string string_attribute(const std::string& name) const;
  /// A scalar or one-element attribute, converted when T can hold every value of the stored type; otherwise,
  /// or when it is missing, throws Error (ExitCode::input_data).
  template<Number T>
  T attribute(const std::string& name) const;
  /// All elements of an attribute, under the same rule.
  template<Number T>
  std::vector<T> attribute_values(const std::string& name) const;

 protected:
  Object() = default;
  Object(detail::Handle handle, std::string path) : handle_(std::move(handle)), path_(std::move(path)) {}
  const detail::Handle& handle() const noexcept { return handle_; }
  detail::Handle& handle() noexcept { return handle_; }

 private:
  template<Number T>
  void write_attribute(const std::string& name, std::span<const T> values, bool scalar);

  detail::Handle handle_;
  std::string path_;
};

/// An array of numbers or strings.
class Dataset : public Object {
 public:
  Shape shape() const;
  /// Number of elements; 1 for a scalar.
  std::uint64_t size() const;
  /// "f32", "f64", "i32", "i64", "u8", "u64", "f16", ..., "string", or "other".
  std::string type() const;

  /// Overwrites all elements; `values` holds size() of them, row-major.
  template<Number T>
  void write(std::span<const T> values);
  /// Adds rows at the end of axis 0; `values` holds a whole number of rows. Needs Storage::extendable.
  template<Number T>
  void append(std::span<const T> values);
  void append_strings(std::span<const std::string> values);

  /// All elements, row-major. T must be able to hold every value of the stored type (f32 reads into f64, i32
  /// into i64, not the other way round); otherwise throws Error (ExitCode::input_data) with both types.
  template<Number T>
  std::vector<T> read() const;
  /// The same into existing memory of exactly size() elements.
  template<Number T>
  void read_into(std::span<T> values) const;
  /// Rows [first, first + count) of axis 0.
  template<Number T>
  std::vector<T> read_rows(std::uint64_t first, std::uint64_t count) const;
  /// A scalar (or one-element) string.
  std::string read_string() const;
  std::vector<std::string> read_strings() const;
  /// Texts [first, first + count) of axis 0 of a one-dimensional dataset.
  std::vector<std::string> read_string_rows(std::uint64_t first, std::uint64_t count) const;

  /// Declares this dataset the scale of an axis ("position"), so that other programs label that axis with it.
  void make_scale(const std::string& name);
  /// Labels `axis` of this dataset with the values of `scale`.
  void attach_scale(unsigned axis, const Dataset& scale);
  /// `long_name` and `units`, which every numeric dataset for other programs carries.
  void describe(std::string_view long_name, std::string_view units);

 private:
  friend class Group;
  using Object::Object;
};

/// A folder inside the file. Paths given to its members are relative to it, or absolute from "/".
class Group : public Object {
 public:
  bool exists(const std::string& path) const;
  bool is_group(const std::string& path) const;
  bool is_dataset(const std::string& path) const;
  /// Names of the groups and datasets directly inside, sorted.
  std::vector<std::string> names() const;
  /// Paths of all datasets below, relative to this group, sorted by path.
  std::vector<std::string> dataset_paths() const;

  /// Opens; throws Error (ExitCode::input_data) when it is missing or something else.
  Group group(const std::string& path) const;
  Dataset dataset(const std::string& path) const;

  /// Creates a group with the parents that it needs; an existing one is opened.
  Group create_group(const std::string& path);
  /// Creates a dataset of zeros with the parents that it needs. One that exists already is an error.
  template<Number T>
  Dataset create_dataset(const std::string& path, const Shape& shape, const Storage& storage = {});
  Dataset create_string_dataset(const std::string& path, const Shape& shape, const Storage& storage = {});
  /// The same of half precision ("f16", IEEE 754 binary16), for numbers that need little room: written from
  /// float or double, which are rounded to the nearest, and read into them.
  Dataset create_half_dataset(const std::string& path, const Shape& shape, const Storage& storage = {});

  /// Creates and writes; `values` are row-major and fill `shape`.
  template<Number T>
  Dataset write(const std::string& path, std::span<const T> values, const Shape& shape,
                const Storage& storage = {});
  template<Number T>
  Dataset write(const std::string& path, const std::vector<T>& values, const Shape& shape,
                const Storage& storage = {}) {
    return write(path, std::span<const T>(values), shape, storage);
  }
  /// The same for one axis.
  template<Number T>
  Dataset write(const std::string& path, const std::vector<T>& values, const Storage& storage = {}) {
    return write(path, std::span<const T>(values), {values.size()}, storage);
  }
  template<Number T>
  Dataset write_scalar(const std::string& path, T value) {
    return write(path, std::span<const T>(&value, 1), Shape{});
  }
  Dataset write_string(const std::string& path, std::string_view text);
  Dataset write_strings(const std::string& path, std::span<const std::string> texts,
                        const Storage& storage = {});

  /// dataset(path).read<T>().
  template<Number T>
  std::vector<T> read(const std::string& path) const {
    return dataset(path).read<T>();
  }
  /// The same, after a check that the shape is as expected; otherwise Error (ExitCode::input_data) with both
  /// shapes.
  template<Number T>
  std::vector<T> read(const std::string& path, const Shape& expected) const;
  std::string read_string(const std::string& path) const { return dataset(path).read_string(); }
  std::vector<std::string> read_strings(const std::string& path) const {
    return dataset(path).read_strings();
  }

 protected:
  using Object::Object;

 private:
  void create_parents(const std::string& path);
};

/// An open file, which is also its root group.
class File : public Group {
 public:
  /// Creates or truncates. Throws Error (ExitCode::file). For results use write_atomically instead.
  static File create(const std::filesystem::path& path);
  /// Opens for reading. Missing, a folder, empty, no HDF5, truncated, locked: one sentence each
  /// (ExitCode::file).
  static File open(const std::filesystem::path& path);

  File(File&&) noexcept = default;
  File& operator=(File&&) = delete;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  /// Closes without a check; a writer calls close().
  ~File();

  /// Writes everything and closes; groups and datasets of this file are unusable afterwards. Throws Error
  /// (ExitCode::file), also when an earlier call on this file failed.
  void close();

 private:
  friend void write_atomically(const std::filesystem::path& path, const std::function<void(File&)>& writer);
  File(detail::Handle root, std::string path) : Group(std::move(root), std::move(path)) {}
};

/// Reads every dataset of the file, so that each checksum is compared. Throws Error (ExitCode::file) at the
/// first damage.
void verify(const std::filesystem::path& path);

/// Writes a file of which readers see either all or nothing: PATH.part is filled by `writer`, marked complete
/// when it has a header (see Header), closed, read back with verify(), synchronised and renamed. When
/// anything throws, the part file is removed and the old file, if any, is as before.
void write_atomically(const std::filesystem::path& path, const std::function<void(File&)>& writer);

/// The root attributes that every attn file begins with. Empty members are left out.
struct Header {
  std::string format;  ///< as "attn.checkpoint"
  int format_version = 1;
  std::string creator = "attn";  ///< the tool
  std::string command_line = {};
  std::string git_revision = {};
  std::string backend = {};
  std::string device = {};
  std::optional<std::uint64_t> seed = {};
  std::string checkpoint_sha256 = {};
  std::string config_sha256 = {};
};

/// Writes the header with `creator_version` and `created_utc` (ISO 8601; the environment variable
/// SOURCE_DATE_EPOCH, in seconds since 1970, replaces the clock). `complete` follows as the last thing
/// written, by write_atomically or mark_complete.
void write_header(File& file, const Header& header);

/// Writes the root attribute `complete` = 1, which tells readers that nothing is missing.
void mark_complete(File& file);

/// Opens a file of this format. Throws Error (ExitCode::input_data) when it is of another format (both are
/// named), of a version newer than `newest_version`, or not marked complete; and what File::open throws.
File open_checked(const std::filesystem::path& path, std::string_view format, int newest_version);

}  // namespace attn::hdf5
