#include "attn/io/config_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "attn/core/error.h"
#include "attn/io/did_you_mean.h"

namespace attn::config {
namespace {

constexpr std::string_view sweep_key = "sweep";

/// "configs/x.yaml:12": a column would not help a reader of the origin.
std::string origin_of(const yaml::Position& position) {
  return position.line == 0 ? position.file : fmt::format("{}:{}", position.file, position.line);
}

/// File names may hold a line break, which would end the comment.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
  return text;
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  for (std::size_t end = path.find('.'); end != std::string::npos; end = path.find('.', begin)) {
    names.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  names.push_back(path.substr(begin));
  return names;
}

}  // namespace

Override parse_set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail(ExitCode::config, "--set {}: expected PATH=VALUE, as --set training.seed=1", assignment);
  }
  const std::string label = fmt::format("--set {}", assignment);
  return {.path = std::string(assignment.substr(0, equals)),
          .value = yaml::parse_value(assignment.substr(equals + 1), label),
          .origin = "--set"};
}

Override parse_flag(const std::string& flag, const std::string& path, std::string_view value) {
  return {.path = path, .value = yaml::parse_value(value, fmt::format("{} {}", flag, value)), .origin = flag};
}

void Schema::add(FieldInfo info, std::function<std::string(const yaml::Node&)> read,
                 std::function<std::string()> print) {
  if (find(info.path) != nullptr || is_section(info.path) || info.path == sweep_key) {
    fail(ExitCode::internal, "the setting '{}' is declared twice", info.path);
  }
  fields_.push_back({.info = std::move(info), .read = std::move(read), .print = std::move(print)});
}

Schema::Field* Schema::find(const std::string& path) {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const Field& field) { return field.info.path == path; });
  return found == fields_.end() ? nullptr : &*found;
}

bool Schema::is_section(const std::string& path) const {
  const std::string prefix = path + ".";
  return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) {
    return field.info.path.compare(0, prefix.size(), prefix) == 0;
  });
}

void Schema::unknown(const std::string& place, const std::string& path) {
  std::vector<std::string> candidates;
  std::set<std::string> sections;
  for (const Field& field : fields_) {
    candidates.push_back(field.info.path);
    for (std::size_t dot = field.info.path.find('.'); dot != std::string::npos;
         dot = field.info.path.find('.', dot + 1)) {
      sections.insert(field.info.path.substr(0, dot));
    }
  }
  candidates.insert(candidates.end(), sections.begin(), sections.end());
  problems_.push_back(fmt::format("{}: unknown key '{}'{}", place, path, did_you_mean(path, candidates)));
}

void Schema::assign(Field& field, const yaml::Node& value, const std::string& origin) {
  const std::string problem = field.read(value);
  field.place = value.position.text();
  field.info.origin = origin;
  if (problem.empty()) return;
  problems_.push_back(fmt::format("{}: {}: {}", field.place, field.info.path, problem));
}

void Schema::apply(const yaml::Document& document) {
  problems_.insert(problems_.end(), document.problems.begin(), document.problems.end());
  if (document.root.is_null()) return;
  if (!document.root.is_map()) {
    problems_.push_back(fmt::format("{}: expected settings as 'key: value', found {}",
                                    document.root.position.text(), document.root.describe()));
    return;
  }
  std::map<std::string, int> seen;
  apply_map(document.root, "", seen);
}

void Schema::apply_map(const yaml::Node& map, const std::string& prefix, std::map<std::string, int>& seen) {
  for (const yaml::Entry& entry : map.entries) {
    const std::string path = prefix + entry.key;
    if (path == sweep_key) continue;
    if (Field* const field = find(path)) {
      // The same key may hide behind a.b and a: {b: ...}, which are two different keys for YAML.
      const auto [first, is_new] = seen.emplace(path, entry.position.line);
      if (!is_new) {
        problems_.push_back(fmt::format("{}: duplicate key '{}' (first given in line {})",
                                        entry.position.text(), path, first->second));
        continue;
      }
      assign(*field, entry.value, origin_of(entry.position));
    } else if (!is_section(path)) {
      unknown(entry.position.text(), path);
    } else if (entry.value.is_map()) {
      apply_map(entry.value, path + ".", seen);
    } else if (!entry.value.is_null()) {
      problems_.push_back(fmt::format("{}: {}: expected a section of settings, found {}",
                                      entry.value.position.text(), path, entry.value.describe()));
    }
  }
}

void Schema::apply(const Override& override) {
  if (Field* const field = find(override.path)) {
    assign(*field, override.value, override.origin);
  } else if (is_section(override.path)) {
    problems_.push_back(
        fmt::format("{}: '{}' is a section, not a setting", override.value.position.text(), override.path));
  } else {
    unknown(override.value.position.text(), override.path);
  }
}

void Schema::problem(const std::string& path, const std::string& message) {
  const Field* const field = find(path);
  if (field == nullptr) fail(ExitCode::internal, "there is no setting '{}'", path);
  const std::string place = field->place.empty() ? "" : field->place + ": ";
  problems_.push_back(fmt::format("{}{}: {}", place, path, message));
}

void Schema::check() const {
  if (!problems_.empty()) throw Error(ExitCode::config, fmt::format("{}", fmt::join(problems_, "\n")));
}

const std::string& Schema::origin(const std::string& path) const {
  for (const Field& field : fields_) {
    if (field.info.path == path) return field.info.origin;
  }
  fail(ExitCode::internal, "there is no setting '{}'", path);
}

std::vector<FieldInfo> Schema::fields() const {
  std::vector<FieldInfo> infos;
  infos.reserve(fields_.size());
  for (const Field& field : fields_) {
    infos.push_back(field.info);
    infos.back().value = field.print();
  }
  return infos;
}

std::string Schema::dump() const {
  // A section is written whole, where its first field stands, whatever the order of declaration.
  std::map<std::string, std::size_t> first_of;
  std::vector<std::pair<std::vector<std::size_t>, const Field*>> sorted;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    std::vector<std::size_t> order;
    std::string prefix;
    for (const std::string& name : split(fields_[i].info.path)) {
      prefix += "." + name;
      order.push_back(first_of.emplace(prefix, i).first->second);
    }
    sorted.emplace_back(std::move(order), &fields_[i]);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  std::string text;
  std::vector<std::string> open;
  for (const auto& [order, field] : sorted) {
    const std::vector<std::string> names = split(field->info.path);
    std::size_t depth = 0;
    while (depth < open.size() && depth + 1 < names.size() && open[depth] == names[depth]) ++depth;
    open.assign(names.begin(), names.end() - 1);
    for (; depth + 1 < names.size(); ++depth) text += fmt::format("{:{}}{}:\n", "", 2 * depth, names[depth]);
    text += fmt::format("{:{}}{}: {}  # {}\n", "", 2 * depth, names.back(), field->print(),
                        one_line(field->info.origin));
  }
  return text;
}

}  // namespace attn::config
