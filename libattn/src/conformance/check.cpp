#include <algorithm>
#include <chrono>

#include "attn/core/error.h"
#include "check_cases.h"

namespace attn::conformance {

Bounds bounds_of(DType type) {
  if (type == DType::f64) return {1e-24, 1e-12, 1e-12};
  return {1e-10, 1e-5, 1e-5};
}

CheckReport check_backend(const std::shared_ptr<const Backend>& backend,
                          const std::shared_ptr<const Backend>& reference, const CheckOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  CheckReport report;
  Findings findings(report);
  const auto device = Device::open(backend, {.device = options.device, .threads = 1});
  report.backend = backend->name();
  report.version = backend->version();
  report.file = backend->file().string();
  report.device = device->name();
  report.seed = options.seed;
  report.quick = options.quick;
  const auto note = [&](std::string_view what, double done) {
    if (options.progress) options.progress(what, done);
  };
  try {
    const Session one_thread(backend, options.device, 1), three_threads(backend, options.device, 3);
    const Workbench bench{backend, Device::open(reference), device, one_thread, three_threads, options,
                          findings};
    const Recipes recipes = all_recipes(options.seed, options.quick);
    report.operations.reserve(ops::all_operations().size());
    std::size_t done = 0;
    for (const Recipe& recipe : recipes.all()) {
      const std::string name = full_name(recipe);
      note(name, static_cast<double>(done++) / static_cast<double>(recipes.all().size()));
      if (name.find(options.filter) == std::string::npos) continue;
      for (const DType real : {DType::f32, DType::f64}) report.cases += check_case(bench, recipe, real);
    }
    note("gradients", 1);
    check_gradients(bench);
    note("memory and errors", 1);
    check_table(bench);
    check_memory(bench);
    check_batches(bench);
    check_errors(bench, recipes);
    note("two contexts", 1);
    check_concurrency(bench, recipes);
  } catch (const Fault& fault) {
    findings.failed({fault.aspect(), "", "", "", fault.what()});
  }
  std::sort(report.operations.begin(), report.operations.end(),
            [](const OperationReport& a, const OperationReport& b) { return a.kind < b.kind; });
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace attn::conformance
