#pragma once
#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attn/inspection/complexity.h"

namespace attn::compare {

struct Options {
  std::vector<std::string> configs, sets;
  // Lists on the command line, as in "64,128,256", by the key they stand for.
  std::optional<std::string> backends, layer_types, lengths, widths, kernels, heads, windows, layers, batches,
      passes;
  std::optional<std::string> threads, repeats, time_limit;
  std::filesystem::path output;
  bool example = false, dump_config = false, list_keys = false;
  bool json = false, csv = false, markdown = false;
  bool quiet = false, verbose = false;
};

void declare(CLI::App& app, Options& options);

/// A resolved configuration.
struct Plan {
  ComplexityGrid grid;
  std::string yaml;
};
/// Throws Error(config) with all that is wrong.
Plan resolve(const Options& options);

/// All keys with type, range, default and meaning.
std::string key_reference();

}  // namespace attn::compare
