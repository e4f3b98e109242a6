#pragma once
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "attn/inspection/archive_validation.h"
#include "attn/io/hdf5.h"

namespace attn::archive {

/// Collects findings, of each path only the first ten.
class Findings {
 public:
  explicit Findings(ValidationReport& report) : report_(report) {}

  template<typename... Args>
  void add(const std::string& path, fmt::format_string<Args...> format, Args&&... args) {
    if (++counts_[path] > most) {
      ++report_.further;
      return;
    }
    report_.findings.push_back({path, fmt::format(format, std::forward<Args>(args)...)});
  }

  /// The dataset if it is there with this type (several joined by "|") and shape; a finding otherwise. An
  /// extent of `any` is not compared. Numbers must have long_name and units.
  std::optional<hdf5::Dataset> dataset(const hdf5::Group& file, const std::string& path,
                                       std::string_view types, const hdf5::Shape& shape);
  /// The group if it is there.
  std::optional<hdf5::Group> group(const hdf5::Group& file, const std::string& path);
  /// The attribute if it is there and a text; one of `choices` (joined by "|") unless they are empty.
  std::optional<std::string> text(const hdf5::Object& object, const std::string& name,
                                  std::string_view choices = {});
  /// The attribute if it is there and one whole number within [least, greatest].
  std::optional<std::int64_t> integer(const hdf5::Object& object, const std::string& name, std::int64_t least,
                                      std::int64_t greatest);

  static constexpr std::uint64_t any = ~std::uint64_t{0};

 private:
  static constexpr std::size_t most = 10;
  ValidationReport& report_;
  std::map<std::string, std::size_t> counts_;
};

/// What every attn file for other programs begins with.
void check_header(const hdf5::File& file, Findings& findings);

void check_attention(const hdf5::File& file, ValidationReport& report);
void check_positions(const hdf5::File& file, ValidationReport& report);

}  // namespace attn::archive
