#pragma once
#include <string>
#include <vector>

#include "attn/cli/messages.h"
#include "attn/cli/output.h"

namespace attn::train {

/// What `attn-train --average OUT.h5 A.h5 B.h5 ...` was asked for.
struct AverageOptions {
  std::string output;
  std::vector<std::string>
      inputs;           ///< checkpoints, or run directories, of which the best checkpoint is taken
  std::string backend;  ///< empty: the default
  std::string command_line;
  bool json = false;
};

/// Averages the parameters of checkpoints into a new checkpoint for translating, and prints what it made.
/// Throws what average_checkpoints and save_checkpoint throw, and Error(usage) if the output is one of the
/// inputs.
void average_files(const AverageOptions& options, const cli::Messages& messages, cli::StandardOutput& out);

}  // namespace attn::train
