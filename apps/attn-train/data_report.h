#pragma once
#include <string>
#include <vector>

#include "attn/cli/output.h"
#include "attn/core/error.h"
#include "attn/experiment/dry_run.h"
#include "options.h"

namespace attn::train {

/// What a dry run found, as an aligned table or as one JSON object; ends with a line break.
std::string text_report(const ExperimentConfig& config, const DryRun& dry_run);
std::string json_report(const ExperimentConfig& config, const DryRun& dry_run);

/// --lint: prints what is found in the data of each plan. Returns input_data with --strict if there is
/// anything. Throws Error(usage) for a plan without such data.
ExitCode lint_data(const Options& options, const std::vector<Plan>& plans, cli::StandardOutput& out);

}  // namespace attn::train
