#pragma once
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/experiment/chapter_example.h"
#include "attn/ops/ops.h"

namespace attn {

/// Reads and prints an ExampleArray.
struct ExampleNumbers {
  bool required = true;

  std::string type() const { return "nested lists of numbers, or a function of a shape as normal(2, 1, 20)"; }
  std::string range() const { return required ? "required" : ""; }
  std::string read(const yaml::Node& node, ExampleArray& array) const;
  std::string print(const ExampleArray& array) const;
};

/// "(2, 1, 20)"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// The device, the seed and the steps so far of an example that is being computed.
class ExampleRun {
 public:
  ExampleRun(std::shared_ptr<Device> device, DType type, std::uint64_t seed)
      : device_(std::move(device)), type_(type), seed_(seed) {}

  const std::shared_ptr<Device>& device() const noexcept { return device_; }
  DType type() const noexcept { return type_; }
  std::uint64_t seed() const noexcept { return seed_; }

  /// The numbers of an array that was given; what is random depends on the seed and `name` alone. Throws
  /// Error(config) naming the key where the array is missing.
  ExampleValues values(const ExampleArray& array, std::string_view name) const;
  Tensor tensor(const ExampleValues& values) const;
  /// i32, checked to be whole numbers that are not negative.
  Tensor lengths(const ExampleValues& values, std::string_view name) const;

  ExampleStep& add(const std::string& name, const std::string& formula, ExampleValues result);
  ExampleStep& add(const std::string& name, const std::string& formula, const Tensor& result);
  std::deque<ExampleStep>& steps() noexcept { return steps_; }

 private:
  std::shared_ptr<Device> device_;
  DType type_;
  std::uint64_t seed_;
  std::deque<ExampleStep> steps_;  // steps refer to earlier ones while they are made
};

/// The kinds by name, in the order of the chapters; null for a name that is none.
std::unique_ptr<ExampleKind> make_example_kind(std::string_view name);
std::vector<std::string> example_kind_names();

// attention
std::unique_ptr<ExampleKind> make_masked_softmax_example();
std::unique_ptr<ExampleKind> make_dot_product_example();
std::unique_ptr<ExampleKind> make_additive_example();
std::unique_ptr<ExampleKind> make_multi_head_example();
std::unique_ptr<ExampleKind> make_weights_example();
// layers
std::unique_ptr<ExampleKind> make_batch_product_example();
std::unique_ptr<ExampleKind> make_normalisation_example();
std::unique_ptr<ExampleKind> make_feed_forward_example();
std::unique_ptr<ExampleKind> make_transformer_block_example();
std::unique_ptr<ExampleKind> make_masked_loss_example();

}  // namespace attn
