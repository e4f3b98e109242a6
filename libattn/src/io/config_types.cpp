#include "attn/io/config_types.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "attn/io/did_you_mean.h"

namespace attn::config {
namespace {

std::string expected(std::string_view type, const yaml::Node& node) {
  return fmt::format("expected {}, found {}", type, node.describe());
}

/// from_chars on the whole text, which knows no plus sign of its own.
template<typename T>
std::errc parse_number(std::string_view text, T& value) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end != text.data() + text.size()) return std::errc::invalid_argument;
  return error;
}

/// A text such as 1e400 reads "out of range" only if all of it is a number.
bool is_plain_scalar(const yaml::Node& node) {
  return node.is_scalar() && !node.quoted;
}

template<typename T>
std::string read_real(const Real& kind, const yaml::Node& node, T& value) {
  T number = 0;
  const std::errc error =
      is_plain_scalar(node) ? parse_number(node.text, number) : std::errc::invalid_argument;
  if (error == std::errc::result_out_of_range) return fmt::format("{} is out of range", node.describe());
  if (error != std::errc() || !std::isfinite(number)) return expected(kind.type(), node);
  const bool fits = !(kind.minimum && number < static_cast<T>(*kind.minimum)) &&
                    !(kind.maximum && number > static_cast<T>(*kind.maximum)) &&
                    !(kind.above && number <= static_cast<T>(*kind.above)) &&
                    !(kind.below && number >= static_cast<T>(*kind.below));
  if (!fits) return fmt::format("must be {}, found {}", kind.range(), node.text);
  value = number;
  return {};
}

std::string join_range(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, " and "));
}

}  // namespace

std::string Boolean::read(const yaml::Node& node, bool& value) const {
  if (!is_plain_scalar(node) || (node.text != "true" && node.text != "false")) return expected(type(), node);
  value = node.text == "true";
  return {};
}

std::string Integer::range() const {
  std::vector<std::string> parts;
  if (minimum) parts.push_back(fmt::format("at least {}", *minimum));
  if (maximum) parts.push_back(fmt::format("at most {}", *maximum));
  return join_range(parts);
}

std::string Integer::read_signed(const yaml::Node& node, std::int64_t lowest, std::int64_t highest,
                                 std::int64_t& value) const {
  std::int64_t number = 0;
  const std::errc error =
      is_plain_scalar(node) ? parse_number(node.text, number) : std::errc::invalid_argument;
  if (error == std::errc::invalid_argument) return expected(type(), node);
  const bool in_range = !(minimum && number < *minimum) && !(maximum && number > *maximum);
  if (error == std::errc() && !in_range) return fmt::format("must be {}, found {}", range(), node.text);
  if (error != std::errc() || number < lowest || number > highest) {
    return fmt::format("{} is out of range", node.describe());
  }
  value = number;
  return {};
}

std::string Integer::read_unsigned(const yaml::Node& node, std::uint64_t highest,
                                   std::uint64_t& value) const {
  std::uint64_t number = 0;
  const std::errc error =
      is_plain_scalar(node) ? parse_number(node.text, number) : std::errc::invalid_argument;
  if (error == std::errc::invalid_argument) {
    std::int64_t negative = 0;
    const bool is_negative =
        is_plain_scalar(node) && parse_number(node.text, negative) != std::errc::invalid_argument;
    if (!is_negative) return expected(type(), node);
    return fmt::format("must be at least {}, found {}", minimum.value_or(0), node.text);
  }
  const bool in_range = !(minimum && *minimum > 0 && number < static_cast<std::uint64_t>(*minimum)) &&
                        !(maximum && number > static_cast<std::uint64_t>(*maximum));
  if (error == std::errc() && !in_range) return fmt::format("must be {}, found {}", range(), node.text);
  if (error != std::errc() || number > highest) return fmt::format("{} is out of range", node.describe());
  value = number;
  return {};
}

std::string Real::range() const {
  std::vector<std::string> parts;
  if (minimum) parts.push_back(fmt::format("at least {}", *minimum));
  if (above) parts.push_back(fmt::format("above {}", *above));
  if (maximum) parts.push_back(fmt::format("at most {}", *maximum));
  if (below) parts.push_back(fmt::format("below {}", *below));
  return join_range(parts);
}

std::string Real::read(const yaml::Node& node, double& value) const {
  return read_real(*this, node, value);
}
std::string Real::read(const yaml::Node& node, float& value) const {
  return read_real(*this, node, value);
}
std::string Real::print(double value) const {
  return fmt::format("{}", value);
}
std::string Real::print(float value) const {
  return fmt::format("{}", value);
}

std::string Text::read(const yaml::Node& node, std::string& value) const {
  if (!node.is_scalar()) return expected(type(), node);
  if (node.text.empty() && !may_be_empty) return "must not be empty";
  value = node.text;
  return {};
}

std::string Path::read(const yaml::Node& node, std::filesystem::path& value) const {
  if (!node.is_scalar()) return expected(type(), node);
  value = node.text;
  return {};
}

namespace detail {

std::string describe_choices(const std::vector<std::string>& names) {
  return fmt::format("one of {}", fmt::join(names, ", "));
}

std::string unknown_choice(const yaml::Node& node, const std::vector<std::string>& names) {
  return expected(describe_choices(names), node) + (node.is_scalar() ? did_you_mean(node.text, names) : "");
}

}  // namespace detail
}  // namespace attn::config
