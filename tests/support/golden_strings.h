#pragma once
#include <hdf5.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace attn::test {

/// Reads one group of tests/golden/golden.h5 through HDF5's C API; see tests/golden/LAYOUT.txt.
class GoldenCase {
 public:
  explicit GoldenCase(const std::string& name)
      : file_(H5Fopen(ATTN_TEST_DATA "/golden/golden.h5", H5F_ACC_RDONLY, H5P_DEFAULT)),
        group_(H5Gopen2(file_, name.c_str(), H5P_DEFAULT)) {
    if (file_ < 0 || group_ < 0) throw std::runtime_error("golden.h5 has no case " + name);
  }
  GoldenCase(const GoldenCase&) = delete;
  GoldenCase& operator=(const GoldenCase&) = delete;
  ~GoldenCase() {
    H5Gclose(group_);
    H5Fclose(file_);
  }

  /// A UTF-8 string attribute of variable length.
  std::string text(const std::string& attribute) const {
    const hid_t id = H5Aopen(group_, attribute.c_str(), H5P_DEFAULT);
    if (id < 0) throw std::runtime_error("golden case lacks the attribute " + attribute);
    const hid_t type = H5Aget_type(id);
    char* value = nullptr;
    const herr_t status = H5Aread(id, type, &value);
    std::string text = status >= 0 && value != nullptr ? value : "";
    H5free_memory(value);
    H5Tclose(type);
    H5Aclose(id);
    if (status < 0) throw std::runtime_error("cannot read the attribute " + attribute);
    return text;
  }

  /// An integer attribute.
  std::size_t number(const std::string& attribute) const {
    const hid_t id = H5Aopen(group_, attribute.c_str(), H5P_DEFAULT);
    long long value = -1;
    const herr_t status = id < 0 ? -1 : H5Aread(id, H5T_NATIVE_LLONG, &value);
    H5Aclose(id);
    if (status < 0 || value < 0) throw std::runtime_error("cannot read the attribute " + attribute);
    return static_cast<std::size_t>(value);
  }

  /// A dataset of any shape, row-major.
  std::vector<double> values(const std::string& dataset) const {
    const hid_t id = H5Dopen2(group_, dataset.c_str(), H5P_DEFAULT);
    if (id < 0) throw std::runtime_error("golden case lacks the dataset " + dataset);
    const hid_t space = H5Dget_space(id);
    std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    const herr_t status = H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Sclose(space);
    H5Dclose(id);
    if (status < 0) throw std::runtime_error("cannot read the dataset " + dataset);
    return values;
  }

 private:
  hid_t file_;
  hid_t group_;
};

}  // namespace attn::test
