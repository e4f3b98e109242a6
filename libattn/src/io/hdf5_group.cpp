#include <algorithm>

#include "io/hdf5_internal.h"

namespace attn::hdf5 {
namespace {

using detail::checked;
using detail::FileState;
using detail::Scoped;

constexpr std::uint64_t chunk_elements = std::uint64_t{64} * 1024;
constexpr std::uint64_t string_chunk_elements = 1024;

std::string join(const std::string& parent, const std::string& path) {
  if (!path.empty() && path.front() == '/') return path;
  return parent == "/" ? "/" + path : parent + "/" + path;
}

Scoped link_properties() {
  Scoped properties(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(properties, 1);
  H5Pset_char_encoding(properties, H5T_CSET_UTF8);
  return properties;
}

/// The chunk asked for, or about 64 Ki elements that follow the memory order; never beyond a fixed extent.
std::vector<hsize_t> chunk_extents(const Shape& shape, const Storage& storage) {
  std::vector<hsize_t> chunk(shape.size(), 1);
  std::uint64_t remaining = chunk_elements;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const bool grows = storage.extendable && axis == 0;
    std::uint64_t extent = axis < storage.chunk.size() ? storage.chunk[axis] : remaining;
    if (!grows) extent = std::min(extent, shape[axis]);
    chunk[axis] = std::max<std::uint64_t>(extent, 1);
    remaining = std::max<std::uint64_t>(remaining / chunk[axis], 1);
  }
  return chunk;
}

Scoped dataset_properties(const Shape& shape, const Storage& storage) {
  Scoped properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties, false);
  const bool filtered = storage.deflate > 0 || storage.shuffle || storage.fletcher32;
  const bool chunked = storage.extendable || !storage.chunk.empty() || filtered;
  const bool empty_for_good = detail::element_count(shape) == 0 && !storage.extendable;
  if (shape.empty() || empty_for_good || !chunked) return properties;
  H5Pset_chunk(properties, static_cast<int>(shape.size()), chunk_extents(shape, storage).data());
  if (storage.shuffle) H5Pset_shuffle(properties);
  if (storage.deflate > 0) H5Pset_deflate(properties, static_cast<unsigned>(storage.deflate));
  if (storage.fletcher32) H5Pset_fletcher32(properties);
  return properties;
}

detail::Handle create(const detail::Handle& group, const std::string& path, const std::string& full,
                      hid_t type, const Shape& shape, const Storage& storage) {
  FileState& file = *group.file();
  if (!storage.chunk.empty() && storage.chunk.size() != shape.size()) {
    fail(ExitCode::internal, "{} of {} has {} axes, but its chunk has {}", full, file.name, shape.size(),
         storage.chunk.size());
  }
  const Scoped links = link_properties();
  const Scoped properties = dataset_properties(shape, storage);
  const Scoped space = detail::simple_space(shape);
  if (storage.extendable && !shape.empty()) {
    const std::vector<hsize_t> extents(shape.begin(), shape.end());
    std::vector<hsize_t> limits = extents;
    limits.front() = H5S_UNLIMITED;
    H5Sset_extent_simple(space, static_cast<int>(extents.size()), extents.data(), limits.data());
  }
  const hid_t id = checked(file, "create", full, [&] {
    return H5Dcreate2(group.id(), path.c_str(), type, space, links, properties, H5P_DEFAULT);
  });
  return {group.file(), id, H5Dclose};
}

/// What `path` names: H5I_GROUP, H5I_DATASET, another kind, or H5I_BADID for nothing.
H5I_type_t kind_of(const Group& group, const detail::Handle& handle, const std::string& path) {
  if (!group.exists(path)) return H5I_BADID;
  const detail::QuietErrors quiet;
  const Scoped object(H5Oopen(handle.id(), path.c_str(), H5P_DEFAULT), H5Oclose);
  return object < 0 ? H5I_BADID : H5Iget_type(object);
}

}  // namespace

bool Group::exists(const std::string& path) const {
  FileState& file = *handle().file();
  file.check_usable();
  // HDF5 answers for the last name only and fails when a parent is missing, so every prefix is asked for.
  for (std::size_t end = 1; end <= path.size(); ++end) {
    if (end < path.size() && path[end] != '/') continue;
    if (path[end - 1] == '/') continue;
    const std::string prefix = path.substr(0, end);
    const htri_t found =
        checked(file, "read", prefix, [&] { return H5Lexists(handle().id(), prefix.c_str(), H5P_DEFAULT); });
    if (found == 0) return false;
  }
  return true;
}

bool Group::is_group(const std::string& path) const {
  return kind_of(*this, handle(), path) == H5I_GROUP;
}

bool Group::is_dataset(const std::string& path) const {
  return kind_of(*this, handle(), path) == H5I_DATASET;
}

std::vector<std::string> Group::names() const {
  FileState& file = *handle().file();
  H5G_info_t info = {};
  checked(file, "list", path(), [&] { return H5Gget_info(handle().id(), &info); });
  std::vector<std::string> names;
  names.reserve(info.nlinks);
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    const auto name_of = [&](char* buffer, std::size_t size) {
      return checked(file, "list", path(), [&] {
        return H5Lget_name_by_idx(handle().id(), ".", H5_INDEX_NAME, H5_ITER_INC, i, buffer, size,
                                  H5P_DEFAULT);
      });
    };
    std::string name(static_cast<std::size_t>(name_of(nullptr, 0)), '\0');
    name_of(name.data(), name.size() + 1);
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Group::dataset_paths() const {
  std::vector<std::string> paths;
  for (const std::string& name : names()) {
    if (is_dataset(name)) paths.push_back(name);
    if (!is_group(name)) continue;
    for (const std::string& below : group(name).dataset_paths())
      paths.push_back(fmt::format("{}/{}", name, below));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Group Group::group(const std::string& path) const {
  const std::string full = join(this->path(), path);
  if (!is_group(path)) {
    fail(ExitCode::input_data, "{}: the group {} is missing", file_name(), full);
  }
  const hid_t id = checked(*handle().file(), "open", full,
                           [&] { return H5Gopen2(handle().id(), path.c_str(), H5P_DEFAULT); });
  return {detail::Handle(handle().file(), id, H5Gclose), full};
}

Dataset Group::dataset(const std::string& path) const {
  const std::string full = join(this->path(), path);
  if (!is_dataset(path)) {
    fail(ExitCode::input_data, "{}: the dataset {} is missing", file_name(), full);
  }
  const hid_t id = checked(*handle().file(), "open", full,
                           [&] { return H5Dopen2(handle().id(), path.c_str(), H5P_DEFAULT); });
  return {detail::Handle(handle().file(), id, H5Dclose), full};
}

// Groups that HDF5 itself creates on the way to an object would carry the time.
void Group::create_parents(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) create_group(path.substr(0, slash));
}

Group Group::create_group(const std::string& path) {
  if (is_group(path)) return group(path);
  create_parents(path);
  const std::string full = join(this->path(), path);
  const Scoped links = link_properties();
  const Scoped properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties, false);
  const hid_t id = checked(*handle().file(), "create", full, [&] {
    return H5Gcreate2(handle().id(), path.c_str(), links, properties, H5P_DEFAULT);
  });
  return {detail::Handle(handle().file(), id, H5Gclose), full};
}

template<Number T>
Dataset Group::create_dataset(const std::string& path, const Shape& shape, const Storage& storage) {
  create_parents(path);
  const std::string full = join(this->path(), path);
  return {create(handle(), path, full, detail::file_type<T>(), shape, storage), full};
}

Dataset Group::create_half_dataset(const std::string& path, const Shape& shape, const Storage& storage) {
  create_parents(path);
  const std::string full = join(this->path(), path);
  const Scoped half = detail::half_type();
  return {create(handle(), path, full, half, shape, storage), full};
}

Dataset Group::create_string_dataset(const std::string& path, const Shape& shape, const Storage& storage) {
  create_parents(path);
  const std::string full = join(this->path(), path);
  // The texts lie outside the dataset, which holds references: filters would not reach them, and HDF5 refuses
  // some.
  Storage references{.chunk = storage.chunk, .extendable = storage.extendable};
  if (references.extendable && references.chunk.empty() && !shape.empty()) {
    references.chunk.assign(shape.size(), 1);
    references.chunk.front() = string_chunk_elements;
  }
  return {create(handle(), path, full, detail::string_type(), shape, references), full};
}

template<Number T>
Dataset Group::write(const std::string& path, std::span<const T> values, const Shape& shape,
                     const Storage& storage) {
  Dataset dataset = create_dataset<T>(path, shape, storage);
  dataset.write(values);
  return dataset;
}

Dataset Group::write_string(const std::string& path, std::string_view text) {
  const std::string full = join(this->path(), path);
  FileState& file = *handle().file();
  detail::check_text(text, file, full);
  Dataset dataset = create_string_dataset(path, {});
  const std::string terminated(text);
  const char* pointer = terminated.c_str();
  const Scoped type = detail::string_type();
  checked(file, "write", full, [&] {
    return H5Dwrite(dataset.handle().id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                    static_cast<const void*>(&pointer));
  });
  return dataset;
}

Dataset Group::write_strings(const std::string& path, std::span<const std::string> texts,
                             const Storage& storage) {
  const std::string full = join(this->path(), path);
  FileState& file = *handle().file();
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) {
    detail::check_text(text, file, full);
    pointers.push_back(text.c_str());
  }
  Dataset dataset = create_string_dataset(path, {texts.size()}, storage);
  if (texts.empty()) return dataset;
  const Scoped type = detail::string_type();
  checked(file, "write", full, [&] {
    return H5Dwrite(dataset.handle().id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                    static_cast<const void*>(pointers.data()));
  });
  return dataset;
}

template<Number T>
std::vector<T> Group::read(const std::string& path, const Shape& expected) const {
  const Dataset source = dataset(path);
  if (source.shape() != expected) {
    fail(ExitCode::input_data, "{}: {} has shape {}; expected {}", file_name(), source.path(),
         to_string(source.shape()), to_string(expected));
  }
  return source.read<T>();
}

#define ATTN_INSTANTIATE(T)                                                                               \
  template Dataset Group::create_dataset<T>(const std::string&, const Shape&, const Storage&);            \
  template Dataset Group::write<T>(const std::string&, std::span<const T>, const Shape&, const Storage&); \
  template std::vector<T> Group::read<T>(const std::string&, const Shape&) const;
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
ATTN_INSTANTIATE(std::int32_t)
ATTN_INSTANTIATE(std::int64_t)
ATTN_INSTANTIATE(std::uint8_t)
ATTN_INSTANTIATE(std::uint64_t)
#undef ATTN_INSTANTIATE

}  // namespace attn::hdf5
