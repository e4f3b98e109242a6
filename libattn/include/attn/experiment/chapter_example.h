#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/experiment/experiment_config.h"
#include "attn/figures/picture.h"
#include "attn/runtime/device.h"

/// The small examples of the attention chapters of Dive into Deep Learning: a few numbers or shapes in a YAML
/// file, computed by a backend step by step.
namespace attn {

/// Numbers of any shape, row-major.
struct ExampleValues {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// One thing that an example shows: an operand, an intermediate result or the output.
struct ExampleStep {
  std::string name;     ///< "scores"
  std::string formula;  ///< "Q K^T"; empty for what was given
  ExampleValues result;
  bool is_weights = false;           ///< attention weights, [queries, keys] or with batch (and heads) before
  std::vector<std::uint8_t> masked;  ///< of weights: 1 where the key is padding; empty: nowhere
  std::vector<std::string> arithmetic;  ///< every number written out, where there are few; one row a line
};

/// How a step compares with what a book, or somebody else, says.
struct ExampleComparison {
  std::string step;    ///< which step
  std::string source;  ///< who says so, "the book"
  /// Its shape is the step's, or the step's last axes: then every row is compared. Without values only the
  /// shape is.
  ExampleValues expected;
  double tolerance = 0.0;   ///< half of the last digit given
  double difference = 0.0;  ///< the largest over all elements
  bool agrees = false;
  /// Where they differ: a sentence a row, and what else has these values.
  std::vector<std::string> remarks;
};

struct ExampleReport {
  std::string title;
  std::vector<ExampleStep> steps;
  std::optional<ExampleComparison> comparison;

  /// The step of this name, or null.
  const ExampleStep* find(std::string_view name) const;
};

class ExampleRun;

/// What an example computes; the key `example` of its file says which.
class ExampleKind {
 public:
  ExampleKind() = default;
  ExampleKind(const ExampleKind&) = delete;
  ExampleKind& operator=(const ExampleKind&) = delete;
  ExampleKind(ExampleKind&&) = delete;
  ExampleKind& operator=(ExampleKind&&) = delete;
  virtual ~ExampleKind() = default;

  /// Declares the keys of its own.
  virtual void describe(config::Schema& schema) = 0;
  /// Computes and adds the steps. Throws Error(config) for shapes that do not fit.
  virtual void compute(ExampleRun& run) const = 0;
};

/// Numbers as a configuration gives them: nested lists, or a function of a shape such as normal(2, 1, 20).
struct ExampleArray {
  std::vector<std::int64_t> shape;  ///< empty: not given
  std::vector<double> values;       ///< of a list
  std::string function;             ///< normal, uniform, ones, zeros, counting or identity; empty for a list

  bool given() const { return !shape.empty(); }
};

/// An example, ready to be computed.
class ChapterExample {
 public:
  /// Reads the layers of a configuration. Throws Error(config) with everything that is wrong.
  ChapterExample(std::span<const yaml::Document> documents, std::span<const config::Override> overrides);

  /// Computes on the configured backend. Throws Error(config) for shapes that do not fit, Error(backend).
  ExampleReport run() const;

  const std::string& kind() const noexcept { return kind_name_; }
  const BackendConfig& backend() const noexcept { return backend_; }
  std::uint64_t seed() const noexcept { return seed_; }
  /// The resolved configuration, each value with its origin.
  const std::string& yaml() const noexcept { return yaml_; }

 private:
  ExampleComparison compare(const ExampleReport& report) const;

  std::string kind_name_, title_;
  std::uint64_t seed_ = 1;
  BackendConfig backend_;
  std::string book_step_, book_source_ = "the book";
  ExampleArray book_values_;
  std::vector<std::int64_t> book_shape_;
  double book_tolerance_ = 5e-5;
  std::unique_ptr<ExampleKind> kind_;
  std::string yaml_;
};

/// An example that the program brings along: a file of configs/d2l.
struct BuiltInExample {
  std::string_view name;  ///< the file's, without folder and extension
  std::string_view yaml;
};
std::span<const BuiltInExample> built_in_examples();

/// The weights of a step as heat-maps: a panel for each sentence and head; padding is hatched. Sentences with
/// one query each are the rows of one panel. Throws Error(usage) if the step has no weights.
std::string example_heat_map(const std::string& title, const ExampleStep& step, PictureFormat format);

/// Writes all steps as HDF5 with the format "attn.example" (docs/file-formats.md), all or nothing. Throws
/// Error(file).
void save_example(const std::filesystem::path& path, const ChapterExample& example,
                  const ExampleReport& report, const std::string& command_line);

}  // namespace attn
