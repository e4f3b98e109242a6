#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attn/cli/messages.h"
#include "attn/cli/output.h"

namespace attn::train {

/// What the command line says about comparing runs.
struct SummaryOptions {
  bool table = false;  ///< --summary
  std::string curves;  ///< --curves: a file for the picture
  std::string metric, sort_by, output;
  std::string format = "table";
  std::optional<bool> over_seeds;

  bool wanted() const { return table || !curves.empty(); }
};

void declare_summary(CLI::App& app, SummaryOptions& options);

/// Compares the runs below `paths` as a table, a picture or both. Throws Error (file) if there are none,
/// Error (usage) for metrics that do not exist.
void compare(const SummaryOptions& options, bool json, const std::vector<std::string>& paths,
             const cli::Messages& messages, cli::StandardOutput& out);

}  // namespace attn::train
