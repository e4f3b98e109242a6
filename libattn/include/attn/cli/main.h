#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace attn::cli {

/// One command of a help text's examples.
struct Example {
  std::string command;
  std::string meaning;
};

/// Has the help of a program or subcommand begin with examples.
void set_examples(CLI::App& app, const std::vector<Example>& examples);

/// Prepares a parser the way all attn programs have it: examples first in --help, --version, wrong options
/// with a hint to --help.
void set_up(CLI::App& app, const std::vector<Example>& examples);

/// The body of every program's main: `tool` declares its options on the parser, calls app.parse(argc, argv)
/// and works; it returns the exit code. What it throws becomes one message on standard error, "attn-train:
/// ...", and an exit code:
/// - attn::Error: its own code
/// - a wrong command line: 2, with the hint to --help; --help and --version print to standard output and give
/// 0
/// - BrokenPipe: 0 and no message, so that `attn-translate ... | head` ends like a success also under `set -o
/// pipefail`
/// - no memory: 1, with what to do; anything else: "internal error: ...", 1
/// A signal's flag that is set when the tool returns 0 gives 130 only if the tool itself returns that: the
/// tool decides. Signal handlers are installed (signals.h).
int run_tool(int argc, char** argv, const std::function<int(CLI::App& app, int argc, char** argv)>& tool);

}  // namespace attn::cli
