#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "attn/core/error.h"
#include "attn/experiment/kernel_regression.h"
#include "attn/io/atomic_file.h"
#include "kernel_regression_plots.h"
#include "run_record.h"

namespace attn {
namespace {

using Json = nlohmann::ordered_json;

void write_metrics(const RunDirectory& directory, const RegressionResult& result) {
  std::string lines;
  for (std::size_t i = 0; i < result.epochs.size(); ++i) {
    const RegressionEpoch& epoch = result.epochs[i];
    const Json entry{{"epoch", i + 1}, {"loss", epoch.loss}, {"gradient", epoch.gradient}, {"w", epoch.w}};
    lines += entry.dump() + "\n";
  }
  directory.write("metrics.jsonl", lines);
}

void write_report(const RunDirectory& directory, const KernelRegressionConfig& config,
                  const RegressionResult& result) {
  Json report{{"name", config.name}, {"curves", Json::array()}};
  for (const RegressionCurve& curve : result.curves) {
    report["curves"].push_back({{"name", curve.name()},
                                {"kernel", name_of(curve.kernel)},
                                {"width", curve.width},
                                {"learned", curve.learned},
                                {"mean_squared_error", curve.mean_squared_error},
                                {"undefined", curve.undefined}});
  }
  directory.write("report.json", report.dump(2) + "\n");
}

void write_results(const RunDirectory& directory, const KernelRegressionConfig& config,
                   const RegressionResult& result) {
  write_metrics(directory, result);
  const std::filesystem::path plots = directory.path() / "plots";
  write_file_atomically(plots / "fit.svg", regression_plot(config.name, result));
  write_file_atomically(plots / "weights.svg", regression_heat_map(result, PictureFormat::svg));
  if (!result.epochs.empty()) {
    write_file_atomically(plots / "learning-curve.svg", regression_learning_curve(config.name, result));
  }
  write_report(directory, config, result);
}

void say(const RunDirectory& directory, const RunObserver& observer, const std::string& text) {
  directory.append_line("log.txt", text);
  if (observer.information) observer.information(text);
}

void warn_of_gaps(const RunDirectory& directory, const RunObserver& observer,
                  const RegressionResult& result) {
  for (const RegressionCurve& curve : result.curves) {
    if (curve.undefined == 0) continue;
    const std::string text = fmt::format(
        "{}: {} of {} test points have no training point within the kernel, so no prediction; "
        "choose a larger width",
        curve.name(), curve.undefined, curve.predictions.size());
    directory.append_line("log.txt", "warning: " + text);
    if (observer.warning) observer.warning(text);
  }
}

}  // namespace

RegressionResult run_kernel_regression(const KernelRegressionConfig& config, const std::string& config_yaml,
                                       const std::string& command_line, RunDirectory::Mode mode,
                                       const RunObserver& observer) {
  if (mode == RunDirectory::Mode::resume) {
    fail(ExitCode::usage,
         "{}: kernel regression takes a moment and cannot be resumed; start over with --force", config.name);
  }
  const std::shared_ptr<Device> device = open_device(config.backend);
  const RunDirectory directory(config.run_directory(), mode);
  write_run_record(directory, config_yaml, command_line, *device);
  write_run_status(directory, config.name, "running");
  try {
    say(directory, observer,
        fmt::format("{}: {} training points, backend {} ({})", config.name, config.data.points,
                    device->backend().name(), device->name()));
    const RegressionResult result = compute_regression(config, device);
    warn_of_gaps(directory, observer, result);
    save_regression(directory.path() / "regression.h5", config, result, *device, config_yaml, command_line);
    write_results(directory, config, result);
    write_run_status(directory, config.name, "finished");
    return result;
  } catch (const std::exception& error) {
    try {
      write_run_status(directory, config.name, "failed", error.what());
    } catch (const Error&) {
      // A disk that is full cannot take this either; the first error is the one to report.
    }
    throw;
  }
}

}  // namespace attn
