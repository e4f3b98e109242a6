#include <fmt/ranges.h>

#include <algorithm>

#include "attn/core/error.h"
#include "attn/io/config_types.h"
#include "attn/io/yaml.h"
#include "workload.h"

namespace attn::bench {
namespace {

// The sizes of each operation; those that end in '?' may be left out and are then 0.
const std::map<std::string, std::vector<std::string>>& known_sizes() {
  static const std::map<std::string, std::vector<std::string>> sizes{
      {"matmul", {"batch", "m", "n", "k"}},
      {"linear", {"rows", "inputs", "outputs"}},
      {"masked_softmax", {"batch", "queries", "keys"}},
      {"attention", {"batch", "queries", "keys", "heads", "size", "causal?"}},
      {"additive_attention", {"batch", "queries", "keys", "hidden", "width"}},
      {"layer_norm", {"rows", "width"}},
      {"gru_sequence", {"steps", "batch", "hidden"}},
      {"conv_1d", {"batch", "steps", "channels", "outputs", "kernel"}},
      {"embed", {"vocabulary", "width", "batch", "steps"}},
      {"cross_entropy", {"tokens", "classes"}},
      {"adam", {"elements"}},
  };
  return sizes;
}

[[noreturn]] void fail_at(const yaml::Position& position, const std::string& message) {
  fail(ExitCode::config, "{}: {}", position.text(), message);
}

std::string text_of(const yaml::Node& node, const char* key) {
  if (!node.is_scalar())
    fail_at(node.position, fmt::format("{} must be a text, found {}", key, node.describe()));
  return node.text;
}

const std::vector<std::string>& sizes_of(const yaml::Node& node, const std::string& operation) {
  const auto found = known_sizes().find(operation);
  if (found != known_sizes().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, sizes] : known_sizes()) names.push_back(name);
  fail_at(node.position,
          fmt::format("unknown operation '{}'; there are: {}", operation, fmt::join(names, ", ")));
}

ShapeCase read_case(const yaml::Node& node) {
  const yaml::Node* operation = node.find("operation");
  if (!node.is_map() || operation == nullptr) fail_at(node.position, "expected a map with the key operation");
  ShapeCase one;
  one.operation = text_of(*operation, "operation");
  const std::vector<std::string>& sizes = sizes_of(*operation, one.operation);
  for (const std::string& size : sizes) {
    if (size.back() == '?') one.sizes[size.substr(0, size.size() - 1)] = 0;
  }
  for (const yaml::Entry& entry : node.entries) {
    if (entry.key == "operation") continue;
    if (entry.key == "name") {
      one.name = text_of(entry.value, "name");
      continue;
    }
    const bool known = std::any_of(sizes.begin(), sizes.end(), [&](const std::string& size) {
      return size == entry.key || size == entry.key + "?";
    });
    if (!known)
      fail_at(entry.position, fmt::format("unknown size '{}' of {}, which has: {}", entry.key, one.operation,
                                          fmt::join(sizes, ", ")));
    const std::string problem = config::Integer{.minimum = 0}.read(entry.value, one.sizes[entry.key]);
    if (!problem.empty()) fail_at(entry.value.position, fmt::format("{}: {}", entry.key, problem));
  }
  for (const std::string& size : sizes) {
    if (size.back() != '?' && one.sizes.find(size) == one.sizes.end())
      fail_at(node.position, fmt::format("{} lacks the size '{}'", one.operation, size));
  }
  return one;
}

}  // namespace

std::string ShapeCase::text() const {
  std::string text;
  for (const std::string& key : known_sizes().at(operation)) {
    const std::string plain = key.back() == '?' ? key.substr(0, key.size() - 1) : key;
    if (plain != key && size(plain) == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", plain, size(plain));
  }
  return text;
}

ShapeSet load_shape_set(const std::filesystem::path& path) {
  const yaml::Document document = yaml::load(path);
  document.require_valid();
  ShapeSet set;
  set.name = path.stem().string();
  const yaml::Node* shapes = document.root.find("shapes");
  if (shapes == nullptr || !shapes->is_sequence())
    fail_at(document.root.position, "expected the key shapes with a list of operations and their sizes");
  for (const yaml::Entry& entry : document.root.entries) {
    if (entry.key == "name") {
      set.name = text_of(entry.value, "name");
    } else if (entry.key == "type") {
      const std::string type = text_of(entry.value, "type");
      if (type != "f32" && type != "f64")
        fail_at(entry.value.position, fmt::format("type must be f32 or f64, found '{}'", type));
      set.type = type == "f64" ? DType::f64 : DType::f32;
    } else if (entry.key != "shapes") {
      fail_at(entry.position, fmt::format("unknown key '{}'; there are: name, type, shapes", entry.key));
    }
  }
  for (const yaml::Node& node : shapes->items) set.cases.push_back(read_case(node));
  return set;
}

}  // namespace attn::bench
