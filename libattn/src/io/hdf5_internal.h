#pragma once
#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/core/error.h"
#include "attn/io/hdf5.h"

namespace attn::hdf5::detail {

static_assert(std::is_same_v<hid_t, std::int64_t> && std::is_same_v<herr_t, int>);

/// What all handles of one file share.
struct FileState {
  std::string name;                   ///< for messages
  hid_t id = -1;                      ///< -1 once closed
  std::optional<Error> failure = {};  ///< the first error of the library, thrown by every later call

  /// Throws the earlier failure, or that the file is closed.
  void check_usable() const;
  /// Stores and throws the error that HDF5 has just reported.
  [[noreturn]] void record(std::string_view action, std::string_view object);
};

/// HDF5 prints its error stack by default; this keeps it silent for one scope and leaves the process setting
/// alone.
class QuietErrors {
 public:
  QuietErrors();
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;
  ~QuietErrors();

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// The innermost reason on HDF5's error stack, reduced to the system's message where there is one.
std::string innermost_reason();
/// Every description on the error stack, innermost first.
std::vector<std::string> error_stack();

/// Runs one call of the library; a negative result is recorded as the file's failure: "cannot ACTION OBJECT
/// of FILE".
template<typename Call>
auto checked(FileState& file, std::string_view action, std::string_view object, Call&& call) {
  file.check_usable();
  const QuietErrors quiet;
  const auto result = std::forward<Call>(call)();
  if (result < 0) file.record(action, object);
  return result;
}

/// An identifier that closes itself, for types, spaces and property lists.
class Scoped {
 public:
  Scoped(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Scoped(Scoped&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Scoped& operator=(Scoped&&) = delete;
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;
  ~Scoped() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }  // NOLINT: passes to the C functions as the identifier it is

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// Type in memory and on disk (little-endian, so that files do not depend on the machine).
template<Number T>
hid_t memory_type();
template<>
hid_t memory_type<float>();
template<>
hid_t memory_type<double>();
template<>
hid_t memory_type<std::int32_t>();
template<>
hid_t memory_type<std::int64_t>();
template<>
hid_t memory_type<std::uint8_t>();
template<>
hid_t memory_type<std::uint64_t>();
template<Number T>
hid_t file_type();
template<>
hid_t file_type<float>();
template<>
hid_t file_type<double>();
template<>
hid_t file_type<std::int32_t>();
template<>
hid_t file_type<std::int64_t>();
template<>
hid_t file_type<std::uint8_t>();
template<>
hid_t file_type<std::uint64_t>();
Scoped string_type();
/// IEEE 754 binary16, for which the library has no name.
Scoped half_type();
/// The bits of the half-precision number nearest to `value`, of two equally near ones the even one. The
/// library's own conversion gives 0.5 for what should be rounded up to 1.
std::uint16_t half_bits(float value);
/// "f32" and so on.
std::string type_name(hid_t type);
/// Whether T holds every value of the stored type.
template<Number T>
bool can_hold(hid_t stored);
template<Number T>
std::string number_name();

Scoped dataset_space(const Handle& dataset, std::string_view path);
Shape shape_of(hid_t space);
std::uint64_t element_count(const Shape& shape);
Scoped simple_space(const Shape& shape);

/// Throws Error (ExitCode::input_data) for a text with NUL, which HDF5's strings cannot hold.
void check_text(std::string_view text, const FileState& file, std::string_view object);

/// Reads `count` strings of the stored type; `read(memory type, buffer)` is the library call.
template<typename Read>
std::vector<std::string> read_texts(FileState& file, std::string_view object, hid_t stored, hid_t space,
                                    std::size_t count, Read read) {
  std::vector<std::string> texts;
  if (count == 0) return texts;
  texts.reserve(count);
  // The character set of memory and file must agree, so the stored type is used for both.
  const Scoped type(H5Tcopy(stored), H5Tclose);
  if (H5Tis_variable_str(stored) > 0) {
    std::vector<char*> pointers(count, nullptr);
    checked(file, "read", object, [&] { return read(type, pointers.data()); });
    for (const char* text : pointers) texts.emplace_back(text != nullptr ? text : "");
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
    return texts;
  }
  const std::size_t width = H5Tget_size(stored);
  const bool space_padded = H5Tget_strpad(stored) == H5T_STR_SPACEPAD;
  std::vector<char> bytes(count * width);
  checked(file, "read", object, [&] { return read(type, bytes.data()); });
  for (std::size_t i = 0; i < count; ++i) {
    std::string_view text(bytes.data() + i * width, width);
    text = text.substr(0, text.find('\0'));
    if (space_padded) text = text.substr(0, text.find_last_not_of(' ') + 1);
    texts.emplace_back(text);
  }
  return texts;
}

}  // namespace attn::hdf5::detail
