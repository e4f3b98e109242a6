#include <algorithm>
#include <cmath>

#include "attn/inspection/positions.h"
#include "inspection/archive_findings.h"

namespace attn::archive {
namespace {

struct Extents {
  std::uint64_t count = 0, width = 0;
};

// Whole numbers from `first` on.
template<typename T>
std::uint64_t check_scale(const hdf5::File& file, const std::string& path, const char* type, T first,
                          Findings& findings) {
  const auto dataset = findings.dataset(file, path, type, {Findings::any});
  if (!dataset) return 0;
  const std::vector<T> values = dataset->read<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != first + static_cast<T>(i))
      findings.add(path, "is {} in row {}; expected {}", values[i], i, first + static_cast<T>(i));
  }
  return values.size();
}

void compare(const std::string& path, const std::vector<double>& found, const std::vector<double>& expected,
             double tolerance, Findings& findings) {
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    const double scale = std::max(1.0, std::abs(expected[i]));
    if (!(std::abs(found[i] - expected[i]) <= tolerance * scale))
      findings.add(path, "is {:.9g} at element {}; expected {:.9g}", found[i], i, expected[i]);
  }
}

void check_sinusoidal(const hdf5::File& file, const Extents& extents, double base, Findings& findings) {
  const auto count = static_cast<std::int64_t>(extents.count);
  const auto width = static_cast<std::int64_t>(extents.width);
  if (const auto encoding = findings.dataset(file, "/encoding", "f32|f64", {extents.count, extents.width})) {
    compare("/encoding", encoding->read<double>(), sinusoidal_table(count, width, base).encoding,
            encoding->type() == "f32" ? 1e-7 : 1e-12, findings);
  }
  if (const auto wavelength = findings.dataset(file, "/wavelength", "f64", {extents.width}))
    compare("/wavelength", wavelength->read<double>(), position_wavelengths(width, base), 1e-12, findings);
  if (!file.exists("/rotation") && !file.exists("/rotation_error")) return;
  const auto rotation = findings.dataset(file, "/rotation", "f64", {Findings::any, extents.width / 2, 2, 2});
  if (!rotation) return;
  const std::uint64_t shifts = rotation->shape().front();
  std::vector<double> expected;
  for (std::uint64_t shift = 1; shift <= shifts; ++shift) {
    const std::vector<double> one = position_rotation(static_cast<std::int64_t>(shift), width, base);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  compare("/rotation", rotation->read<double>(), expected, 1e-12, findings);
  const auto errors = findings.dataset(file, "/rotation_error", "f64", {shifts});
  if (!errors) return;
  for (const double error : errors->read<double>()) {
    if (!(error >= 0.0 && error <= 1e-6))
      findings.add("/rotation_error", "holds {:.3g}; expected 0 to 1e-6", error);
  }
}

}  // namespace

void check_positions(const hdf5::File& file, ValidationReport& report) {
  Findings findings(report);
  check_header(file, findings);
  const std::string type = findings.text(file, "type", "sinusoidal|learned").value_or("");
  const Extents extents{check_scale<std::int64_t>(file, "/position", "i64", 0, findings),
                        check_scale<std::int32_t>(file, "/dimension", "i32", 0, findings)};
  report.summary = fmt::format("{} {} positions of width {}", extents.count, type, extents.width);
  if (extents.count == 0 || extents.width == 0) return;
  if (type == "sinusoidal") {
    const double base = file.has_attribute("base") ? file.attribute<double>("base") : 0.0;
    if (!(base > 0.0)) {
      findings.add("/@base", "missing or not positive; expected the base of the wavelengths");
      return;
    }
    check_sinusoidal(file, extents, base, findings);
  } else {
    findings.dataset(file, "/encoding", "f32|f64", {extents.count, extents.width});
    findings.integer(file, "max_len", static_cast<std::int64_t>(extents.count),
                     static_cast<std::int64_t>(extents.count));
    findings.text(file, "checkpoint_sha256");
  }
  if (!file.exists("/similarity")) return;
  const auto similarity = findings.dataset(file, "/similarity", "f32", {extents.count, extents.count});
  if (!similarity || !file.is_dataset("/encoding")) return;
  const std::vector<float> expected =
      position_similarity(file.read<double>("/encoding", {extents.count, extents.width}),
                          static_cast<std::int64_t>(extents.count), static_cast<std::int64_t>(extents.width));
  compare("/similarity", similarity->read<double>(), {expected.begin(), expected.end()}, 1e-5, findings);
}

}  // namespace attn::archive
