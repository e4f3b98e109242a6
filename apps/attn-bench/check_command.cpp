#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "attn/cli/output.h"
#include "attn/cli/progress.h"
#include "attn/cli/signals.h"
#include "attn/conformance/conformance.h"
#include "attn/core/error.h"
#include "command.h"
#include "table.h"

namespace attn::bench {
namespace {

using conformance::CheckReport;
using Json = nlohmann::ordered_json;

struct Options : Common {
  std::string backend, reference = "reference";
  conformance::CheckOptions check;
  std::size_t shown = 20;
};

std::string short_number(double value) {
  if (value == 0) return "0";
  return fmt::format("{:.1e}", value);
}

std::string coverage(const conformance::TypeCoverage& type) {
  if (type.native > 0 && type.decomposed > 0)
    return fmt::format("native {}, decomposed {}", type.native, type.decomposed);
  if (type.native > 0) return fmt::format("native {}", type.native);
  return type.decomposed > 0 ? fmt::format("decomposed {}", type.decomposed) : "-";
}

Json json_of(const conformance::TypeCoverage& type) {
  Json object;
  object["native"] = type.native;
  object["decomposed"] = type.decomposed;
  object["worst_nmse"] = type.worst_nmse;
  // JSON has no infinity
  object["worst_error"] = std::isfinite(type.worst_error) ? Json(type.worst_error) : Json("infinite");
  return object;
}

std::string as_json(const CheckReport& report) {
  Json object;
  object["backend"] = report.backend;
  object["version"] = report.version;
  object["file"] = report.file;
  object["device"] = report.device;
  object["seed"] = report.seed;
  object["quick"] = report.quick;
  object["cases"] = report.cases;
  object["seconds"] = std::round(report.seconds * 100) / 100;
  object["passed"] = report.passed();
  object["operations"] = Json::array();
  for (const auto& one : report.operations) {
    Json row;
    row["kind"] = one.kind;
    row["operation"] = one.name;
    row["primitive"] = one.primitive;
    row["failures"] = one.failures;
    row["f32"] = json_of(one.f32);
    row["f64"] = json_of(one.f64);
    if (!one.why_not.empty()) row["why_not"] = one.why_not;
    object["operations"].push_back(std::move(row));
  }
  object["aspects"] = Json::array();
  for (const auto& one : report.aspects)
    object["aspects"].push_back({{"aspect", one.name}, {"checks", one.checks}, {"failures", one.failures}});
  object["failures"] = Json::array();
  for (const auto& one : report.failures) {
    object["failures"].push_back({{"aspect", one.aspect},
                                  {"operation", one.operation},
                                  {"name", one.name},
                                  {"type", one.type},
                                  {"message", one.message}});
  }
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_text(const CheckReport& report, std::size_t shown) {
  std::string text =
      fmt::format("backend {} {} on {}\n{}\n\n", report.backend, report.version, report.device, report.file);
  Table table({"operation", "f32", "f64", "nmse f32", "nmse f64", "error f32", "error f64", "failed"});
  for (const auto& one : report.operations) {
    table.add({one.name, coverage(one.f32), coverage(one.f64), short_number(one.f32.worst_nmse),
               short_number(one.f64.worst_nmse), short_number(one.f32.worst_error),
               short_number(one.f64.worst_error), fmt::format("{}", one.failures)});
  }
  text += table.to_string() + "\n";
  Table aspects({"aspect", "checks", "failed"});
  for (const auto& one : report.aspects)
    aspects.add({one.name, fmt::format("{}", one.checks), fmt::format("{}", one.failures)});
  text += aspects.to_string();
  for (std::size_t i = 0; i < report.failures.size() && i < shown; ++i) {
    const auto& one = report.failures[i];
    text += fmt::format("\n{}FAILED {}{}{}{}\n  {}\n", i == 0 ? "" : "", one.aspect,
                        one.name.empty() ? "" : ", " + one.name, one.type.empty() ? "" : ", ", one.type,
                        one.message);
  }
  if (report.failures.size() > shown)
    text += fmt::format("\n... and {} more failures; --failures {} shows all\n",
                        report.failures.size() - shown, report.failures.size());
  text += fmt::format("\n{}: {} cases with seed {}, {} failures, {:.1f} s\n",
                      report.passed() ? "passed" : "FAILED", report.cases, report.seed,
                      report.failures.size(), report.seconds);
  return text;
}

int run(Options& options) {
  const cli::Messages messages = options.messages();
  const auto backend = find_backend(options.backend), reference = find_backend(options.reference);
  {
    cli::Progress progress(messages, "checking", 1000, "parts");
    options.check.progress = [&](std::string_view what, double done) {
      if (cli::interrupted()) fail(ExitCode::interrupted, "interrupted while checking '{}'", what);
      progress.update(static_cast<std::uint64_t>(done * 1000), what);
    };
    const CheckReport report = conformance::check_backend(backend, reference, options.check);
    progress.clear();
    if (report.cases == 0 && report.aspects.empty() && !options.check.filter.empty())
      fail(ExitCode::usage, "no case contains '{}'", options.check.filter);
    cli::StandardOutput output;
    output.write(options.json ? as_json(report) : as_text(report, options.shown));
    output.finish();
    return static_cast<int>(report.passed() ? ExitCode::ok : ExitCode::backend);
  }
}

}  // namespace

Command add_check(CLI::App& app) {
  auto* command =
      app.add_subcommand("check", "Whether a plugin computes what it should; exit code 6 if it does not");
  auto options = std::make_shared<Options>();
  command->add_option("-b,--backend", options->backend, "Plugin to check: a name or a file")
      ->required()
      ->type_name("NAME|PATH");
  command
      ->add_option("--reference", options->reference,
                   "Plugin whose f64 results are right (default reference)")
      ->type_name("NAME|PATH");
  command->add_option("--device", options->check.device, "Index of the plugin's device (default 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_option("--seed", options->check.seed, "Of shapes and values (default 1)")->type_name("N");
  command
      ->add_option("--filter", options->check.filter,
                   "Only cases whose name contains TEXT, as printed of a failure")
      ->type_name("TEXT");
  command->add_flag("--quick", options->check.quick,
                    "Fewer and smaller shapes, for slow devices and emulators");
  command->add_option("--failures", options->shown, "How many failures are printed (default 20)")
      ->type_name("N");
  declare(*command, *options);
  return [options] { return run(*options); };
}

}  // namespace attn::bench
