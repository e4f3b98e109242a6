#include "io/hdf5_internal.h"

#include <array>
#include <bit>
#include <cmath>

namespace attn::hdf5 {

std::string to_string(const Shape& shape) {
  if (shape.empty()) return "scalar";
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

namespace detail {
namespace {

herr_t collect_description(unsigned /*index*/, const H5E_error2_t* error, void* data) {
  static_cast<std::vector<std::string>*>(data)->emplace_back(error->desc != nullptr ? error->desc : "");
  return 0;
}

/// Bits that an integer type can count with, without its sign.
template<Number T>
constexpr std::size_t exact_integer_bits() {
  if constexpr (std::is_same_v<T, float>) return 24;
  if constexpr (std::is_same_v<T, double>) return 53;
  return sizeof(T) * 8 - (std::is_signed_v<T> ? 1 : 0);
}

}  // namespace

void FileState::check_usable() const {
  if (failure) throw Error(*failure);
  if (id < 0) fail(ExitCode::internal, "{} is used after it was closed", name);
}

void FileState::record(std::string_view action, std::string_view object) {
  const std::string reason = innermost_reason();
  const std::string what = object.empty() ? name : fmt::format("{} of {}", object, name);
  failure.emplace(ExitCode::file, fmt::format("cannot {} {}: {}", action, what, reason));
  throw Error(*failure);
}

QuietErrors::QuietErrors() {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietErrors::~QuietErrors() {
  H5Eset_auto2(H5E_DEFAULT, function_, data_);
}

std::vector<std::string> error_stack() {
  std::vector<std::string> descriptions;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect_description, &descriptions);
  return descriptions;
}

std::string innermost_reason() {
  const std::vector<std::string> stack = error_stack();
  if (stack.empty()) return "HDF5 gives no reason";
  // System errors come with times and addresses, which help nobody; keep the message.
  constexpr std::string_view marker = "error message = '";
  const std::string& innermost = stack.front();
  const std::size_t begin = innermost.find(marker);
  if (begin == std::string::npos) return innermost;
  const std::size_t text = begin + marker.size();
  return innermost.substr(text, innermost.find('\'', text) - text);
}

Handle::Handle(std::shared_ptr<FileState> file, std::int64_t id, Close close)
    : file_(std::move(file)), id_(id), close_(close) {}

Handle::Handle(Handle&& other) noexcept
    : file_(std::move(other.file_)), id_(std::exchange(other.id_, -1)), close_(other.close_) {}

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    reset();
    file_ = std::move(other.file_);
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
  }
  return *this;
}

Handle::~Handle() {
  reset();
}

void Handle::reset() noexcept {
  // Closing the file has closed everything in it.
  if (id_ >= 0 && file_ && file_->id >= 0) {
    const QuietErrors quiet;
    close_(id_);
  }
  id_ = -1;
}

template<>
hid_t memory_type<float>() {
  return H5T_NATIVE_FLOAT;
}
template<>
hid_t memory_type<double>() {
  return H5T_NATIVE_DOUBLE;
}
template<>
hid_t memory_type<std::int32_t>() {
  return H5T_NATIVE_INT32;
}
template<>
hid_t memory_type<std::int64_t>() {
  return H5T_NATIVE_INT64;
}
template<>
hid_t memory_type<std::uint8_t>() {
  return H5T_NATIVE_UINT8;
}
template<>
hid_t memory_type<std::uint64_t>() {
  return H5T_NATIVE_UINT64;
}

template<>
hid_t file_type<float>() {
  return H5T_IEEE_F32LE;
}
template<>
hid_t file_type<double>() {
  return H5T_IEEE_F64LE;
}
template<>
hid_t file_type<std::int32_t>() {
  return H5T_STD_I32LE;
}
template<>
hid_t file_type<std::int64_t>() {
  return H5T_STD_I64LE;
}
template<>
hid_t file_type<std::uint8_t>() {
  return H5T_STD_U8LE;
}
template<>
hid_t file_type<std::uint64_t>() {
  return H5T_STD_U64LE;
}

Scoped string_type() {
  Scoped type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

Scoped half_type() {
  Scoped type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(type, 15, 10, 5, 0, 10);  // sign, exponent and its bits, mantissa and its bits
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

std::uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U, magnitude = bits & 0x7fffffffU;
  constexpr std::uint32_t infinity = 0x7f800000U, overflow = 0x477ff000U, smallest_normal = 0x38800000U;
  std::uint32_t half = 0;
  if (magnitude > infinity) {
    half = 0x7e00U;
  } else if (magnitude >= overflow) {
    half = 0x7c00U;
  } else if (magnitude < smallest_normal) {  // in units of 2^-24
    half = static_cast<std::uint32_t>(std::lrint(std::ldexp(std::bit_cast<float>(magnitude), 24)));
  } else {
    const std::uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13U & 1U);
    half = (rounded - (112U << 23U)) >> 13U;  // exponents are counted from 15 instead of 127
  }
  return static_cast<std::uint16_t>(sign | half);
}

std::string type_name(hid_t type) {
  const std::size_t bits = H5Tget_size(type) * 8;
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("{}{}", H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', bits);
    case H5T_FLOAT:
      return fmt::format("f{}", bits);
    case H5T_STRING:
      return "string";
    default:
      return "other";
  }
}

template<Number T>
bool can_hold(hid_t stored) {
  const std::size_t bits = H5Tget_size(stored) * 8;
  switch (H5Tget_class(stored)) {
    case H5T_FLOAT:
      return std::is_floating_point_v<T> && bits <= sizeof(T) * 8;
    case H5T_INTEGER: {
      const bool is_signed = H5Tget_sign(stored) != H5T_SGN_NONE;
      if (is_signed && !std::is_signed_v<T>) return false;
      return bits - (is_signed ? 1 : 0) <= exact_integer_bits<T>();
    }
    default:
      return false;
  }
}

template<Number T>
std::string number_name() {
  return type_name(memory_type<T>());
}

template bool can_hold<float>(hid_t);
template bool can_hold<double>(hid_t);
template bool can_hold<std::int32_t>(hid_t);
template bool can_hold<std::int64_t>(hid_t);
template bool can_hold<std::uint8_t>(hid_t);
template bool can_hold<std::uint64_t>(hid_t);
template std::string number_name<float>();
template std::string number_name<double>();
template std::string number_name<std::int32_t>();
template std::string number_name<std::int64_t>();
template std::string number_name<std::uint8_t>();
template std::string number_name<std::uint64_t>();

Scoped dataset_space(const Handle& dataset, std::string_view path) {
  return {checked(*dataset.file(), "read", path, [&] { return H5Dget_space(dataset.id()); }), H5Sclose};
}

Shape shape_of(hid_t space) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return {0};
  const int rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> extents(rank > 0 ? static_cast<std::size_t>(rank) : 0);
  if (rank > 0) H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  return {extents.begin(), extents.end()};
}

std::uint64_t element_count(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

Scoped simple_space(const Shape& shape) {
  if (shape.empty()) return {H5Screate(H5S_SCALAR), H5Sclose};
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose};
}

void check_text(std::string_view text, const FileState& file, std::string_view object) {
  if (text.find('\0') == std::string_view::npos) return;
  fail(ExitCode::input_data,
       "cannot write {} of {}: the text contains a NUL character, which HDF5 strings cannot hold", object,
       file.name);
}

}  // namespace detail
}  // namespace attn::hdf5
