#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/experiment/experiment_config.h"
#include "attn/experiment/kernel_regression.h"
#include "attn/io/config_schema.h"
#include "summary.h"

namespace attn::train {

/// The command line of attn-train.
struct Options {
  std::vector<std::string> configs, sets;
  std::string name, backend, vocabulary_folder, average_output;
  std::string only;  ///< the one run of a sweep to do
  std::optional<std::int64_t> seed, epochs, threads, device;
  std::optional<int> jobs;
  bool resume = false, force = false, dry_run = false, dump_config = false, list_keys = false, json = false;
  bool quiet = false, verbose = false, list_runs = false, lint = false, strict = false;
  SummaryOptions summary;
};

void declare(CLI::App& app, Options& options);

/// One run that the command line asks for: a sweep gives several.
struct Plan {
  std::string sweep_point;                                        ///< empty without a sweep
  std::variant<ExperimentConfig, KernelRegressionConfig> config;  ///< model.type says which
  std::string yaml;  ///< the resolved configuration, each value with its origin
  std::vector<std::pair<std::string, std::string>> swept;  ///< the keys of the sweep and their values here

  const std::string& name() const {
    return std::visit([](const auto& c) -> const std::string& { return c.name; }, config);
  }
  std::filesystem::path run_directory() const {
    return std::visit([](const auto& c) { return c.run_directory(); }, config);
  }
};

/// Layers defaults, files, --set and flags, and expands a sweep; of a sweep only the run that --only names.
/// Throws Error(config) with everything that is wrong, Error(usage) when there is no run of that name.
std::vector<Plan> resolve(const Options& options);

/// All keys with type, range, default and meaning, those of translation models first.
std::string key_reference();

}  // namespace attn::train
