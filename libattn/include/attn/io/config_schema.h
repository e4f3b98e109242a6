#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/io/config_types.h"
#include "attn/io/yaml.h"

namespace attn::config {

/// One value from outside a configuration file, or from its sweep.
struct Override {
  std::string path;    ///< "training.learning_rate"
  yaml::Node value;    ///< its position is the place named in messages
  std::string origin;  ///< "--set", "--seed", "configs/x.yaml:30 (sweep)"
};

/// Reads "training.learning_rate=0.001", the argument of --set; the value is YAML. Throws Error
/// (ExitCode::config) when it has no "=".
Override parse_set(std::string_view assignment);

/// A value that a command-line flag stands for, as --seed 3 for "training.seed".
Override parse_flag(const std::string& flag, const std::string& path, std::string_view value);

/// What a schema knows about one field, for documentation.
struct FieldInfo {
  std::string path;
  std::string type;           ///< "a number", "one of adam, sgd"
  std::string range;          ///< "above 0", or empty
  std::string documentation;  ///< one line
  std::string default_value;  ///< as YAML
  std::string value;          ///< as YAML
  std::string origin;         ///< "default", "configs/x.yaml:12", "--set", "--seed"
};

/// A typed tree of settings, bound to the members of the caller's structs. A member's value when it is bound
/// is the default. Layers are applied in the order of the calls: files, then --set, then flags; the last one
/// wins.
///
///     TrainingConfig training;
///     config::Schema schema;
///     schema.field("training.learning_rate", training.learning_rate, config::Real{.above = 0}, "Step size of
///     Adam"); schema.apply(yaml::load("configs/x.yaml"));
///     schema.apply(config::parse_set("training.learning_rate=1e-3"));
///     schema.check();
///
/// A member may also be a std::vector (a YAML list) or a std::optional (null for none) of the kind's values.
/// The bound structs must outlive the schema.
class Schema {
 public:
  /// Declares a field. A kind is one of Boolean, Integer, Real, Text, Path, Choice<T>.
  template<typename T, typename Kind>
  void field(const std::string& path, T& member, const Kind& kind, const std::string& documentation) {
    add(
        {.path = path,
         .type = detail::type_of(kind, member),
         .range = kind.range(),
         .documentation = documentation,
         .default_value = detail::print(kind, member),
         .value = {},
         .origin = "default"},
        [kind, &member](const yaml::Node& node) { return detail::read(kind, node, member); },
        [kind, &member] { return detail::print(kind, member); });
  }

  /// Applies a file. What is wrong with it is collected for check(). The key `sweep` is left to expand_sweep.
  void apply(const yaml::Document& document);
  void apply(const Override& override);

  /// Adds a finding of the caller's own about a field, as "must divide model.width"; it is reported at the
  /// place that gave the value.
  void problem(const std::string& path, const std::string& message);

  /// All that is wrong so far, one sentence each.
  const std::vector<std::string>& problems() const noexcept { return problems_; }
  /// Throws Error (ExitCode::config) with all problems, one a line, when there are any.
  void check() const;

  /// "default", "configs/x.yaml:12", "--set" or the flag; the path must be a field's.
  const std::string& origin(const std::string& path) const;
  std::vector<FieldInfo> fields() const;

  /// The settings as YAML, each with its origin as a comment; loading it gives the same settings.
  std::string dump() const;

 private:
  struct Field {
    FieldInfo info;
    std::function<std::string(const yaml::Node&)> read;
    std::function<std::string()> print;
    std::string place = {};  ///< of the value, for messages; empty for a default
  };

  void add(FieldInfo info, std::function<std::string(const yaml::Node&)> read,
           std::function<std::string()> print);
  void apply_map(const yaml::Node& map, const std::string& prefix, std::map<std::string, int>& seen);
  void assign(Field& field, const yaml::Node& value, const std::string& origin);
  void unknown(const std::string& place, const std::string& path);
  Field* find(const std::string& path);
  bool is_section(const std::string& path) const;

  std::vector<Field> fields_;
  std::vector<std::string> problems_;
};

/// One run of a sweep.
struct SweepPoint {
  std::string name;  ///< "learning_rate=0.001,seed=2"; unique, and fit for a folder's name
  std::vector<Override> overrides;
};

/// Expands the key `sweep` of a configuration, a map from paths to lists, to the grid of all combinations;
/// the last key varies fastest. Without that key: one point without name and overrides. Throws Error
/// (ExitCode::config) with the position when it is no such map.
std::vector<SweepPoint> expand_sweep(const yaml::Document& document);

}  // namespace attn::config
