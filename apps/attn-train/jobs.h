#pragma once
#include <string>
#include <vector>

#include "attn/cli/messages.h"
#include "attn/cli/output.h"
#include "attn/core/error.h"
#include "options.h"

namespace attn::train {

/// Runs a sweep, options.jobs runs at a time, as processes of this program that get the same command line and
/// --only. What they say goes to RUN_DIRECTORY.log; their results are printed in the order of the sweep.
/// SIGINT and SIGTERM are handed on, and the runs save a checkpoint. `arguments` is the command line with the
/// program's name.
ExitCode run_jobs(const Options& options, const std::vector<Plan>& plans,
                  const std::vector<std::string>& arguments, const cli::Messages& messages,
                  cli::StandardOutput& out);

}  // namespace attn::train
