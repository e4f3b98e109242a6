#pragma once
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/io/yaml.h"

/// The kinds of values that a configuration holds. Each kind reads a YAML value into a member, or says in one
/// phrase what is wrong with it ("expected a number, found 'abc'"), and prints a member as YAML that reads
/// back equal.
namespace attn::config {

/// true or false, nothing else.
struct Boolean {
  std::string type() const { return "true or false"; }
  std::string range() const { return ""; }
  /// The phrase that says what is wrong; empty when `value` was read.
  std::string read(const yaml::Node& node, bool& value) const;
  std::string print(bool value) const { return value ? "true" : "false"; }
};

template<typename T>
concept IntegerValue = std::integral<T> && !std::same_as<T, bool>;

/// A whole number; 3.0 and 1e3 are none.
struct Integer {
  std::optional<std::int64_t> minimum = {};
  std::optional<std::int64_t> maximum = {};

  std::string type() const { return "an integer"; }
  std::string range() const;
  template<IntegerValue T>
  std::string read(const yaml::Node& node, T& value) const {
    if constexpr (std::unsigned_integral<T>) {
      std::uint64_t wide = 0;
      std::string problem = read_unsigned(node, std::numeric_limits<T>::max(), wide);
      if (problem.empty()) value = static_cast<T>(wide);
      return problem;
    } else {
      std::int64_t wide = 0;
      std::string problem =
          read_signed(node, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), wide);
      if (problem.empty()) value = static_cast<T>(wide);
      return problem;
    }
  }
  template<IntegerValue T>
  std::string print(T value) const {
    return std::to_string(value);
  }

 private:
  std::string read_signed(const yaml::Node& node, std::int64_t lowest, std::int64_t highest,
                          std::int64_t& value) const;
  std::string read_unsigned(const yaml::Node& node, std::uint64_t highest, std::uint64_t& value) const;
};

/// A finite number: 5, .5, 1e-3.
struct Real {
  std::optional<double> minimum = {};
  std::optional<double> maximum = {};
  std::optional<double> above = {};  ///< exclusive
  std::optional<double> below = {};  ///< exclusive

  std::string type() const { return "a number"; }
  std::string range() const;
  std::string read(const yaml::Node& node, double& value) const;
  std::string read(const yaml::Node& node, float& value) const;
  std::string print(double value) const;
  std::string print(float value) const;
};

/// Any text.
struct Text {
  bool may_be_empty = true;

  std::string type() const { return "a text"; }
  std::string range() const { return may_be_empty ? "" : "not empty"; }
  std::string read(const yaml::Node& node, std::string& value) const;
  std::string print(const std::string& value) const { return yaml::quote(value); }
};

/// A file or folder name, taken as it stands: relative ones are relative to the working folder.
struct Path {
  std::string type() const { return "a path"; }
  std::string range() const { return ""; }
  std::string read(const yaml::Node& node, std::filesystem::path& value) const;
  std::string print(const std::filesystem::path& value) const { return yaml::quote(value.string()); }
};

/// One of a few words, each standing for a value: Choice<Optimizer>{{{"adam", Optimizer::adam}, ...}}.
template<typename T>
struct Choice {
  std::vector<std::pair<std::string, T>> choices;

  std::string type() const;
  std::string range() const { return ""; }
  std::string read(const yaml::Node& node, T& value) const;
  std::string print(const T& value) const;
};

namespace detail {
std::string describe_choices(const std::vector<std::string>& names);
std::string unknown_choice(const yaml::Node& node, const std::vector<std::string>& names);

template<typename T>
std::vector<std::string> names_of(const std::vector<std::pair<std::string, T>>& choices) {
  std::vector<std::string> names;
  names.reserve(choices.size());
  for (const auto& [name, value] : choices) names.push_back(name);
  return names;
}

// A member that is a list or optional takes its elements' kind.
template<typename Kind, typename T>
std::string type_of(const Kind& kind, const T& /*member*/) {
  return kind.type();
}
template<typename Kind, typename T>
std::string type_of(const Kind& kind, const std::vector<T>& /*member*/) {
  return "a list, each " + kind.type();
}
template<typename Kind, typename T>
std::string type_of(const Kind& kind, const std::optional<T>& /*member*/) {
  return kind.type() + " or null";
}

template<typename Kind, typename T>
std::string read(const Kind& kind, const yaml::Node& node, T& member) {
  return kind.read(node, member);
}
template<typename Kind, typename T>
std::string read(const Kind& kind, const yaml::Node& node, std::vector<T>& member) {
  if (!node.is_sequence()) return "expected a list, each " + kind.type() + ", found " + node.describe();
  std::vector<T> values;
  values.reserve(node.items.size());
  for (const yaml::Node& item : node.items) {
    T value{};
    std::string problem = kind.read(item, value);
    if (!problem.empty()) return problem;
    values.push_back(std::move(value));
  }
  member = std::move(values);
  return {};
}
template<typename Kind, typename T>
std::string read(const Kind& kind, const yaml::Node& node, std::optional<T>& member) {
  if (node.is_null()) {
    member.reset();
    return {};
  }
  T value{};
  std::string problem = kind.read(node, value);
  if (problem.empty()) member = std::move(value);
  return problem;
}

template<typename Kind, typename T>
std::string print(const Kind& kind, const T& member) {
  return kind.print(member);
}
template<typename Kind, typename T>
std::string print(const Kind& kind, const std::vector<T>& member) {
  std::string text = "[";
  for (const T& value : member) {
    if (text.size() > 1) text += ", ";
    text += kind.print(value);
  }
  return text + "]";
}
template<typename Kind, typename T>
std::string print(const Kind& kind, const std::optional<T>& member) {
  return member ? kind.print(*member) : "null";
}
}  // namespace detail

template<typename T>
std::string Choice<T>::type() const {
  return detail::describe_choices(detail::names_of(choices));
}

template<typename T>
std::string Choice<T>::read(const yaml::Node& node, T& value) const {
  for (const auto& [name, meaning] : choices) {
    if (node.is_scalar() && node.text == name) {
      value = meaning;
      return {};
    }
  }
  return detail::unknown_choice(node, detail::names_of(choices));
}

template<typename T>
std::string Choice<T>::print(const T& value) const {
  for (const auto& [name, meaning] : choices) {
    if (meaning == value) return yaml::quote(name);
  }
  return "null";
}

}  // namespace attn::config
