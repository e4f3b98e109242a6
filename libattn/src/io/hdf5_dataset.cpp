#include <hdf5_hl.h>

#include "io/hdf5_internal.h"

namespace attn::hdf5 {
namespace {

using detail::checked;
using detail::FileState;
using detail::Scoped;

Scoped stored_type(const detail::Handle& dataset, std::string_view path) {
  return {checked(*dataset.file(), "read", path, [&] { return H5Dget_type(dataset.id()); }), H5Tclose};
}

template<Number T>
void require_type(const detail::Handle& dataset, const std::string& path) {
  const Scoped type = stored_type(dataset, path);
  if (detail::can_hold<T>(type)) return;
  fail(ExitCode::input_data, "{}: {} has type {}; expected {}", dataset.file()->name, path,
       detail::type_name(type), detail::number_name<T>());
}

/// Selects rows [first, first + count) of axis 0 in `space`.
void select_rows(hid_t space, const Shape& shape, std::uint64_t first, std::uint64_t count) {
  std::vector<hsize_t> start(shape.size(), 0);
  std::vector<hsize_t> extents(shape.begin(), shape.end());
  start.front() = first;
  extents.front() = count;
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, extents.data(), nullptr);
}

/// Grows axis 0 by whole rows and writes them; `write(memory space, file space)` is the library call.
template<typename Write>
void append_rows(const detail::Handle& dataset, const std::string& path, std::size_t elements, Write write) {
  FileState& file = *dataset.file();
  Shape shape = detail::shape_of(detail::dataset_space(dataset, path));
  if (shape.empty()) fail(ExitCode::internal, "cannot append to {} of {}: it is a scalar", path, file.name);
  const std::uint64_t first = shape.front();
  shape.front() = 1;
  const std::uint64_t row = detail::element_count(shape);
  if (row == 0 || elements % row != 0) {
    fail(ExitCode::internal, "cannot append {} values to {} of {}, whose rows have {}", elements, path,
         file.name, row);
  }
  if (elements == 0) return;
  shape.front() = first + elements / row;
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  checked(file, "extend", path, [&] { return H5Dset_extent(dataset.id(), extents.data()); });
  const Scoped target = detail::dataset_space(dataset, path);
  select_rows(target, shape, first, elements / row);
  const Scoped source = detail::simple_space({elements});
  checked(file, "write", path, [&] { return write(source, target); });
}

bool is_half(const detail::Handle& dataset, std::string_view path) {
  return detail::type_name(stored_type(dataset, path)) == "f16";
}

template<Number T>
std::vector<std::uint16_t> as_half(std::span<const T> values) {
  std::vector<std::uint16_t> half;
  half.reserve(values.size());
  for (const T value : values) half.push_back(detail::half_bits(static_cast<float>(value)));
  return half;
}

}  // namespace

Shape Dataset::shape() const {
  return detail::shape_of(detail::dataset_space(handle(), path()));
}

std::uint64_t Dataset::size() const {
  return detail::element_count(shape());
}

std::string Dataset::type() const {
  return detail::type_name(stored_type(handle(), path()));
}

template<Number T>
void Dataset::write(std::span<const T> values) {
  FileState& file = *handle().file();
  if (values.size() != size()) {
    fail(ExitCode::internal, "cannot write {} values to {} of {}, whose shape is {}", values.size(), path(),
         file.name, to_string(shape()));
  }
  if (values.empty()) return;
  checked(file, "write", path(), [&] {
    if (is_half(handle(), path())) {
      return H5Dwrite(handle().id(), detail::half_type(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      as_half(values).data());
    }
    return H5Dwrite(handle().id(), detail::memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  });
}

template<Number T>
void Dataset::append(std::span<const T> values) {
  append_rows(handle(), path(), values.size(), [&](hid_t source, hid_t target) {
    if (is_half(handle(), path())) {
      return H5Dwrite(handle().id(), detail::half_type(), source, target, H5P_DEFAULT,
                      as_half(values).data());
    }
    return H5Dwrite(handle().id(), detail::memory_type<T>(), source, target, H5P_DEFAULT, values.data());
  });
}

void Dataset::append_strings(std::span<const std::string> values) {
  std::vector<const char*> pointers;
  pointers.reserve(values.size());
  for (const std::string& value : values) {
    detail::check_text(value, *handle().file(), path());
    pointers.push_back(value.c_str());
  }
  const Scoped type = detail::string_type();
  append_rows(handle(), path(), values.size(), [&](hid_t source, hid_t target) {
    return H5Dwrite(handle().id(), type, source, target, H5P_DEFAULT,
                    static_cast<const void*>(pointers.data()));
  });
}

template<Number T>
void Dataset::read_into(std::span<T> values) const {
  FileState& file = *handle().file();
  require_type<T>(handle(), path());
  if (values.size() != size()) {
    fail(ExitCode::input_data, "{}: {} has shape {}; expected {} values", file.name, path(),
         to_string(shape()), values.size());
  }
  if (values.empty()) return;
  checked(file, "read", path(), [&] {
    return H5Dread(handle().id(), detail::memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  });
}

template<Number T>
std::vector<T> Dataset::read() const {
  require_type<T>(handle(), path());
  std::vector<T> values(size());
  read_into(std::span<T>(values));
  return values;
}

template<Number T>
std::vector<T> Dataset::read_rows(std::uint64_t first, std::uint64_t count) const {
  FileState& file = *handle().file();
  require_type<T>(handle(), path());
  Shape shape = this->shape();
  if (shape.empty() || first > shape.front() || count > shape.front() - first) {
    fail(ExitCode::input_data, "{}: {} has shape {}; expected rows {} to {}", file.name, path(),
         to_string(shape), first, first + count);
  }
  const Scoped source = detail::dataset_space(handle(), path());
  select_rows(source, shape, first, count);
  shape.front() = count;
  std::vector<T> values(detail::element_count(shape));
  if (values.empty()) return values;
  const Scoped memory = detail::simple_space({values.size()});
  checked(file, "read", path(), [&] {
    return H5Dread(handle().id(), detail::memory_type<T>(), memory, source, H5P_DEFAULT, values.data());
  });
  return values;
}

std::string Dataset::read_string() const {
  std::vector<std::string> texts = read_strings();
  if (texts.size() == 1) return std::move(texts.front());
  fail(ExitCode::input_data, "{}: {} has shape {}; expected one string", file_name(), path(),
       to_string(shape()));
}

std::vector<std::string> Dataset::read_strings() const {
  FileState& file = *handle().file();
  const Scoped type = stored_type(handle(), path());
  if (H5Tget_class(type) != H5T_STRING) {
    fail(ExitCode::input_data, "{}: {} has type {}; expected string", file.name, path(),
         detail::type_name(type));
  }
  const Scoped space = detail::dataset_space(handle(), path());
  return detail::read_texts(file, path(), type, space, size(), [&](hid_t memory, void* buffer) {
    return H5Dread(handle().id(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
  });
}

std::vector<std::string> Dataset::read_string_rows(std::uint64_t first, std::uint64_t count) const {
  FileState& file = *handle().file();
  const Scoped type = stored_type(handle(), path());
  const Shape shape = this->shape();
  if (H5Tget_class(type) != H5T_STRING || shape.size() != 1 || first > shape.front() ||
      count > shape.front() - first) {
    fail(ExitCode::input_data, "{}: {} has type {} and shape {}; expected strings {} to {}", file.name,
         path(), detail::type_name(type), to_string(shape), first, first + count);
  }
  const Scoped source = detail::dataset_space(handle(), path());
  select_rows(source, shape, first, count);
  const Scoped memory = detail::simple_space({count});
  return detail::read_texts(file, path(), type, memory, count, [&](hid_t stored, void* buffer) {
    return H5Dread(handle().id(), stored, memory, source, H5P_DEFAULT, buffer);
  });
}

void Dataset::make_scale(const std::string& name) {
  checked(*handle().file(), "make a scale of", path(),
          [&] { return H5DSset_scale(handle().id(), name.c_str()); });
}

void Dataset::attach_scale(unsigned axis, const Dataset& scale) {
  checked(*handle().file(), "attach a scale to", path(),
          [&] { return H5DSattach_scale(handle().id(), scale.handle().id(), axis); });
}

void Dataset::describe(std::string_view long_name, std::string_view units) {
  set_attribute("long_name", long_name);
  set_attribute("units", units);
}

#define ATTN_INSTANTIATE(T)                                \
  template void Dataset::write<T>(std::span<const T>);     \
  template void Dataset::append<T>(std::span<const T>);    \
  template std::vector<T> Dataset::read<T>() const;        \
  template void Dataset::read_into<T>(std::span<T>) const; \
  template std::vector<T> Dataset::read_rows<T>(std::uint64_t, std::uint64_t) const;
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
ATTN_INSTANTIATE(std::int32_t)
ATTN_INSTANTIATE(std::int64_t)
ATTN_INSTANTIATE(std::uint8_t)
ATTN_INSTANTIATE(std::uint64_t)
#undef ATTN_INSTANTIATE

}  // namespace attn::hdf5
