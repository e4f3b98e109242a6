#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "attn/cli/messages.h"

namespace attn::dump {

/// What every subcommand is given when it runs.
struct Session {
  const cli::Messages& messages;
  std::string command_line;  ///< as typed, for the files that are written
};

/// A subcommand: its parser, and what it does once the command line is parsed. `run` returns the exit code.
struct Command {
  CLI::App* parser;
  std::function<int(const Session& session)> run;
};

// One file a subcommand. Each function adds a subcommand with its options to the parser of attn-dump, calls
// cli::set_examples on it, and keeps the values of the options in something that `run` owns (a shared_ptr
// that both capture). main.cpp lists the functions; it also gives every subcommand --quiet and --verbose.
Command add_attention(CLI::App& app);
Command add_parameters(CLI::App& app);
Command add_positions(CLI::App& app);
Command add_validate(CLI::App& app);
Command add_plot(CLI::App& app);
Command add_html(CLI::App& app);
Command add_example(CLI::App& app);

}  // namespace attn::dump
