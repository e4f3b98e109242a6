#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "attn/core/error.h"
#include "attn/core/sha256.h"
#include "attn/io/config_schema.h"

namespace attn::config {
namespace {

constexpr std::size_t most_runs = 10'000;
// File systems take 255 bytes; a copy's number and an extension must fit as well.
constexpr std::size_t longest_name = 200, kept_of_long_name = 180;

std::string last_name(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

std::string value_text(const yaml::Node& node) {
  if (node.is_null()) return "null";
  if (node.is_scalar()) return node.text;
  std::string text;
  for (const yaml::Node& item : node.items)
    text += fmt::format("{}{}", text.empty() ? "" : "-", value_text(item));
  for (const yaml::Entry& entry : node.entries) {
    text += fmt::format("{}{}={}", text.empty() ? "" : "-", entry.key, value_text(entry.value));
  }
  return text;
}

/// Only characters that are safe in a folder's name and need no quotation marks in a shell.
std::string folder_name(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        return !letter && std::string_view("._+-=").find(c) == std::string_view::npos;
      },
      '_');
  return text;
}

/// A long name keeps its beginning; a checksum of all of it keeps it apart from others.
std::string shortened(const std::string& name) {
  if (name.size() <= longest_name) return name;
  return name.substr(0, kept_of_long_name) + "_" + sha256_hex(name).substr(0, 8);
}

void check_axis(const yaml::Entry& axis) {
  if (!axis.value.is_sequence() || axis.value.items.empty()) {
    fail(ExitCode::config, "{}: sweep.{}: expected a list of the values to try, found {}",
         axis.position.text(), axis.key, axis.value.is_sequence() ? "an empty list" : axis.value.describe());
  }
}

}  // namespace

std::vector<SweepPoint> expand_sweep(const yaml::Document& document) {
  const yaml::Node* const sweep = document.root.find("sweep");
  if (sweep == nullptr) return {SweepPoint{}};
  if (!sweep->is_map() || sweep->entries.empty()) {
    fail(ExitCode::config, "{}: sweep: expected settings with lists, as 'training.seed: [1, 2]', found {}",
         sweep->position.text(), sweep->describe());
  }
  std::multiset<std::string> short_names;
  std::size_t runs = 1;
  for (const yaml::Entry& axis : sweep->entries) {
    check_axis(axis);
    short_names.insert(last_name(axis.key));
    runs *= axis.value.items.size();
    if (runs > most_runs) {
      fail(ExitCode::config, "{}: the sweep has more than {} runs", sweep->position.text(), most_runs);
    }
  }
  std::vector<SweepPoint> points(runs);
  std::size_t repeats = runs;
  for (const yaml::Entry& axis : sweep->entries) {
    const std::size_t values = axis.value.items.size();
    repeats /= values;
    const std::string name = short_names.count(last_name(axis.key)) == 1 ? last_name(axis.key) : axis.key;
    for (std::size_t i = 0; i < runs; ++i) {
      const yaml::Node& value = axis.value.items[i / repeats % values];
      points[i].name += fmt::format("{}{}={}", points[i].name.empty() ? "" : ",", folder_name(name),
                                    folder_name(value_text(value)));
      points[i].overrides.push_back(
          {.path = axis.key,
           .value = value,
           .origin = fmt::format("{}:{} (sweep)", value.position.file, value.position.line)});
    }
  }
  // Values that differ only in replaced characters, or that stand twice in a list, would share a folder.
  std::set<std::string> names;
  for (SweepPoint& point : points) {
    const std::string base = shortened(point.name);
    point.name = base;
    for (int copy = 2; !names.insert(point.name).second; ++copy)
      point.name = fmt::format("{}_{}", base, copy);
  }
  return points;
}

}  // namespace attn::config
