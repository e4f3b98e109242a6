#pragma once
// Whether a backend plugin does what attn/backend_abi.h and attn/op_kinds.h say.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/runtime/backend.h"
#include "attn/runtime/dtype.h"

namespace attn::conformance {

/// How far a result of this type may be from the reference, which computes in f64:
///     |a - b| <= atol * scale + rtol * |b|   for every element, and
///     mean (a - b)^2 <= nmse * mean b^2      for every output,
/// where scale is the root mean square of the output, at least the size of the terms that are added up in it.
struct Bounds {
  double nmse, atol, rtol;
};
Bounds bounds_of(DType type);

struct CheckOptions {
  std::uint64_t seed = 1;  ///< of shapes and values
  bool quick = false;      ///< fewer and smaller shapes, for slow devices
  std::string filter;      ///< only cases whose "operation: name" contains this
  int device = 0;          ///< index of the device
  /// Called now and then with what is being checked, and how far (0 to 1).
  std::function<void(std::string_view what, double done)> progress;
};

/// A check that failed.
struct Failure {
  std::string aspect;     ///< "result", "unwritten", "determinism", "guard", "gradient", ...
  std::string operation;  ///< "attention"; empty where no operation is concerned
  std::string name;       ///< of the case, which filter finds again
  std::string type;       ///< "f32", "f64", or empty
  std::string message;
};

/// What was seen of an operation in one type.
struct TypeCoverage {
  int native = 0;      ///< cases that the plugin runs itself
  int decomposed = 0;  ///< cases that are left to the host's decomposition
  double worst_nmse = 0;
  double worst_error = 0;  ///< in parts of what is allowed: 1 is the bound
};

struct OperationReport {
  std::uint32_t kind = 0;
  std::string name;
  bool primitive = false;
  TypeCoverage f32, f64;
  int failures = 0;
  std::string why_not;  ///< the first reason for leaving a case to the decomposition
};

/// A property of the plugin, beside its results.
struct AspectReport {
  std::string name;
  int checks = 0, failures = 0;
};

struct CheckReport {
  std::string backend, version, file, device;
  std::uint64_t seed = 0;
  bool quick = false;
  std::vector<OperationReport> operations;  ///< those that had cases, by kind
  std::vector<AspectReport> aspects;
  std::vector<Failure> failures;
  int cases = 0;
  double seconds = 0;

  bool passed() const noexcept { return failures.empty(); }
};

/// Runs every check on the plugin. `reference` is what results are compared with. Throws Error(backend) if
/// there is no such device; everything that is wrong with the plugin itself is in the report.
CheckReport check_backend(const std::shared_ptr<const Backend>& backend,
                          const std::shared_ptr<const Backend>& reference, const CheckOptions& options);

}  // namespace attn::conformance
