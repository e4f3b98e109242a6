#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attn/experiment/experiment_config.h"
#include "attn/experiment/kernel_regression.h"
#include "attn/io/config_schema.h"

namespace attn::train {

/// The command line of attn-train.
struct Options {
  std::vector<std::string> configs, sets;
  std::string name, backend, vocabulary_folder;
  std::optional<std::int64_t> seed, epochs, threads, device;
  bool resume = false, force = false, dry_run = false, dump_config = false, list_keys = false, json = false;
  bool quiet = false, verbose = false;
};

void declare(CLI::App& app, Options& options);

/// One run that the command line asks for: a sweep gives several.
struct Plan {
  std::string sweep_point;                                        ///< empty without a sweep
  std::variant<ExperimentConfig, KernelRegressionConfig> config;  ///< model.type says which
  std::string yaml;  ///< the resolved configuration, each value with its origin

  const std::string& name() const {
    return std::visit([](const auto& c) -> const std::string& { return c.name; }, config);
  }
  std::filesystem::path run_directory() const {
    return std::visit([](const auto& c) { return c.run_directory(); }, config);
  }
};

/// Layers defaults, files, --set and flags, and expands a sweep. Throws Error(config) with everything that is
/// wrong.
std::vector<Plan> resolve(const Options& options);

/// All keys with type, range, default and meaning, those of translation models first.
std::string key_reference();

}  // namespace attn::train
