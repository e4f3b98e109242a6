#include "check_cases.h"

#include <algorithm>
#include <cmath>

namespace attn::conformance {
namespace {

using Outputs = std::vector<std::vector<std::byte>>;

std::vector<CaseTensor> decoded(const Case& one, const Outputs& outputs) {
  std::vector<CaseTensor> tensors = one.outputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].present) tensors[i].values = decode(tensors[i].type, outputs[i]);
  }
  return tensors;
}

// One case, and where its faults go.
class CaseCheck {
 public:
  CaseCheck(const Workbench& bench, const Recipe& recipe, const Case& one)
      : bench_(bench),
        case_(one),
        operation_(bench.findings.operation(recipe.kind)),
        coverage_(one.real == DType::f64 ? operation_.f64 : operation_.f32),
        name_(full_name(recipe)) {}

  void run() {
    const std::vector<CaseTensor> expected = evaluate_case(bench_.reference, in_f64(case_));
    Support support;
    if (!checked("query", [&] { support = query(); })) return;
    if (!support.supported) {
      ++coverage_.decomposed;
      if (operation_.why_not.empty()) operation_.why_not = support.why_not;
      checked("decomposition",
              [&] { agree("decomposition", evaluate_case(bench_.device, case_), expected, true); });
      return;
    }
    ++coverage_.native;
    Outputs first;
    if (!checked("promise", [&] { first = bench_.one_thread.run(case_, support.workspace_bytes, {}); }))
      return;
    bench_.findings.passed("guard zone");
    bench_.findings.passed("input changed");
    const std::vector<CaseTensor> found = decoded(case_, first);
    const bool close = checked("unwritten", [&] { check_repeated(first, support); });
    if (!close || !checked("result", [&] { agree("result", found, expected, true); })) return;
    check_variants(support, expected, found);
  }

 private:
  template<typename Check>
  bool checked(const std::string& aspect, const Check& check) {
    try {
      check();
      bench_.findings.passed(aspect);
      return true;
    } catch (const Fault& fault) {
      fail(fault.aspect(), fault.what());
    } catch (const Error& error) {
      fail(aspect, error.what());
    }
    return false;
  }

  void fail(const std::string& aspect, const std::string& message) {
    ++operation_.failures;
    bench_.findings.failed(
        {aspect, operation_.name, name_, case_.uses_real ? name_of(case_.real) : "", message});
  }

  Support query() {
    Description description(case_);
    const Support support = bench_.one_thread.query(description.op());
    if (!support.supported && operation_.primitive)
      throw Fault("query", fmt::format("a primitive is not supported: {}", support.why_not));
    const Support again = bench_.three_threads.query(description.op());
    if (again.supported != support.supported)
      throw Fault("query", "two contexts answer the same query differently");
    return support;
  }

  // The same again in another context with more threads, over other poison.
  void check_repeated(const Outputs& first, const Support& support) {
    const std::size_t workspace = support.workspace_bytes;
    const Outputs same = bench_.one_thread.run(case_, workspace, {Poison::large, false});
    for (std::size_t i = 0; i < first.size(); ++i) check_written(first[i], same[i], i);
    if (same != first)
      throw Fault("determinism", "the same operation, run twice, gives other bits: " + where(first, same));
    bench_.findings.passed("determinism");
    const Outputs threads = bench_.three_threads.run(case_, workspace, {});
    if (threads != first)
      throw Fault("determinism",
                  "with 3 threads in place of 1 it gives other bits: " + where(first, threads));
  }

  void check_written(const std::vector<std::byte>& first, const std::vector<std::byte>& second,
                     std::size_t output) {
    const CaseTensor& tensor = case_.outputs[output];
    if (!tensor.present || tensor.in_out || tensor.alias >= 0) return;
    const std::size_t size = size_of(tensor.type);
    std::size_t unwritten = 0, at = 0;
    for (std::size_t i = 0; i < first.size(); i += size) {
      const auto all = [&](const std::vector<std::byte>& bytes, Poison poison) {
        return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                           bytes.begin() + static_cast<std::ptrdiff_t>(i + size),
                           [&](std::byte b) { return b == std::byte(poison); });
      };
      if (!all(first, Poison::not_a_number) || !all(second, Poison::large)) continue;
      if (unwritten++ == 0) at = i / size;
    }
    if (unwritten > 0) {
      throw Fault("unwritten",
                  fmt::format("{} of {} elements of output {} are not written, the first is {}", unwritten,
                              elements_of(tensor), output, position_of(tensor.shape, at)));
    }
  }

  std::string where(const Outputs& a, const Outputs& b) const {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto place = std::mismatch(a[i].begin(), a[i].end(), b[i].begin());
      if (place.first == a[i].end()) continue;
      const auto byte = static_cast<std::size_t>(place.first - a[i].begin());
      const CaseTensor& tensor = case_.outputs[i];
      const std::size_t element = byte / size_of(tensor.type);
      return fmt::format("element {} of output {} is {:.17g} and {:.17g}", position_of(tensor.shape, element),
                         i, decode(tensor.type, a[i])[element], decode(tensor.type, b[i])[element]);
    }
    return "nowhere";
  }

  void agree(const std::string& aspect, const std::vector<CaseTensor>& found,
             const std::vector<CaseTensor>& expected, bool count) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].present) continue;
      const Difference difference = compare(found[i], expected[i], case_.magnitude, case_.exact);
      if (count) {
        coverage_.worst_error = std::max(coverage_.worst_error, difference.error);
        coverage_.worst_nmse = std::max(coverage_.worst_nmse, difference.nmse);
      }
      if (difference.within(bounds_of(found[i].type))) continue;
      throw Fault(aspect, fmt::format("output {}: {} ({:.3g} times the bound, nmse {:.3g})", i,
                                      difference.worst, difference.error, difference.nmse));
    }
  }

  // The same from memory that is aligned to elements only, and from the operation's own decomposition.
  void check_variants(const Support& support, const std::vector<CaseTensor>& expected,
                      const std::vector<CaseTensor>& found) {
    checked("alignment", [&] {
      agree(
          "alignment",
          decoded(case_, bench_.one_thread.run(case_, support.workspace_bytes, {Poison::not_a_number, true})),
          expected, false);
    });
    if (operation_.primitive) return;
    checked("decomposition", [&] {
      const std::vector<CaseTensor> parts = evaluate_case(bench_.device, case_, true);
      agree("decomposition", parts, expected, false);
      agree("decomposition", found, parts, false);
    });
  }

  const Workbench& bench_;
  const Case& case_;
  OperationReport& operation_;
  TypeCoverage& coverage_;
  std::string name_;
};

}  // namespace

AspectReport& Findings::of(const std::string& aspect) {
  for (AspectReport& one : report_.aspects) {
    if (one.name == aspect) return one;
  }
  return report_.aspects.emplace_back(AspectReport{aspect});
}

void Findings::failed(Failure failure) {
  AspectReport& aspect = of(failure.aspect);
  ++aspect.checks;
  ++aspect.failures;
  report_.failures.push_back(std::move(failure));
}

OperationReport& Findings::operation(std::uint32_t kind) {
  for (OperationReport& one : report_.operations) {
    if (one.kind == kind) return one;
  }
  const ops::Operation& operation = *ops::find_operation(kind);
  OperationReport report;
  report.kind = kind;
  report.name = operation.name;
  report.primitive = operation.decomposition == nullptr;
  return report_.operations.emplace_back(std::move(report));
}

std::string full_name(const Recipe& recipe) {
  return fmt::format("{}: {}", ops::find_operation(recipe.kind)->name, recipe.name);
}

Case make_case(const Recipe& recipe, std::uint64_t seed, DType real,
               const std::shared_ptr<Device>& reference) {
  Builder builder(recipe.kind, full_name(recipe), seed, real, reference);
  recipe.fill(builder);
  return builder.take();
}

int check_case(const Workbench& bench, const Recipe& recipe, DType real) {
  try {
    const Case one = make_case(recipe, bench.options.seed, real, bench.reference);
    if (real == DType::f64 && !one.uses_real) return 0;
    CaseCheck(bench, recipe, one).run();
    return 1;
  } catch (const Error& error) {
    fail(error.code(), "the reference cannot compute the case '{}': {}", full_name(recipe), error.what());
  }
}

std::vector<Case> samples(const Workbench& bench, const Recipes& recipes) {
  std::vector<Case> list;
  for (const Recipe& recipe : recipes.all()) {
    const bool known =
        std::any_of(list.begin(), list.end(), [&](const Case& one) { return one.kind == recipe.kind; });
    if (known) continue;
    Case one = make_case(recipe, bench.options.seed, DType::f32, bench.reference);
    const auto empty = [](const CaseTensor& tensor) {
      return tensor.present && (tensor.shape.rank() == 0 || elements_of(tensor) == 0);
    };
    if (!one.uses_real || std::all_of(one.outputs.begin(), one.outputs.end(), empty) ||
        std::any_of(one.inputs.begin(), one.inputs.end(),
                    [&](const CaseTensor& t) { return t.present && elements_of(t) == 0; }))
      continue;
    Description description(one);
    if (bench.one_thread.query(description.op()).supported) list.push_back(std::move(one));
  }
  return list;
}

void check_aspect(const Workbench& bench, const std::string& aspect, const std::string& name,
                  const std::function<void()>& check) {
  if (fmt::format("{}: {}", aspect, name).find(bench.options.filter) == std::string::npos) return;
  try {
    check();
    bench.findings.passed(aspect);
  } catch (const Fault& fault) {
    bench.findings.failed({fault.aspect(), "", fmt::format("{}: {}", aspect, name), "", fault.what()});
  } catch (const Error& error) {
    bench.findings.failed({aspect, "", fmt::format("{}: {}", aspect, name), "", error.what()});
  }
}

}  // namespace attn::conformance
