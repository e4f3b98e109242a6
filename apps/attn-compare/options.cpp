#include "options.h"

#include <fmt/format.h>

#include <array>

namespace attn::compare {
namespace {

struct ListOption {
  const char* flag;
  const char* path;
  std::optional<std::string> Options::*value;
  const char* meaning;
};
constexpr std::array list_options{
    ListOption{"--backends", "backends", &Options::backends, "Backends: names or plugin files"},
    ListOption{"--layer-types", "layer_types", &Options::layer_types,
               "convolution, dilated_convolution, rnn, gru, self_attention, multi_head_attention, "
               "windowed_attention (default: all)"},
    ListOption{"--lengths", "lengths", &Options::lengths, "Sequence lengths n, ascending"},
    ListOption{"--widths", "widths", &Options::widths, "Widths d, ascending"},
    ListOption{"--kernels", "kernels", &Options::kernels, "Kernel sizes k of convolutions"},
    ListOption{"--heads", "heads", &Options::heads, "Heads of multi-head attention"},
    ListOption{"--windows", "windows", &Options::windows, "Keys that a query of windowed attention sees"},
    ListOption{"--layers", "layers", &Options::layers, "Stacked layers"},
    ListOption{"--batches", "batches", &Options::batches, "Sequences of a batch"},
    ListOption{"--passes", "passes", &Options::passes, "forward, forward_backward (default: both)"}};

struct ValueOption {
  const char* flag;
  const char* path;
  std::optional<std::string> Options::*value;
  const char* meaning;
};
constexpr std::array value_options{
    ValueOption{"--threads", "threads", &Options::threads, "CPU threads, 0 for all cores (default 1)"},
    ValueOption{"--repeats", "measurement.repeats", &Options::repeats, "Timed runs of a combination"},
    ValueOption{"--time-limit", "measurement.time_limit", &Options::time_limit,
                "Seconds for the timed runs of one combination; longer ones are left out and say so"}};

// "a, b" as the YAML list [a, b]; what the values mean is for the schema to say.
std::string yaml_list(const std::string& values) {
  std::string list = "[";
  std::size_t start = 0;
  while (start < values.size()) {
    const std::size_t end = std::min(values.find(',', start), values.size());
    if (list.size() > 1) list += ", ";
    const std::string value = values.substr(start, end - start);
    list += value.empty() ? "''" : value;
    start = end + 1;
  }
  return list + "]";
}

}  // namespace

void declare(CLI::App& app, Options& options) {
  app.add_option("CONFIG", options.configs, "YAML files; a later one overrides an earlier one")
      ->type_name("FILE");
  for (const ListOption& option : list_options)
    app.add_option(option.flag, options.*option.value, option.meaning)->type_name("LIST");
  for (const ValueOption& option : value_options)
    app.add_option(option.flag, options.*option.value, option.meaning)->type_name("N");
  app.add_option("--set", options.sets, "Override a key of the configuration, as --set causal=false")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("-o,--output", options.output,
                 "Folder for complexity.{csv,md,json,h5} and the plots time.{svg,png}, flops.{svg,png}")
      ->type_name("FOLDER");
  app.add_flag("--example", options.example,
               "The textbook's example: the interactions of 100 words, counted");
  auto* json = app.add_flag("--json", options.json, "Print everything as JSON");
  auto* csv = app.add_flag("--csv", options.csv, "Print one line a combination as CSV")->excludes(json);
  app.add_flag("--markdown", options.markdown, "Print the tables as Markdown")->excludes(json)->excludes(csv);
  app.add_flag("--dump-config", options.dump_config,
               "Print the resolved configuration with the origin of each value");
  app.add_flag("--list-keys", options.list_keys, "Print all keys of a configuration");
  app.add_flag("-q,--quiet", options.quiet, "Only errors on standard error");
  app.add_flag("-v,--verbose", options.verbose, "More messages");
}

Plan resolve(const Options& options) {
  Plan plan;
  config::Schema schema;
  describe_complexity(schema, plan.grid);
  for (const std::string& file : options.configs) schema.apply(yaml::load(file));
  for (const std::string& assignment : options.sets) schema.apply(config::parse_set(assignment));
  for (const ListOption& option : list_options) {
    if (const auto& value = options.*option.value)
      schema.apply(config::parse_flag(option.flag, option.path, yaml_list(*value)));
  }
  for (const ValueOption& option : value_options) {
    if (const auto& value = options.*option.value)
      schema.apply(config::parse_flag(option.flag, option.path, *value));
  }
  check_complexity(schema, plan.grid);
  schema.check();
  plan.yaml = schema.dump();
  return plan;
}

std::string key_reference() {
  ComplexityGrid grid;
  config::Schema schema;
  describe_complexity(schema, grid);
  std::string text;
  for (const config::FieldInfo& field : schema.fields()) {
    text +=
        fmt::format("{}: {}{}{}, default {}\n    {}\n", field.path, field.type,
                    field.range.empty() ? "" : ", ", field.range, field.default_value, field.documentation);
  }
  return text;
}

}  // namespace attn::compare
