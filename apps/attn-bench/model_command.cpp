#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "attn/cli/output.h"
#include "attn/cli/progress.h"
#include "attn/cli/signals.h"
#include "attn/core/error.h"
#include "command.h"
#include "model_comparison.h"
#include "model_report.h"

namespace attn::bench {
namespace {

struct Options : Common {
  std::vector<std::string> configs, sets;
  ComparisonOptions comparison;
  std::optional<std::int64_t> threads;
  std::optional<double> tolerance;
  std::string output, plot;
};

ExperimentConfig resolve(const Options& options, std::string& yaml) {
  ExperimentConfig config;
  config::Schema schema;
  describe_experiment(schema, config);
  for (const std::string& file : options.configs) schema.apply(yaml::load(file));
  for (const std::string& assignment : options.sets) schema.apply(config::parse_set(assignment));
  if (options.threads)
    schema.apply(config::parse_flag("--threads", "backend.threads", std::to_string(*options.threads)));
  check_experiment(schema, config);
  schema.check();
  yaml = schema.dump();
  return config;
}

std::vector<BackendRun> compare(const Options& options, const ExperimentConfig& config,
                                const cli::Messages& messages) {
  const PreparedData data = prepare_data(config);
  const auto planned =
      static_cast<std::uint64_t>(options.comparison.updates) * options.comparison.backends.size();
  cli::Progress progress(messages, "training", planned, "updates");
  ComparisonOptions comparison = options.comparison;
  std::uint64_t done = 0;
  comparison.progress = [&](const std::string& backend, std::int64_t update) {
    if (cli::interrupted()) fail(ExitCode::interrupted, "interrupted at update {} on {}", update, backend);
    progress.update(++done, backend);
  };
  std::vector<BackendRun> runs = compare_backends(config, data, comparison);
  progress.clear();
  return runs;
}

int run(const Options& options) {
  const cli::Messages messages = options.messages();
  std::string yaml;
  const ExperimentConfig config = resolve(options, yaml);
  const std::vector<BackendRun> runs = compare(options, config, messages);
  const ComparisonReport report{
      config.name, yaml, config.seed, options.comparison.trace, options.comparison.bound, runs};
  if (!options.output.empty()) write_hdf5(options.output, report);
  if (!options.plot.empty()) write_plot(options.plot, report);
  cli::StandardOutput output;
  output.write(options.json ? as_json(report) : as_text(report));
  output.finish();
  if (!options.tolerance) return 0;
  for (const BackendRun& one : runs) {
    if (one.largest_difference <= *options.tolerance) continue;
    fail(ExitCode::backend, "{} differs from {} by {:.3g} relative at update {}, more than {:g}", one.backend,
         runs.front().backend, one.largest_difference, one.largest_at, *options.tolerance);
  }
  return 0;
}

}  // namespace

Command add_model(CLI::App& app) {
  auto* command = app.add_subcommand(
      "model", "Train the same model on several backends: losses, speed and memory side by side");
  auto options = std::make_shared<Options>();
  command
      ->add_option("CONFIG", options->configs,
                   "YAML files of attn-train; a later one overrides an earlier one")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("-b,--backends", options->comparison.backends,
                   "Names or plugin files, with commas between them")
      ->required()
      ->delimiter(',')
      ->type_name("A,B,...");
  command->add_option("--updates", options->comparison.updates, "Updates on each backend (default 50)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command
      ->add_option("--lines", options->comparison.lines,
                   "Lines of the test set to translate (default 200, 0: none)")
      ->type_name("N");
  command->add_option("--threads", options->threads, "CPU threads (key backend.threads)")->type_name("N");
  command->add_option("--set", options->sets, "Override a key of the configuration")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--trace", options->comparison.trace,
                    "Also compare every operation of one update, and name the first that differs");
  command
      ->add_option("--bound", options->comparison.bound,
                   "Of --trace: relative difference that counts (default 1e-4)")
      ->type_name("X");
  command
      ->add_option("--tolerance", options->tolerance,
                   "End with exit code 6 if a loss differs by more, relative")
      ->type_name("X");
  command->add_option("-o,--output", options->output, "Write the figures as HDF5")->type_name("FILE");
  command->add_option("--plot", options->plot, "Draw the losses as SVG")->type_name("FILE");
  declare(*command, *options);
  return [options] { return run(*options); };
}

}  // namespace attn::bench
