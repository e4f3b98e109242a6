#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "attn/cli/messages.h"

namespace attn::bench {

/// What every command has.
struct Common {
  bool json = false, quiet = false, verbose = false;

  cli::Messages messages() const {
    return {"attn-bench", quiet ? cli::Level::quiet : verbose ? cli::Level::verbose : cli::Level::normal};
  }
};

/// Declares --json, --quiet and --verbose.
void declare(CLI::App& command, Common& common);

/// Adds a command with its options; the result runs it and returns the exit code.
using Command = std::function<int()>;
Command add_check(CLI::App& app);
Command add_list(CLI::App& app);
Command add_ops(CLI::App& app);
Command add_model(CLI::App& app);

}  // namespace attn::bench
