#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "attn/core/error.h"
#include "attn/runtime/random.h"
#include "example_run.h"

namespace attn {
namespace {

constexpr std::int64_t most_elements = 1 << 20;
constexpr std::array<std::string_view, 6> functions{"normal", "uniform",  "ones",
                                                    "zeros",  "counting", "identity"};

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

// Adds the numbers of a list at `depth`; the first one met at each depth decides the shape.
std::string gather(const yaml::Node& node, std::size_t depth, ExampleArray& array) {
  if (!node.is_sequence()) {
    if (depth != array.shape.size()) return "the lists are not equally deep";
    double value = 0.0;
    std::string problem = config::Real{}.read(node, value);
    if (problem.empty()) array.values.push_back(value);
    return problem;
  }
  const auto size = static_cast<std::int64_t>(node.items.size());
  if (size == 0) return "a list is empty";
  if (array.values.empty() && depth == array.shape.size()) array.shape.push_back(size);
  if (depth >= array.shape.size()) return "the lists are not equally deep";
  if (array.shape[depth] != size)
    return fmt::format("lists of one depth have {} and {} elements", array.shape[depth], size);
  for (const yaml::Node& item : node.items) {
    if (std::string problem = gather(item, depth + 1, array); !problem.empty()) return problem;
  }
  return {};
}

// "(2, 1, 20)" -> {2, 1, 20}; empty for anything else.
std::vector<std::int64_t> parse_shape(std::string_view text) {
  std::vector<std::int64_t> shape;
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return {};
  text = text.substr(1, text.size() - 2);
  while (true) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 1 || size > most_elements) return {};
    shape.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    if (text.empty()) return shape;
    if (text.front() != ',') return {};
    text.remove_prefix(1);
  }
}

std::string read_function(const std::string& text, ExampleArray& array) {
  const std::size_t open = std::min(text.find('('), text.size());
  array.function = text.substr(0, open);
  array.shape = parse_shape(std::string_view(text).substr(open));
  const bool known = std::find(functions.begin(), functions.end(), array.function) != functions.end();
  if (!known || array.shape.empty()) {
    return fmt::format(
        "expected nested lists of numbers or one of {} with a shape, as normal(2, 1, 20); found '{}'",
        fmt::join(functions, ", "), text);
  }
  if (array.function == "identity") {
    if (array.shape.size() != 1) return "identity takes one number, as identity(10)";
    array.shape.push_back(array.shape.front());
  }
  double elements = 1.0;
  for (const std::int64_t size : array.shape) elements *= static_cast<double>(size);
  if (elements > static_cast<double>(most_elements))
    return fmt::format("has more than {} elements", most_elements);
  return {};
}

void print_list(const ExampleArray& array, std::size_t depth, std::size_t& next, std::string& text) {
  if (depth == array.shape.size()) {
    text += config::Real{}.print(array.values[next++]);
    return;
  }
  text += '[';
  for (std::int64_t i = 0; i < array.shape[depth]; ++i) {
    if (i > 0) text += ", ";
    print_list(array, depth + 1, next, text);
  }
  text += ']';
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::string ExampleNumbers::read(const yaml::Node& node, ExampleArray& array) const {
  ExampleArray found;
  if (node.is_null() && !required) {
    array = {};
    return {};
  }
  if (!node.is_scalar() && !node.is_sequence()) return "expected " + type() + ", found " + node.describe();
  std::string problem = node.is_scalar() ? read_function(node.text, found) : gather(node, 0, found);
  if (problem.empty()) array = std::move(found);
  return problem;
}

std::string ExampleNumbers::print(const ExampleArray& array) const {
  if (!array.given()) return "null";
  if (array.function == "identity") return fmt::format("identity({})", array.shape.front());
  if (!array.function.empty()) return array.function + shape_text(array.shape);
  std::string text;
  std::size_t next = 0;
  print_list(array, 0, next, text);
  return text;
}

ExampleValues ExampleRun::values(const ExampleArray& array, std::string_view name) const {
  if (!array.given()) {
    fail(ExitCode::config,
         "{} is missing; give it as lists, [[1, 2], [3, 4]], or as a function, normal(2, 2)", name);
  }
  if (array.function.empty()) return {array.shape, array.values};
  RandomSequence random(seed_, name);
  ExampleValues result{array.shape, {}};
  const std::int64_t elements = product(array.shape), width = array.shape.back();
  for (std::int64_t i = 0; i < elements; ++i) {
    double value = 0.0;
    if (array.function == "normal") value = random.normal();
    if (array.function == "uniform") value = random.uniform();
    if (array.function == "ones") value = 1.0;
    if (array.function == "counting") value = static_cast<double>(i);
    if (array.function == "identity") value = i / width == i % width ? 1.0 : 0.0;
    result.values.push_back(value);
  }
  return result;
}

Tensor ExampleRun::tensor(const ExampleValues& values) const {
  return Tensor::from<double>(device_, values.values, Shape(values.shape), type_);
}

Tensor ExampleRun::lengths(const ExampleValues& values, std::string_view name) const {
  std::vector<std::int32_t> whole;
  for (const double value : values.values) {
    if (value < 0 || value > most_elements || value != std::floor(value))
      fail(ExitCode::config, "{} must be whole numbers from 0 up, found {}", name, value);
    whole.push_back(static_cast<std::int32_t>(value));
  }
  return Tensor::from<std::int32_t>(device_, whole, Shape(values.shape));
}

ExampleStep& ExampleRun::add(const std::string& name, const std::string& formula, ExampleValues result) {
  steps_.push_back({name, formula, std::move(result), false, {}, {}});
  return steps_.back();
}

ExampleStep& ExampleRun::add(const std::string& name, const std::string& formula, const Tensor& result) {
  ExampleValues values;
  for (int axis = 0; axis < result.rank(); ++axis) values.shape.push_back(result.size(axis));
  values.values = result.to_vector<double>();
  return add(name, formula, std::move(values));
}

}  // namespace attn
