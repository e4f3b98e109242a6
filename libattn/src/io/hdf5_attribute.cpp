#include <algorithm>

#include "io/hdf5_internal.h"

namespace attn::hdf5 {
namespace {

using detail::checked;
using detail::FileState;
using detail::Scoped;

std::string attribute_label(const std::string& object, const std::string& name) {
  return fmt::format("attribute '{}' of {}", name, object);
}

/// Creates an attribute in place of an older one of the same name.
Scoped create_attribute(const detail::Handle& object, const std::string& name, const std::string& label,
                        hid_t type, hid_t space) {
  FileState& file = *object.file();
  const bool replaces =
      checked(file, "write", label, [&] { return H5Aexists(object.id(), name.c_str()); }) > 0;
  if (replaces) checked(file, "write", label, [&] { return H5Adelete(object.id(), name.c_str()); });
  const Scoped properties(H5Pcreate(H5P_ATTRIBUTE_CREATE), H5Pclose);
  H5Pset_char_encoding(properties, H5T_CSET_UTF8);
  const hid_t id = checked(file, "write", label, [&] {
    return H5Acreate2(object.id(), name.c_str(), type, space, properties, H5P_DEFAULT);
  });
  return {id, H5Aclose};
}

Scoped open_attribute(const detail::Handle& object, const std::string& path, const std::string& name) {
  FileState& file = *object.file();
  const std::string label = attribute_label(path, name);
  if (checked(file, "read", label, [&] { return H5Aexists(object.id(), name.c_str()); }) <= 0) {
    fail(ExitCode::input_data, "{}: {} is missing", file.name, label);
  }
  return {checked(file, "read", label, [&] { return H5Aopen(object.id(), name.c_str(), H5P_DEFAULT); }),
          H5Aclose};
}

}  // namespace

const std::string& Object::file_name() const {
  return handle_.file()->name;
}

bool Object::has_attribute(const std::string& name) const {
  return checked(*handle_.file(), "read", attribute_label(path_, name),
                 [&] { return H5Aexists(handle_.id(), name.c_str()); }) > 0;
}

std::vector<std::string> Object::attribute_names() const {
  std::vector<std::string> names;
  FileState& file = *handle_.file();
  for (hsize_t i = 0;; ++i) {
    file.check_usable();
    const detail::QuietErrors quiet;
    const Scoped attribute(
        H5Aopen_by_idx(handle_.id(), ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    if (attribute < 0) break;  // one past the last
    std::string name(static_cast<std::size_t>(std::max<ssize_t>(H5Aget_name(attribute, 0, nullptr), 0)),
                     '\0');
    H5Aget_name(attribute, name.size() + 1, name.data());
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

void Object::set_attribute(const std::string& name, std::string_view text) {
  FileState& file = *handle_.file();
  const std::string label = attribute_label(path_, name);
  detail::check_text(text, file, label);
  const Scoped type = detail::string_type();
  const Scoped space = detail::simple_space({});
  const Scoped attribute = create_attribute(handle_, name, label, type, space);
  const std::string terminated(text);
  const char* pointer = terminated.c_str();
  checked(file, "write", label,
          [&] { return H5Awrite(attribute, type, static_cast<const void*>(&pointer)); });
}

template<Number T>
void Object::write_attribute(const std::string& name, std::span<const T> values, bool scalar) {
  FileState& file = *handle_.file();
  const std::string label = attribute_label(path_, name);
  const Scoped space = detail::simple_space(scalar ? Shape{} : Shape{values.size()});
  const Scoped attribute = create_attribute(handle_, name, label, detail::file_type<T>(), space);
  if (values.empty()) return;
  checked(file, "write", label, [&] { return H5Awrite(attribute, detail::memory_type<T>(), values.data()); });
}

std::string Object::string_attribute(const std::string& name) const {
  FileState& file = *handle_.file();
  const std::string label = attribute_label(path_, name);
  const Scoped attribute = open_attribute(handle_, path_, name);
  const Scoped type(H5Aget_type(attribute), H5Tclose);
  const Scoped space(H5Aget_space(attribute), H5Sclose);
  const std::uint64_t count = detail::element_count(detail::shape_of(space));
  if (H5Tget_class(type) != H5T_STRING || count != 1) {
    fail(ExitCode::input_data, "{}: {} has {} of type {}; expected one string", file.name, label, count,
         detail::type_name(type));
  }
  return detail::read_texts(file, label, type, space, 1,
                            [&](hid_t memory, void* buffer) { return H5Aread(attribute, memory, buffer); })
      .front();
}

template<Number T>
std::vector<T> Object::attribute_values(const std::string& name) const {
  FileState& file = *handle_.file();
  const std::string label = attribute_label(path_, name);
  const Scoped attribute = open_attribute(handle_, path_, name);
  const Scoped type(H5Aget_type(attribute), H5Tclose);
  if (!detail::can_hold<T>(type)) {
    fail(ExitCode::input_data, "{}: {} has type {}; expected {}", file.name, label, detail::type_name(type),
         detail::number_name<T>());
  }
  const Scoped space(H5Aget_space(attribute), H5Sclose);
  std::vector<T> values(detail::element_count(detail::shape_of(space)));
  if (values.empty()) return values;
  checked(file, "read", label, [&] { return H5Aread(attribute, detail::memory_type<T>(), values.data()); });
  return values;
}

template<Number T>
T Object::attribute(const std::string& name) const {
  const std::vector<T> values = attribute_values<T>(name);
  if (values.size() != 1) {
    fail(ExitCode::input_data, "{}: {} has {} values; expected one", file_name(),
         attribute_label(path_, name), values.size());
  }
  return values.front();
}

#define ATTN_INSTANTIATE(T)                                                               \
  template void Object::write_attribute<T>(const std::string&, std::span<const T>, bool); \
  template T Object::attribute<T>(const std::string&) const;                              \
  template std::vector<T> Object::attribute_values<T>(const std::string&) const;
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
ATTN_INSTANTIATE(std::int32_t)
ATTN_INSTANTIATE(std::int64_t)
ATTN_INSTANTIATE(std::uint8_t)
ATTN_INSTANTIATE(std::uint64_t)
#undef ATTN_INSTANTIATE

}  // namespace attn::hdf5
