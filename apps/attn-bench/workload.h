#pragma once
// Uses of operations whose speed is measured.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attn/ops/operation.h"

namespace attn::bench {

/// One operation with its sizes, as a configuration names it.
struct ShapeCase {
  std::string operation;
  std::string name;  ///< what it is in a model, may be empty
  std::map<std::string, std::int64_t> sizes;

  std::int64_t size(const std::string& key) const { return sizes.at(key); }
  /// "batch 64, queries 10, ..."
  std::string text() const;
};

/// A set of shapes, from one file.
struct ShapeSet {
  std::string name;
  DType type = DType::f32;
  std::vector<ShapeCase> cases;
};

/// Reads configs/bench/*.yaml. Throws Error(config) that names the place, for an unknown operation with all
/// known ones, for a missing or unknown size with those of the operation.
ShapeSet load_shape_set(const std::filesystem::path& path);

/// A call that can be repeated, with its tensors on a device.
struct Workload {
  ops::Call call;
  std::vector<ops::Into> into;

  void run() const { ops::apply_operation(call, into); }
  ops::TensorSpecs specs() const;
  double flops() const;
  double bytes() const { return ops::bytes_moved(call, specs()); }
};

/// The operation, and its gradient where it has one.
std::vector<Workload> make_workloads(const std::shared_ptr<Device>& device, const ShapeCase& shapes,
                                     DType type);

}  // namespace attn::bench
