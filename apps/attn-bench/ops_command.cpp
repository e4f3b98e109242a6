#include <algorithm>
#include <chrono>
#include <memory>

#include "attn/cli/output.h"
#include "attn/cli/progress.h"
#include "attn/cli/signals.h"
#include "attn/core/error.h"
#include "command.h"
#include "ops_report.h"
#include "workload.h"

namespace attn::bench {
namespace {

struct Options : Common {
  std::vector<std::string> files;
  std::string backend = "eigen", filter, output, plot;
  int device = 0, threads = 1;
  double seconds = 0.2;
};

using Clock = std::chrono::steady_clock;

double time_of(const Workload& workload, Device& device, std::int64_t uses) {
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < uses; ++i) workload.run();
  device.synchronize();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Uses in a row are timed together where one is too short for the clock; at least three such groups, for
// `seconds`.
void measure(const Workload& workload, Device& device, double seconds, OpsRow& row) {
  constexpr double shortest = 2e-4;
  const std::uint64_t before = device.operations_run();
  time_of(workload, device, 1);
  row.native = device.operations_run() - before == 1;
  const double once = std::max(time_of(workload, device, 1), 1e-9);
  const auto uses = static_cast<std::int64_t>(std::clamp(shortest / once, 1.0, 1e4));
  std::vector<double> times;
  double total = 0;
  while (times.size() < 3 || (total < seconds && times.size() < 1000)) {
    const double taken = time_of(workload, device, uses);
    times.push_back(std::max(taken, 1e-9) / static_cast<double>(uses));
    total += taken;
  }
  std::sort(times.begin(), times.end());
  row.seconds_median = times[times.size() / 2];
  row.seconds_min = times.front();
  row.seconds_max = times.back();
  row.repeats = static_cast<std::int64_t>(times.size()) * uses;
}

// Of square products of several sizes, since the best size differs from one machine to the other.
double measured_peak(const std::shared_ptr<Device>& device, double seconds) {
  double peak = 0;
  for (const std::int64_t n : {128, 256, 512}) {
    if (n > 128 && seconds <= 0) break;
    OpsRow row;
    const Workload product =
        make_workloads(device, {"matmul", "", {{"batch", 1}, {"m", n}, {"n", n}, {"k", n}}}, DType::f32)[0];
    measure(product, *device, seconds, row);
    peak = std::max(peak, product.flops() / row.seconds_min / 1e9);
  }
  return peak;
}

int run(const Options& options) {
  const cli::Messages messages = options.messages();
  std::vector<ShapeSet> sets;
  std::size_t planned = 0;
  for (const std::string& file : options.files) {
    sets.push_back(load_shape_set(file));
    planned += sets.back().cases.size();
  }
  const auto device = Device::open(options.backend, {.device = options.device, .threads = options.threads});
  OpsReport report{
      device->backend().name(), device->backend().version(), device->name(), options.threads, 0, {}};
  cli::Progress progress(messages, "measuring", planned, "shapes");
  report.peak_gflops = measured_peak(device, options.seconds);
  std::uint64_t done = 0;
  for (const ShapeSet& set : sets) {
    for (const ShapeCase& shapes : set.cases) {
      progress.update(done++, shapes.operation);
      for (const Workload& workload : make_workloads(device, shapes, set.type)) {
        if (cli::interrupted())
          fail(ExitCode::interrupted, "interrupted while measuring {}", shapes.operation);
        if (std::string(workload.call.operation->name).find(options.filter) == std::string::npos) continue;
        OpsRow row{set.name,
                   workload.call.operation->name,
                   shapes.name,
                   shapes.text(),
                   true,
                   workload.flops(),
                   workload.bytes()};
        measure(workload, *device, options.seconds, row);
        report.rows.push_back(std::move(row));
      }
      device->release_cache();
    }
  }
  progress.clear();
  if (report.rows.empty()) fail(ExitCode::usage, "no operation of these files contains '{}'", options.filter);
  if (!options.output.empty()) write_hdf5(options.output, report);
  if (!options.plot.empty()) write_plot(options.plot, report);
  cli::StandardOutput output;
  output.write(options.json ? as_json(report) : as_text(report));
  output.finish();
  return 0;
}

}  // namespace

Command add_ops(CLI::App& app) {
  auto* command =
      app.add_subcommand("ops", "How fast a backend runs operations, in the shapes of real models");
  auto options = std::make_shared<Options>();
  command
      ->add_option("SHAPES", options->files, "YAML files of operations and sizes, as configs/bench/book.yaml")
      ->required()
      ->type_name("FILE");
  command->add_option("-b,--backend", options->backend, "Backend: a name or a plugin file (default eigen)")
      ->type_name("NAME|PATH");
  command->add_option("--device", options->device, "Index of the device (default 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_option("--threads", options->threads, "CPU threads, 0 for all (default 1)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_option("--seconds", options->seconds, "Time for each operation (default 0.2)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("S");
  command->add_option("--filter", options->filter, "Only operations whose name contains TEXT")
      ->type_name("TEXT");
  command->add_option("-o,--output", options->output, "Write the figures as HDF5")->type_name("FILE");
  command->add_option("--plot", options->plot, "Draw speed over operations a byte as SVG")->type_name("FILE");
  declare(*command, *options);
  return [options] { return run(*options); };
}

}  // namespace attn::bench
