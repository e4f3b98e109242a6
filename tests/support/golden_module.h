#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "attn/nn/context.h"
#include "attn/nn/parameter.h"
#include "support/catch.h"
#include "support/golden.h"

namespace attn::test {

/// A backend and element type in which a reference case is reproduced, and how closely.
struct Setting {
  std::shared_ptr<Device> device;
  DType type = DType::f64;
  double tolerance = 1e-9;
  std::string name;
};

/// f64 and f32 on every backend that a test must pass on. A plugin that was not built is a warning; one that
/// is there and does not open is a failure.
inline std::vector<Setting> settings() {
  const std::vector<BackendListing> built = list_backends();
  std::vector<Setting> all;
  for (const std::string backend : {"reference", "eigen"}) {
    if (std::none_of(built.begin(), built.end(), [&](const auto& found) { return found.name == backend; })) {
      WARN("not tested, the plugin is not built: " << backend);
      continue;
    }
    const auto device = Device::open(backend);
    all.push_back({device, DType::f64, 1e-9, backend + " f64"});
    all.push_back({device, DType::f32, 1e-4, backend + " f32"});
  }
  REQUIRE_FALSE(all.empty());
  return all;
}

/// The largest difference, relative to the largest element of `expected`, or to 0.1 where all are smaller
/// (what cancels to 0, as the gradient of a key bias, keeps the rounding errors of its summands); infinite
/// where the sizes differ or an element is not finite.
inline double relative_difference(const std::vector<double>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double largest = 0.1, difference = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!std::isfinite(found[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(found[i] - expected[i]));
  }
  return difference / largest;
}

/// Row-major `values` of `shape` with axis i of the result being axis axes[i].
inline std::vector<double> permuted(const std::vector<double>& values, const std::vector<std::int64_t>& shape,
                                    const std::vector<std::size_t>& axes) {
  std::vector<std::int64_t> strides(shape.size(), 1), to(axes.size());
  for (std::size_t i = shape.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * shape[i];
  for (std::size_t i = 0; i < axes.size(); ++i) to[i] = shape[axes[i]];
  std::vector<double> result;
  std::vector<std::int64_t> index(axes.size(), 0);
  while (result.size() < values.size()) {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) from += index[i] * strides[axes[i]];
    result.push_back(values[static_cast<std::size_t>(from)]);
    for (std::size_t i = axes.size(); i-- > 0 && ++index[i] == to[i];) index[i] = 0;
  }
  return result;
}

/// One case of the reference file, reproduced in one setting by modules whose parameters are loaded from it.
///
/// Order of use: declare modules in scope(), start(), load parameters, watch inputs, run, check.
class GoldenModule {
 public:
  GoldenModule(const std::string& name, const Setting& setting)
      : golden_(name), setting_(setting), store_(setting.device, setting.type) {}

  const GoldenCase& golden() const { return golden_; }
  const Setting& setting() const { return setting_; }
  ParameterStore& store() { return store_; }
  Scope scope() { return Scope(store_); }

  void start() {
    store_.materialise(1);
    store_.train_with(tape_);
  }
  /// Gives a parameter the values of a dataset.
  void load(const std::string& path, const std::string& dataset) { load(path, golden_.values(dataset)); }
  void load(const std::string& path, const std::vector<double>& values) {
    const ParameterHandle parameter = store_.find(path);
    INFO("parameter " << path);
    REQUIRE(parameter != nullptr);
    REQUIRE(parameter->shape.elements() == static_cast<std::int64_t>(values.size()));
    parameter->tensor.assign<double>(values);
  }

  Tensor tensor(const std::vector<double>& values, const Shape& shape) const {
    return Tensor::from<double>(setting_.device, values, shape, setting_.type);
  }
  Tensor input(const std::string& dataset) const { return tensor(golden_.values(dataset), shape(dataset)); }
  Tensor watch(const std::string& dataset) { return tape_.watch(input(dataset)); }
  Tensor watch(const Tensor& value) { return tape_.watch(value); }
  Tensor integers(const std::string& dataset) const {
    return Tensor::from<std::int32_t>(setting_.device, golden_.integers(dataset), shape(dataset));
  }
  /// A mask by the lengths of a dataset, or none if the case has none.
  ops::Mask mask(const std::string& dataset = "valid_lens", attn_masking masking = ATTN_MASK_BOOK) const {
    ops::Mask mask;
    if (golden_.has(dataset)) mask.valid_lengths = integers(dataset);
    mask.masking = masking;
    return mask;
  }
  Shape shape(const std::string& dataset) const {
    const std::vector<std::int64_t> dims = golden_.shape(dataset);
    return Shape(std::span<const std::int64_t>(dims));
  }

  /// `found` equals a dataset.
  void check(const Tensor& found, const std::string& dataset) const {
    check(found.to_vector<double>(), golden_.values(dataset), dataset);
  }
  void check(const std::vector<double>& found, const std::vector<double>& expected,
             const std::string& what) const {
    INFO(setting_.name << ": " << what);
    CHECK(relative_difference(found, expected) < setting_.tolerance);
  }

  /// Gradients of the sum of `output` * the dataset `cotangent`.
  void backward(const Tensor& output, const std::string& cotangent) {
    tape_.backward(output, input(cotangent));
  }
  void backward(const Tensor& output, const Tensor& cotangent) { tape_.backward(output, cotangent); }
  void backward(const Tensor& loss) { tape_.backward(loss); }
  void check_gradient(const Tensor& leaf, const std::string& dataset) const {
    check(gradient(leaf), golden_.values(dataset), dataset);
  }
  void check_gradient_of(const std::string& path, const std::string& dataset) const {
    check(gradient_of(path), golden_.values(dataset), dataset);
  }
  std::vector<double> gradient(const Tensor& leaf) const {
    const Tensor found = tape_.gradient_of(leaf);
    REQUIRE(found.defined());
    return found.to_vector<double>();
  }
  std::vector<double> gradient_of(const std::string& path) const {
    const ParameterHandle parameter = store_.find(path);
    INFO("parameter " << path);
    REQUIRE(parameter != nullptr);
    return parameter->gradient.to_vector<double>();
  }

 private:
  GoldenCase golden_;
  Setting setting_;
  Tape tape_;
  ParameterStore store_;
};

/// Keeps what a context reports about attention weights.
struct SeenWeights {
  AttentionKind kind;
  std::int64_t layer;
  std::vector<double> values;
  Shape shape;
};
inline void record_weights(Context& context, std::vector<SeenWeights>& seen) {
  context.observe([&seen](AttentionKind kind, std::int64_t layer, const Tensor& weights) {
    seen.push_back({kind, layer, weights.to_vector<double>(), weights.shape()});
  });
}

}  // namespace attn::test
