#pragma once
// Every case on the plugin and on the reference.
#include "compare.h"
#include "session.h"

namespace attn::conformance {

/// Gathers what the checks find.
class Findings {
 public:
  explicit Findings(CheckReport& report) : report_(report) {}

  /// Counts a check of an aspect, and a failure if `fault` says one.
  void passed(const std::string& aspect) { ++of(aspect).checks; }
  void failed(Failure failure);
  OperationReport& operation(std::uint32_t kind);

 private:
  AspectReport& of(const std::string& aspect);
  CheckReport& report_;
};

/// The pieces of a check.
struct Workbench {
  std::shared_ptr<const Backend> backend;
  std::shared_ptr<Device> reference;  ///< computes what is expected
  std::shared_ptr<Device> device;     ///< the plugin as libattn uses it
  const Session& one_thread;
  const Session& three_threads;
  const CheckOptions& options;
  Findings& findings;
};

/// Runs a check of the plugin as a whole; what it throws becomes a failure of the aspect.
void check_aspect(const Workbench& bench, const std::string& aspect, const std::string& name,
                  const std::function<void()>& check);

/// Scenarios: results and gradients against the reference, gradients against differences of the results.
void check_gradients(const Workbench& bench);
/// The table, devices, memory, batches, and what must be refused.
void check_table(const Workbench& bench);
void check_memory(const Workbench& bench);
void check_batches(const Workbench& bench);
/// Malformed descriptors, of operations that the recipes show how to describe.
void check_errors(const Workbench& bench, const Recipes& recipes);
/// Two contexts in two threads.
void check_concurrency(const Workbench& bench, const Recipes& recipes);

/// "attention: [2, 3, 6] over 5, ..."
std::string full_name(const Recipe& recipe);
Case make_case(const Recipe& recipe, std::uint64_t seed, DType real,
               const std::shared_ptr<Device>& reference);

/// One f32 case of each operation that the plugin runs itself, none of whose tensors are empty.
std::vector<Case> samples(const Workbench& bench, const Recipes& recipes);

/// Runs a case and all that belongs to it; returns how many it was (0 where f64 would repeat f32).
int check_case(const Workbench& bench, const Recipe& recipe, DType real);

}  // namespace attn::conformance
