#include "inspection/archive_findings.h"

#include <algorithm>

#include "attn/core/error.h"

namespace attn::archive {
namespace {

bool is_choice(std::string_view choices, std::string_view found) {
  while (!choices.empty()) {
    const std::size_t bar = choices.find('|');
    if (choices.substr(0, bar) == found) return true;
    if (bar == std::string_view::npos) return false;
    choices.remove_prefix(bar + 1);
  }
  return false;
}

bool matches(const hdf5::Shape& found, const hdf5::Shape& expected) {
  return std::equal(
      found.begin(), found.end(), expected.begin(), expected.end(),
      [](std::uint64_t extent, std::uint64_t wanted) { return wanted == Findings::any || extent == wanted; });
}

std::string describe(const hdf5::Shape& expected) {
  std::string text;
  for (const std::uint64_t extent : expected) {
    if (!text.empty()) text += ", ";
    text += extent == Findings::any ? std::string("any") : std::to_string(extent);
  }
  return fmt::format("({})", text);
}

bool is_sha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::optional<hdf5::Dataset> Findings::dataset(const hdf5::Group& file, const std::string& path,
                                               std::string_view types, const hdf5::Shape& shape) {
  if (!file.is_dataset(path)) {
    add(path, "missing; expected a dataset of type {} and shape {}", types, describe(shape));
    return std::nullopt;
  }
  hdf5::Dataset dataset = file.dataset(path);
  bool good = true;
  if (const std::string type = dataset.type(); !is_choice(types, type)) {
    add(path, "has type {}; expected {}", type, types);
    good = false;
  }
  if (!matches(dataset.shape(), shape)) {
    add(path, "has shape {}; expected {}", hdf5::to_string(dataset.shape()), describe(shape));
    good = false;
  }
  if (types != "string") {
    text(dataset, "long_name");
    text(dataset, "units");
  }
  return good ? std::optional(std::move(dataset)) : std::nullopt;
}

std::optional<hdf5::Group> Findings::group(const hdf5::Group& file, const std::string& path) {
  if (file.is_group(path)) return file.group(path);
  add(path, "missing; expected a group");
  return std::nullopt;
}

std::optional<std::string> Findings::text(const hdf5::Object& object, const std::string& name,
                                          std::string_view choices) {
  const std::string path = fmt::format("{}@{}", object.path(), name);
  if (!object.has_attribute(name)) {
    add(path, "missing; expected {}", choices.empty() ? "a text" : choices);
    return std::nullopt;
  }
  try {
    std::string found = object.string_attribute(name);
    if (choices.empty() || is_choice(choices, found)) return found;
    add(path, "is '{}'; expected {}", found, choices);
  } catch (const Error& error) {
    if (error.code() != ExitCode::input_data) throw;
    add(path, "is no single text");
  }
  return std::nullopt;
}

std::optional<std::int64_t> Findings::integer(const hdf5::Object& object, const std::string& name,
                                              std::int64_t least, std::int64_t greatest) {
  const std::string path = fmt::format("{}@{}", object.path(), name);
  if (!object.has_attribute(name)) {
    add(path, "missing; expected a whole number from {} to {}", least, greatest);
    return std::nullopt;
  }
  try {
    const auto found = object.attribute<std::int64_t>(name);
    if (found >= least && found <= greatest) return found;
    add(path, "is {}; expected a whole number from {} to {}", found, least, greatest);
  } catch (const Error& error) {
    if (error.code() != ExitCode::input_data) throw;
    add(path, "is no single whole number");
  }
  return std::nullopt;
}

void check_header(const hdf5::File& file, Findings& findings) {
  findings.integer(file, "format_version", 1, 1);
  for (const char* name : {"creator", "creator_version", "created_utc"}) findings.text(file, name);
  for (const char* name : {"checkpoint_sha256", "config_sha256"}) {
    if (!file.has_attribute(name)) continue;
    const auto digest = findings.text(file, name);
    if (digest && !is_sha256(*digest))
      findings.add(fmt::format("/@{}", name), "is '{}'; expected 64 hexadecimal digits", *digest);
  }
}

}  // namespace attn::archive

namespace attn {

ValidationReport validate_file(const std::filesystem::path& path) {
  ValidationReport report;
  {
    const hdf5::File file = hdf5::File::open(path);
    if (file.has_attribute("format")) report.format = file.string_attribute("format");
  }
  const bool positions = report.format == "attn.positions";
  const hdf5::File file = hdf5::open_checked(path, positions ? "attn.positions" : "attn.attention", 1);
  if (positions) {
    archive::check_positions(file, report);
  } else {
    archive::check_attention(file, report);
  }
  return report;
}

}  // namespace attn
