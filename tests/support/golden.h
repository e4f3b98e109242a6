#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attn/io/hdf5.h"

namespace attn::test {

/// One case of tests/golden/golden.h5, the float64 reference values; tests/golden/LAYOUT.txt lists them. The
/// test links attn::io. What is asked for and missing is an Error that names it.
class GoldenCase {
 public:
  explicit GoldenCase(const std::string& name)
      : file_(hdf5::File::open(ATTN_TEST_DATA "/golden/golden.h5")), group_(file_.group(name)) {}

  /// Whether the case has a dataset or a string of this name.
  bool has(const std::string& name) const { return group_.exists(name) || group_.has_attribute(name); }
  std::vector<std::string> datasets() const { return group_.dataset_paths(); }

  /// Row-major.
  std::vector<double> values(const std::string& dataset) const { return group_.read<double>(dataset); }
  std::vector<std::int64_t> shape(const std::string& dataset) const {
    const hdf5::Shape shape = group_.dataset(dataset).shape();
    return {shape.begin(), shape.end()};
  }
  /// A dataset of one element, as 'eps' or 'smoothing'.
  double scalar(const std::string& dataset) const { return group_.read<double>(dataset, {1}).front(); }
  /// Ids and lengths, which the file keeps as float64.
  std::vector<std::int32_t> integers(const std::string& dataset) const {
    const std::vector<double> stored = values(dataset);
    return {stored.begin(), stored.end()};
  }
  /// A string attribute, as 'description' or 'pred_0'.
  std::string string(const std::string& attribute) const { return group_.string_attribute(attribute); }
  /// An integer attribute, as 'num_pairs'.
  std::size_t number(const std::string& attribute) const {
    return static_cast<std::size_t>(group_.attribute<std::int64_t>(attribute));
  }

 private:
  hdf5::File file_;
  hdf5::Group group_;
};

}  // namespace attn::test
