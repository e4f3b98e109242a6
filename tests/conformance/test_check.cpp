#include <algorithm>

#include "attn/conformance/conformance.h"
#include "attn/ops/operation.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::conformance;

CheckReport check_reference(const std::string& filter, std::uint64_t seed = 1) {
  const auto reference = find_backend("reference");
  CheckOptions options;
  options.quick = true;
  options.filter = filter;
  options.seed = seed;
  return check_backend(reference, reference, options);
}

}  // namespace

TEST_CASE("a check has cases of every operation, in both types") {
  const CheckReport report = check_reference("");
  CHECK(report.passed());
  CHECK(report.backend == "reference");
  REQUIRE(report.operations.size() == ops::all_operations().size());
  for (std::size_t i = 0; i < report.operations.size(); ++i) {
    const OperationReport& one = report.operations[i];
    INFO(one.name);
    const ops::Operation& operation = *ops::all_operations()[i];
    CHECK(one.kind == operation.kind);
    CHECK(one.primitive == (operation.decomposition == nullptr));
    CHECK(one.failures == 0);
    // the reference runs primitives itself and leaves all else to the host
    CHECK((one.f32.native > 0) == one.primitive);
    CHECK((one.f32.decomposed > 0) == !one.primitive);
    if (one.kind != ATTN_OP_CAST) CHECK(one.f64.native + one.f64.decomposed > 0);
    CHECK(one.f32.worst_error <= 1);
    CHECK(one.why_not.empty() == one.primitive);
  }
  for (const char* name : {"query", "promise", "result", "decomposition", "unwritten", "guard zone",
                           "input changed", "determinism", "alignment", "gradient", "table", "device",
                           "memory", "batch", "error path", "concurrency"}) {
    INFO(name);
    const auto found = std::find_if(report.aspects.begin(), report.aspects.end(),
                                    [&](const AspectReport& aspect) { return aspect.name == name; });
    REQUIRE(found != report.aspects.end());
    CHECK(found->checks > 0);
    CHECK(found->failures == 0);
  }
}

TEST_CASE("a filter leaves the cases that contain it, and equal seeds give equal reports") {
  const CheckReport first = check_reference("layer_norm: "), same = check_reference("layer_norm: "),
                    other = check_reference("layer_norm: ", 2);
  REQUIRE(first.operations.size() == 1);
  CHECK(first.operations[0].name == "layer_norm");
  CHECK(first.cases == same.cases);
  CHECK(first.operations[0].f32.worst_error == same.operations[0].f32.worst_error);
  CHECK(first.operations[0].f32.worst_error != other.operations[0].f32.worst_error);
  CHECK(check_reference("nothing is called so").cases == 0);
}

TEST_CASE("f64 is held to much tighter bounds than f32") {
  CHECK(bounds_of(DType::f64).atol < 1e-6 * bounds_of(DType::f32).atol);
  CHECK(bounds_of(DType::f64).nmse < 1e-12 * bounds_of(DType::f32).nmse);
}

TEST_CASE("a device that does not exist is an error, not a failure of the plugin") {
  const auto reference = find_backend("reference");
  CheckOptions options;
  options.device = 5;
  const auto error = attn::test::error_of([&] { (void)check_backend(reference, reference, options); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::backend);
}
