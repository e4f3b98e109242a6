#include "options.h"

#include <fmt/format.h>

#include "attn/core/error.h"

namespace attn::train {
namespace {

void apply_flags(config::Schema& schema, const Options& options) {
  const auto apply = [&](const char* flag, const char* path, const auto& value) {
    if (value) schema.apply(config::parse_flag(flag, path, std::to_string(*value)));
  };
  apply("--seed", "seed", options.seed);
  apply("--epochs", "training.epochs", options.epochs);
  apply("--threads", "backend.threads", options.threads);
  apply("--device", "backend.device", options.device);
  if (!options.name.empty()) schema.apply(config::parse_flag("--name", "name", yaml::quote(options.name)));
  if (!options.backend.empty())
    schema.apply(config::parse_flag("--backend", "backend.name", yaml::quote(options.backend)));
}

// The value of model.type in a file, which may stand in a section or under its whole path.
const yaml::Node* type_in(const yaml::Node& root) {
  if (const yaml::Node* found = root.find("model.type")) return found;
  const yaml::Node* model = root.find("model");
  return model != nullptr ? model->find("type") : nullptr;
}

// What the last layer that names it says of model.type, which decides about the schema.
std::string model_type(const std::vector<yaml::Document>& documents,
                       const std::vector<config::Override>& overrides) {
  std::string type;
  for (const yaml::Document& document : documents) {
    if (const yaml::Node* found = type_in(document.root)) type = found->text;
  }
  for (const config::Override& override : overrides) {
    if (override.path == "model.type") type = override.value.text;
  }
  return type;
}

void describe(config::Schema& schema, ExperimentConfig& config) {
  describe_experiment(schema, config);
}
void describe(config::Schema& schema, KernelRegressionConfig& config) {
  describe_kernel_regression(schema, config);
}
void check(config::Schema& schema, const ExperimentConfig& config) {
  check_experiment(schema, config);
}
void check(config::Schema& schema, const KernelRegressionConfig& config) {
  check_kernel_regression(schema, config);
}

// What the keys of the sweep became, as the schema prints them.
std::vector<std::pair<std::string, std::string>> swept_values(const config::Schema& schema,
                                                              const config::SweepPoint& point) {
  std::vector<std::pair<std::string, std::string>> values;
  const std::vector<config::FieldInfo> fields = schema.fields();
  for (const config::Override& override : point.overrides) {
    for (const config::FieldInfo& field : fields) {
      if (field.path == override.path) values.emplace_back(field.path, field.value);
    }
  }
  return values;
}

template<typename Config>
Plan resolve_as(const std::vector<yaml::Document>& documents, const std::vector<config::Override>& overrides,
                const config::SweepPoint& point, const Options& options) {
  Config config;
  config::Schema schema;
  describe(schema, config);
  for (const yaml::Document& document : documents) schema.apply(document);
  for (const config::Override& override : overrides) schema.apply(override);
  apply_flags(schema, options);
  check(schema, config);
  schema.check();
  Plan plan;
  plan.sweep_point = point.name;
  plan.swept = swept_values(schema, point);
  if (!point.name.empty()) config.name += "/" + point.name;
  plan.yaml = schema.dump();
  plan.config = std::move(config);
  return plan;
}

Plan resolve_point(const std::vector<yaml::Document>& documents, const config::SweepPoint& point,
                   const Options& options) {
  std::vector<config::Override> overrides = point.overrides;
  for (const std::string& assignment : options.sets) overrides.push_back(config::parse_set(assignment));
  if (model_type(documents, overrides) == "kernel-regression")
    return resolve_as<KernelRegressionConfig>(documents, overrides, point, options);
  return resolve_as<ExperimentConfig>(documents, overrides, point, options);
}

template<typename Config>
std::string keys_of() {
  Config config;
  config::Schema schema;
  describe(schema, config);
  std::string text;
  for (const config::FieldInfo& field : schema.fields()) {
    text += fmt::format("{}: {}{}{}, default {}\n    {}\n", field.path, field.type,
                        field.range.empty() ? "" : ", ", field.range,
                        field.default_value.empty() ? "''" : field.default_value, field.documentation);
  }
  return text;
}

}  // namespace

namespace {

void declare_sweep(CLI::App& app, Options& options) {
  const auto runs = [](CLI::Option* option) { return option->group("Sweeps"); };
  runs(app.add_flag("--list", options.list_runs,
                    "Print the runs of a sweep with their state, and do nothing"));
  auto* jobs =
      runs(app.add_option("--jobs", options.jobs,
                          "Run so many of a sweep at once, each as a process with its log beside its "
                          "run directory; without --threads they share the cores"))
          ->check(CLI::Range(1, 1024))
          ->excludes("--dry-run")
          ->excludes("--vocabulary-only");
  runs(app.add_option("--only", options.only, "Only the run of a sweep that has this name"))
      ->type_name("NAME")
      ->excludes(jobs);
}

}  // namespace

void declare(CLI::App& app, Options& options) {
  app.add_option(
         "CONFIG", options.configs,
         "YAML files; a later one overrides an earlier one. With --summary or --curves: run directories")
      ->type_name("FILE");
  app.add_option("--set", options.sets, "Override a key of the configuration, as --set training.epochs=3")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--name", options.name, "Name of the run (key name)");
  app.add_option("--seed", options.seed, "Seed (key seed)");
  app.add_option("--epochs", options.epochs, "Epochs (key training.epochs)");
  app.add_option("--backend", options.backend, "Backend: a name or a plugin file (key backend.name)");
  app.add_option("--device", options.device, "Index of the device (key backend.device)");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores (key backend.threads)");
  auto* resume =
      app.add_flag("--resume", options.resume, "Go on from the last checkpoint of the run directory");
  auto* force = app.add_flag("--force", options.force, "Start over in a run directory that is not empty")
                    ->excludes(resume);
  auto* dry_run = app.add_flag("--dry-run", options.dry_run,
                               "Check everything, report sizes, memory and time, and write nothing");
  auto* lint = app.add_flag("--lint", options.lint, "Only report what is odd about the data")
                   ->excludes(resume)
                   ->excludes(force)
                   ->excludes(dry_run);
  app.add_flag("--strict", options.strict, "With --lint: exit code 4 if there is anything")->needs(lint);
  app.add_option("--vocabulary-only", options.vocabulary_folder,
                 "Make the vocabularies and subwords, write them to this folder, and do not train")
      ->type_name("FOLDER")
      ->excludes(resume)
      ->excludes(force)
      ->excludes(dry_run);
  app.add_option("--average", options.average_output,
                 "Average the parameters of the checkpoints that follow into this file, and do not train")
      ->type_name("OUT.h5")
      ->excludes(resume)
      ->excludes(force)
      ->excludes(dry_run);
  app.add_flag("--dump-config", options.dump_config,
               "Print the resolved configuration with the origin of each value");
  app.add_flag("--list-keys", options.list_keys, "Print all keys of a configuration");
  declare_sweep(app, options);
  declare_summary(app, options.summary);
  app.add_flag("--json", options.json, "Print the result as JSON");
  app.add_flag("-q,--quiet", options.quiet, "Only errors on standard error");
  app.add_flag("-v,--verbose", options.verbose, "More messages");
}

std::vector<Plan> resolve(const Options& options) {
  if (options.configs.empty())
    fail(ExitCode::usage, "no configuration given; try configs/quickstart.yaml, or --help");
  std::vector<yaml::Document> documents;
  std::vector<config::SweepPoint> points{{}};
  for (const std::string& file : options.configs) {
    documents.push_back(yaml::load(file));
    std::vector<config::SweepPoint> found = config::expand_sweep(documents.back());
    if (found.size() > 1 || !found.front().name.empty()) points = std::move(found);
  }
  std::vector<Plan> plans;
  plans.reserve(points.size());
  for (const config::SweepPoint& point : points) {
    if (options.only.empty() || options.only == point.name)
      plans.push_back(resolve_point(documents, point, options));
  }
  if (plans.empty()) {
    fail(ExitCode::usage, "--only: the sweep has no run '{}'; --list prints the names", options.only);
  }
  return plans;
}

std::string key_reference() {
  return keys_of<ExperimentConfig>() + "\nWith model.type: kernel-regression, these and no others:\n\n" +
         keys_of<KernelRegressionConfig>();
}

}  // namespace attn::train
